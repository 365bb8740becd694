"""Quantization: models of real numbers as models of integers."""
