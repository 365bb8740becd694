"""The reference (golden model): the tokens of every stream of a program, bit for bit."""
