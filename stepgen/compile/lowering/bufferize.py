"""Bufferize becomes a PMU, together with the Streamify that reads what it stores."""

from __future__ import annotations

from ...hw.units.pmu.params import Pmu
from ...ir.dtypes import Buffer
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit, circuits
from ..lower import Lowering

LIVE = 2
"""Largest chunks that there is memory for: one is written while another is read."""
LINKED = 16
"""Most pages of a chunk, where chunks differ in size."""
LEAST = 4
"""Words of the smallest page of these."""


class BufferizeCircuit(Circuit):
    """One PMU, with memory for two of the largest chunks."""

    covers = "chunks of bounded dims, read by one streamify in the order of storing"

    def lower(self, node: Node, to: Lowering) -> None:
        (x,), (made,) = node.inputs, node.outputs
        reader = _reader(node, to)
        base, buffer = wire_levels(x.dtype), made.dtype
        assert isinstance(buffer, Buffer)
        level, slices = base + node.attrs["rank"], to.slices(node, buffer.tile) if base else 1
        held = [*buffer.shape, *([buffer.tile.rows] if base else [])]
        # An empty group takes a word too.
        to.bound(node, f"the number of tiles of {buffer}", held)
        largest = slices
        for dim in held:
            largest *= max(1, dim.bound or 0)
        fixed = all(dim.static for dim in held)
        outer = x.shape[: len(x.shape) - node.attrs["rank"]]
        live = LIVE if any(dim.bound is None or dim.bound > 1 for dim in outer) else 1
        page = largest if fixed else max(LEAST, 1 << (-(-largest // LINKED) - 1).bit_length())
        shape, stride = reader.attrs["shape"], reader.attrs["stride"]
        tile = 1
        if shape is not None:
            tile = slices * (buffer.tile.rows.static or 0 if base else 1)
            if not fixed:
                raise to.fail(
                    reader,
                    f"it reads tiles of {buffer} by shape and stride, whose rows must be static "
                    f"in a circuit",
                )
        ref = reader.inputs[1] if len(reader.inputs) > 1 else None
        count = reader.attrs["count"]
        params = Pmu(
            level=level,
            count=None if ref is not None else count or 1,
            counted=count is not None,
            inner=0 if ref is None else ref.rank - reader.inputs[0].rank,
            ref_base=0 if ref is None else wire_levels(ref.dtype),
            pages=live * -(-largest // page),
            page=page,
            fixed=fixed,
            largest=largest,
            bits=to.format(node, x).bits,
            shape=tuple(shape or ()),
            stride=tuple(stride or ()),
            tile=tile,
        )
        to.reference_bits[node] = params.page_bits
        told = {} if ref is None else {"ref": to.input(reader, 1, structure_only=True)}
        to.unit(
            node.name,
            params,
            x=to.input(node, 0),
            read=to.input(reader, 0),
            **told,
            made=to.output(node),
            y=to.output(reader, delay=params.delay(to.lanes)),
        )


def _reader(node: Node, to: Lowering) -> Node:
    """The Streamify that reads the buffers of a Bufferize, by way of operators of stops alone."""
    (stream,) = node.outputs
    while True:
        readers = to.graph.consumers(stream)
        if len(readers) != 1:
            raise to.fail(
                node,
                f"{len(readers)} operators read the buffers {stream.name}, and its circuit serves "
                f"one streamify, which may read them many times",
            )
        ((reader, index),) = readers
        if reader.face.reads == "buffer" and index == 0:
            return reader
        if reader.op not in circuits() or not circuits()[reader.op].restructures:
            raise to.fail(
                node,
                f"its buffers {stream.name} go to {reader.name}, and circuits read buffers in the "
                f"order in which they are stored: in between only stops may change",
            )
        (stream,) = reader.outputs
