"""Packages with functions: they are imported when the first function is needed."""

from __future__ import annotations

HOMES: list[str] = []
"""Dotted names of the packages."""
