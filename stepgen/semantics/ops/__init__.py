"""The golden model of every operator, one file each, found by the name of the file."""
