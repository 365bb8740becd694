"""Generators of programs: plain steps, streams that meet again, everything, loops, regions."""
