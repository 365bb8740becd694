"""Transforms: passes from a program to an equivalent one."""

from __future__ import annotations

from .forks import insert_forks
from .parallelize import parallelize
from .references import row_references
from .rewrite import Transformed
from .tiling import capped_tiling, dynamic_tiling, static_tiling
from .time_multiplex import time_multiplex

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
