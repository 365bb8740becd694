"""Meaning: which tokens come out of a program, bit for bit."""
