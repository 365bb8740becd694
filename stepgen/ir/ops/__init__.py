"""The type rule of every operator, one file each, found by the name of the file."""
