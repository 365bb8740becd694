"""Compile the step functions of all units and operators: ``python -m stepgen.timing``."""

from __future__ import annotations

import os
import sys

from stepgen.timing import compiled

if __name__ == "__main__":
    names = sys.argv[1:]
    if names[:1] == ["--background"]:
        names = names[1:]
        os.nice(10)
    compiled.compile_all(names)
