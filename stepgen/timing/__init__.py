"""Timing: the cycle model of a design, and the timing of programs on described machines."""
