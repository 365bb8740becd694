"""scan: as accum, but every element gives the state."""

from ....ir.stream import Node
from ..program import Program
from . import accum


def build(node: Node, to: Program) -> None:
    """An accumulator that passes on every state."""
    accum.build(node, to, every=True)
