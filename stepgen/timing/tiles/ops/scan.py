"""scan: as accum, but sends the state after every element."""

from stepgen.ir.stream import Node
from stepgen.timing.tiles.ops import accum
from stepgen.timing.tiles.program import TileProgram


def build(node: Node, to: TileProgram) -> None:
    """An accumulator that sends every state."""
    accum.build(node, to, every=True)
