"""Circuits of the operations of a pipeline."""
