"""FPGA families of boards: a module for each, under the family's name."""
