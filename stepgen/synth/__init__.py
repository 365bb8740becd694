"""Synthesis, and the FPGAs that it is for."""
