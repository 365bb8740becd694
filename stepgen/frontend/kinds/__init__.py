"""One file for each kind of operation of the tensor graph."""
