"""The contract of a model: fit, save, load, parameters."""
