"""Bufferize becomes a PMU, together with all Streamify that read what it stores."""

from __future__ import annotations

from dataclasses import replace

from ...hw.design.table import Channel, index_bits
from ...hw.units.pmu.params import Pmu, Reading
from ...ir.dims import held_at_once
from ...ir.dtypes import Buffer
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering
from ..references import references

LINKED = 16
"""Most pages of a chunk, where chunks differ in size."""
LEAST = 4
"""Words of the smallest page of these."""
ROW_LEVEL = 1
"""Wire level that closes a row of a tile."""


class BufferizeCircuit(Circuit):
    """One PMU, with memory for two of the largest chunks, for all of a run, or at least for one."""

    covers = (
        "chunks of bounded dims, or of `most` rows; references may be forked, repeated, "
        "partitioned, and merged with those of the same bufferize"
    )

    def lower(self, node: Node, to: Lowering) -> None:
        (x,), (made,) = node.inputs, node.outputs
        ways = references(to.graph, made)
        base, buffer = wire_levels(x.dtype), made.dtype
        assert isinstance(buffer, Buffer)
        level, slices = base + node.attrs["rank"], to.slices(node, buffer.tile) if base else 1
        held = [*buffer.shape, *([buffer.tile.rows] if base else [])]
        fixed, most = all(dim.static for dim in held), node.attrs.get("most") or 0
        rows = buffer.most_rows
        if rows is not None and rows <= most:
            most = 0
        if not most:
            rows_of = "bufferize(most=...) says how many rows there is memory for"
            to.bound(node, f"the number of tiles of {buffer}", held, instead=rows_of)
        largest = slices * (most or rows or 0)
        outer = x.shape[: len(x.shape) - node.attrs["rank"]]
        keeps = not ways.in_order and to.stored.keeps(node, outer)
        live = held_at_once(outer)
        if keeps:
            live = max(1, to.bound(node, f"the number of buffers {made.name}", outer))
        shares = 0 if keeps else ways.shares[made]
        rests = {} if keeps else ways.returning
        if not fixed:
            page = max(LEAST, 1 << (-(-largest // LINKED) - 1).bit_length())
        elif shares > 1 or rests:
            page = 1 << (largest - 1).bit_length()
        else:
            page = largest
        pages = -(-largest // page)
        full = Pmu(
            level=level,
            readings=tuple(_reading(reader, to, slices, fixed) for reader in ways.readers),
            pages=live * pages,
            page=page,
            fixed=fixed,
            largest=largest,
            bits=to.format(node, x).bits,
            shares=shares,
            rests=len(rests),
            most=most,
            row=base and ROW_LEVEL,
        )
        params = full if keeps else to.sized(full, replace(full, pages=pages))
        to.stored.bits[node] = params.page_bits
        to.stored.shares |= {} if keeps or ways.in_order else ways.shares
        ends = {}
        for n, (one, given) in enumerate(rests.items()):
            bits = params.page_bits + index_bits(1 + given)
            to.stored.rests[one] = to.add(Channel(f"{one.name}_rest", 1, bits, None))
            ends[f"rest_{n}"] = to.stored.rests[one]
        for n, reader in enumerate(ways.readers):
            ends[f"read_{n}"] = to.input(reader, 0)
            if len(reader.inputs) > 1:
                ends[f"ref_{n}"] = to.input(reader, 1, structure_only=True)
            ends[f"y_{n}"] = to.output(reader, delay=params.delay(to.lanes))
        to.unit(node.name, params, x=to.input(node, 0), **ends, made=to.output(node))


def _reading(reader: Node, to: Lowering, slices: int, fixed: bool) -> Reading:
    """How a Streamify reads chunks of rows of so many beats."""
    buffers, shape, count = reader.inputs[0], reader.attrs["shape"], reader.attrs["count"]
    buffer, ref = buffers.dtype, reader.inputs[1] if len(reader.inputs) > 1 else None
    assert isinstance(buffer, Buffer)
    tile = 1
    if shape is not None:
        tile = slices * (buffer.tile.rows.static or 0 if wire_levels(buffer.tile) else 1)
        if not fixed:
            raise to.fail(
                reader,
                f"it reads tiles of {buffer} by shape and stride, whose rows must be static "
                f"in a circuit",
            )
    return Reading(
        count=None if ref is not None else count or 1,
        counted=count is not None,
        inner=0 if ref is None else ref.rank - buffers.rank,
        ref_base=0 if ref is None else wire_levels(ref.dtype),
        shape=tuple(shape or ()),
        stride=tuple(reader.attrs["stride"] or ()),
        offset=reader.attrs["offset"],
        tile=tile,
    )
