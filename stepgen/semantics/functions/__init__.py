"""The meaning of every function, one file each, found by the name of the file."""
