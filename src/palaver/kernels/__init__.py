"""Compiled loops: arrays in, arrays out; numpy and numba only."""
