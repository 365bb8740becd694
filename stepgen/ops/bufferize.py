"""bufferize: stores chunks in on-chip memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.compile.references import references
from stepgen.ir.dims import held_at_once, show_shape
from stepgen.ir.dtypes import Buffer
from stepgen.ir.expr import Expr, product_of
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Reference, Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.hw.units.pmu.params import Reading
    from stepgen.ir.ordering import Ordering

LINKED = 16
"""Most pages of a chunk, where chunks differ in size."""
LEAST = 4
"""Words of the smallest page of these."""
ROW_LEVEL = 1
"""Wire level that closes a row of a tile."""


class Bufferize(Operator, Circuit):
    """``[D_a..D_0]`` -> ``[D_a..D_b]`` of buffers ``[D_{b-1}..D_0]``.

    Attributes of a node: ``rank``, and ``most`` where there is one.
    """

    writes = "buffer"
    covers = (
        "chunks of bounded dims, or of `most` rows; references may be forked, repeated, "
        "partitioned, and merged with those of the same bufferize"
    )

    def infer(self, call: Call) -> Sequence[Out]:
        """Only the outermost dim of a buffer may be ragged."""
        x = call.inputs[0]
        rank, tile = call.level("rank", x, 1), call.tile(x)
        split = len(x.shape) - rank
        held = x.shape[split:]
        for index, dim in enumerate(held[1:], 1):
            if dim.is_ragged:
                call.fail(
                    f"{x.name} has shape {show_shape(x.shape)}, whose dim D{rank - 1 - index} of "
                    f"{dim} is ragged, but of a buffer {show_shape(held)} only the outermost may be"
                )
        buffer = Buffer(tile, held)
        if call.attrs.get("most") is not None:
            most, rows = call.integer("most", 1), buffer.fewest_rows
            if rows > most:
                call.fail(
                    f"there is to be memory for {most} rows of a buffer, but each of {x.name} has "
                    f"at least {rows}"
                )
        return [Out(x.shape[:split], buffer, dict(enumerate(x.totals[rank:])), x.volume)]

    def chunks(self, node: Node, rank: int) -> int:
        """The stored dims are inside of each buffer."""
        return rank + int(node.attrs["rank"])

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The buffers in use, and one tile at the input (paper, table of metrics)."""
        buffer = node.outputs[0].dtype
        assert isinstance(buffer, Buffer)
        tile = policy.on_chip(buffer.tile)
        tiles = product_of(*(d.expr for d in buffer.shape))
        return tile + policy.buffering * tiles * tile

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """The same, with each buffer of the largest size."""
        buffer, policy = node.outputs[0].dtype, sizes.policy
        assert isinstance(buffer, Buffer)
        each = policy.bytes_per_element(buffer.tile)
        return sizes.element(node.inputs[0]) + policy.buffering * sizes.largest(node) * each

    def measured_element(self, node: Node, sizes: Sizes) -> int:
        """The largest buffer."""
        buffer = node.outputs[0].dtype
        assert isinstance(buffer, Buffer)
        return sizes.largest(node) * buffer.tile.element.bytes

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles, held."""
        return replace(of.input(), held=of.attrs["rank"])

    def run(self, use: Use) -> Process:
        """A reference has the stop of its chunk, less `rank`."""
        x, out, rank = use.inputs[0], use.outputs[0], use["rank"]
        most = use.node.attrs.get("most")
        chunk: list[Token] = []
        while True:
            token = yield from x.take()
            if token.kind == DONE:
                out.done()
                return
            if token.kind == BARE and token.low > rank:
                out.bare(token.low - rank, token.stop - rank)
                continue
            chunk.append(Token(token.kind, token.value, min(token.stop, rank), token.low))
            if token.stop >= rank:
                rows = sum(1 if one.value is None else max(1, len(one.value)) for one in chunk)
                if most is not None and rows > most:
                    use.fail(
                        f"it stores a buffer of {x.name} of {rows} rows, and has memory for {most}"
                    )
                out.value(Reference(tuple(chunk), rank), token.stop - rank)
                chunk = []

    def lower(self, node: Node, to: Lowering) -> None:
        """One PMU, which also reads for all Streamify of what it stores.

        It has memory for two of the largest chunks, for all of a run, or at least for one.
        """
        from stepgen.hw.design.table import Channel, index_bits
        from stepgen.hw.units.pmu.params import Pmu

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
    from stepgen.hw.units.pmu.params import Reading

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


@public
def bufferize(x: Stream, *, rank: int, most: int | None = None, name: str | None = None) -> Stream:
    """Store each rank-`rank` chunk and pass on a reference to it.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]`` of tiles.
    rank : int
        b, the rank of a chunk, at least 1.
    most : int, optional
        Rows of a buffer that there is memory for, over all of its tiles; an empty tile or group
        takes one, too. A run with a larger buffer stops with an error. By default as many as the
        types allow, which must have a bound in a circuit.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[D_a..D_b]`` of buffers, which `streamify` reads.

    Raises
    ------
    StepError
        If an inner dim of the buffers is ragged, or all of them have more rows than `most`.

    Notes
    -----
    Bufferize (paper, section 3). References may be routed, merged and reordered before they are
    read; a chunk stays in memory until its last reader is through.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[8, 8], (4, 3))
    >>> x.bufferize(rank=1).streamify(count=2)
    <streamify_0.0 Stream[int8 8x8; 4, 2, 3]>
    """
    attrs = {"rank": rank} if most is None else {"rank": rank, "most": most}
    return build("bufferize", (x,), attrs, name)[0]
