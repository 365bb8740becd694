"""What is measured, each as ratios within one run; ``python -m benchmarks`` writes the results."""
