"""scan: as accum, but sends the state after every element."""

from ....ir.stream import Node
from ..program import Program
from . import accum


def build(node: Node, to: Program) -> None:
    """An accumulator that sends every state."""
    accum.build(node, to, every=True)
