"""Passes on the tensor graph: each gives a model that computes the same numbers."""
