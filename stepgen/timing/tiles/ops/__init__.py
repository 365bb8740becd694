"""The actors of each operator: one file per operator, found by name."""
