"""Studies: many timed runs of programs on described machines, and what figures make of them."""
