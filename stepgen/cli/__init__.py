"""The command line: one file per command, which loads heavy parts only when it runs."""

from __future__ import annotations

from stepgen.cli.app import main

__all__ = ["main"]
