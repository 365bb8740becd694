"""Timing: the cycle model of a design, and the timing of programs on described machines."""

from . import compiled

compiled.use_cache_folder()
compiled.report_progress()
compiled.allow_first_class_functions()
