"""How each operator becomes rows of the design table: one file per operator, found by name."""
