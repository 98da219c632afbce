"""Compiled loops of the workbench: a pass over all messages that lets other threads run."""
