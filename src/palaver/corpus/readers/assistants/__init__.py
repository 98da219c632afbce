"""Chats with AI assistants: exports, logs of agents, traces and tables."""
