"""Measurements, side by side with peers where there are any."""
