"""Taggers: models that learn the labels people gave."""
