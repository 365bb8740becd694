"""Generators of programs: of plain steps, of streams that meet again, of everything, of loops."""
