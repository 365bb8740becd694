"""Arithmetic on the lanes of a beat: what a pipeline consists of, and its circuits."""
