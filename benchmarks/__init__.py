"""Benchmarks, side by side with comparable packages where there are any."""
