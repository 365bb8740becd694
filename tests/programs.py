"""Loads the shipped example programs for tests."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from stepgen.flow.files import shipped


def example(name: str) -> ModuleType:
    """The module of a shipped example."""
    spec = importlib.util.spec_from_file_location(name, shipped(f"examples/{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
