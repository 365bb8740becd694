"""Tools that make bitstreams: a module for each family of FPGAs, under its name."""
