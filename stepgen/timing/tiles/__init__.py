"""Timing simulation of a program on a described machine, one event per tile (paper, section 5)."""
