"""Benchmarks, each of ratios within one run; ``python -m benchmarks`` writes the results."""
