"""Transforms: passes from a program to an equivalent one."""

from __future__ import annotations

from stepgen.compile.transforms.forks import insert_forks
from stepgen.compile.transforms.parallelize import parallelize
from stepgen.compile.transforms.references import row_references
from stepgen.compile.transforms.rewrite import Transformed
from stepgen.compile.transforms.tiling import capped_tiling, dynamic_tiling, static_tiling
from stepgen.compile.transforms.time_multiplex import time_multiplex

__all__ = [
    "Transformed",
    "capped_tiling",
    "dynamic_tiling",
    "insert_forks",
    "parallelize",
    "row_references",
    "static_tiling",
    "time_multiplex",
]
