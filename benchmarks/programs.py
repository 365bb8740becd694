"""The programs that are measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepgen.ir.graph import Graph
from stepgen.program.program import load


def moe(**settings: object) -> tuple[Graph, Mapping[str, Any]]:
    """The shipped MoE layer with its drawn inputs."""
    program = load("moe", {name: str(value) for name, value in settings.items()})
    return program.graph, program.inputs
