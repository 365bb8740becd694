"""Packages with functions and operators: they are imported when the first one is needed."""

from __future__ import annotations

HOMES: dict[str, str] = {}
"""Dotted names of the packages, by ``functions`` and ``operators``."""
