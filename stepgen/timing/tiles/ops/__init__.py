"""When each operator acts: one file per operator, found by name."""
