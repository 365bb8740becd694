"""Circuits that are not stepgen's, or the scripts that other tools make them from."""
