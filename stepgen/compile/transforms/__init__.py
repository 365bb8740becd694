"""Transforms: passes from a program to a program of the same meaning."""

from __future__ import annotations

from .forks import insert_forks
from .rewrite import Transformed

__all__ = ["Transformed", "insert_forks"]
