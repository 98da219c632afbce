"""Compiled loops of the model of acts."""
