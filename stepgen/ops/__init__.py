"""The operators: one file each, found by the name of the file.

A class has the type rule, the golden model and the circuit; the function of the same name is what
users call. `lower` imports the units itself, so programs that are only typed or run load no
hardware.
"""
