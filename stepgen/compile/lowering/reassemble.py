"""Reassemble becomes a `reassemble` unit."""

from collections.abc import Sequence

from ...hw.units.reassemble.params import Reassemble
from ...ir.dtypes import Selector
from ...ir.stream import Node, Stream
from ...ir.wire import wire_levels
from ..circuit import Circuit, circuits
from ..lower import Lowering


class ReassembleCircuit(Circuit):
    """One unit with an input per producer."""

    covers = 'order "index" and "arrival"'
    moves = True
    merges = True

    def lower(self, node: Node, to: Lowering) -> None:
        level = wire_levels(node.inputs[0].dtype) + node.attrs["rank"]
        *xs, sel = node.inputs
        in_step = tuple(n for n, x in enumerate(xs) if _routed(x, n, _selectors(sel)))
        single = isinstance(sel.dtype, Selector) and sel.dtype.hot == 1
        params = Reassemble(len(xs), level, node.attrs["order"], in_step, single)
        inputs = {name: to.input(node, index) for index, name in enumerate(params.inputs)}
        to.unit(node.name, params, **inputs, y=to.output(node))

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """As many as of what it merges."""
        return outputs[0]


def _selectors(stream: Stream) -> Stream:
    """The stream that a stream of selectors is but for its structure."""
    stream = stream.resolved()
    node = stream.node
    same = node.face.copies or (node.op in circuits() and circuits()[node.op].restructures)
    return _selectors(node.inputs[0]) if same else stream


def _routed(x: Stream, output: int, selectors: Stream) -> bool:
    """Whether the chunks of a stream come in the order of selectors that name an output.

    All but routes and merges keep the order of what passes them; what is merged has the order of
    its selectors.
    """
    seen, streams = set[Stream](), [x.resolved()]
    while streams:
        stream = streams.pop()
        node = stream.node
        if stream in seen:
            continue
        seen.add(stream)
        circuit = circuits().get(node.op)
        if circuit is None or circuit.selects:
            continue
        if circuit.routes and _selectors(node.inputs[-1]) == selectors:
            if stream.port == output:
                return True
            continue
        if not circuit.routes:
            above = node.inputs[-1:] if circuit.merges else node.inputs
            streams += [one.resolved() for one in above]
    return False
