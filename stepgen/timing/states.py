"""The states of an actor in a cycle."""

BUSY, STARVED, FULL = "busy", "starved", "full"
STATES = (BUSY, STARVED, FULL)
"""It acts; it waits for an input; an output keeps it back."""
