"""scan: as accum, but sends the state after every element."""

from ....ir.stream import Node
from ..program import TileProgram
from . import accum


def build(node: Node, to: TileProgram) -> None:
    """An accumulator that sends every state."""
    accum.build(node, to, every=True)
