"""Which operators of a program have no circuit as they are used."""

from __future__ import annotations

from stepgen.compile.lower import begun
from stepgen.compile.memories import Stored
from stepgen.ir.dtypes import Buffer
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Stream
from stepgen.ir.system import SystemGraph, programs
from stepgen.ir.wire import LANES


def without_circuit(graph: Graph, *, lanes: int = LANES) -> dict[str, str]:
    """Find the operators that lowering would refuse, each for itself.

    What shows only in a whole design, such as FIFOs without a bound, is not found here.

    Parameters
    ----------
    graph : Graph
        A complete program or system.
    lanes : int
        Lanes of a beat.

    Returns
    -------
    dict of str to str
        Reasons by the names of nodes, in the order of the program; if none can be tried, one by
        what the names of the program begin with.
    """
    found: dict[str, str] = {}
    for prefix, part in programs(graph).items():
        own = graph.lanes[prefix[:-1]] if isinstance(graph, SystemGraph) else lanes
        try:
            lowering = begun(part, lanes=own)(Stored())
        except StepError as error:
            found[prefix] = str(error)
            continue
        lost: set[Stream] = set()
        for node in lowering.graph.nodes:
            if lost.isdisjoint(node.inputs):
                try:
                    lowering.lower(node)
                    continue
                except StepError as error:
                    name = lowering.stands_for.get(node.name, node.name)
                    found.setdefault(prefix + name, str(error))
            # What becomes of references depends on the unit that made them.
            lost |= {stream for stream in node.outputs if isinstance(stream.dtype, Buffer)}
    return found
