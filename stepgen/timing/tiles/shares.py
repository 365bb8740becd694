"""The multipliers of a machine, divided among the matrix operators of a program."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node
from stepgen.timing.tiles.machines import Machine
from stepgen.timing.tiles.report import Run


def equal(graph: Graph, machine: Machine) -> dict[str, int]:
    """FLOPs per cycle of each matrix operator, the same for all; none without `multipliers`.

    Raises
    ------
    StepError
        If there are more operators than multipliers.
    """
    every = machine.compute.multipliers
    names = [node.name for node in graph.nodes if _multiplies(node)]
    if every is None or not names:
        return {}
    if every < len(names):
        raise StepError(
            f"{graph.name} has {len(names)} matrix operators, and {machine.name} has {every} "
            "multipliers: set compute.multipliers to at least one for each"
        )
    return dict.fromkeys(names, 2 * (every // len(names)))


def by_work(run: Run, shares: Mapping[str, int]) -> dict[str, int]:
    """As `equal`, by the root of the work of each, so that the sum of their times is least.

    Parameters
    ----------
    run : Run
        With equal shares: it says how many FLOPs each operator has.
    shares : mapping of str to int
        The equal ones.
    """
    every = run.machine.compute.multipliers
    assert every is not None
    roots = {
        name: sqrt(run.operators[name].useful + run.operators[name].padding) for name in shares
    }
    total, spare = sum(roots.values()) or 1.0, every - len(shares)
    return {name: 2 * (1 + int(spare * root / total)) for name, root in roots.items()}


def _multiplies(node: Node) -> bool:
    """Whether an operator multiplies matrices."""
    shape = getattr(node.attrs.get("fn"), "extents_of", "")
    return node.face.computes and shape == "product"
