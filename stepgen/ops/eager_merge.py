"""eager_merge: merges chunks of several streams in order of arrival."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stepgen.compile.circuit import Circuit
from stepgen.ir.applying import over_all, tiles_of
from stepgen.ir.dims import add
from stepgen.ir.dtypes import Selector, Tile
from stepgen.ir.graph import build
from stepgen.ir.merging import common_type, merged_totals
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Routing, Stream
from stepgen.ir.wire import DONE, wire_levels
from stepgen.semantics.numbers import DTYPES
from stepgen.semantics.process import Process, Reader, Steps, Use, Wait

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class EagerMerge(Operator, Circuit):
    """x_i ``[E_i, D_{a-1}..D_0]`` -> data ``[sum E_i, D_{a-1}..D_0]``, selector ``[sum E_i]``.

    Attributes of a node: ``rank``.
    """

    is_main = True
    optional_outputs = frozenset({0, 1})
    covers = "chunks of bounded dims"
    selects = True

    def infer(self, call: Call) -> Sequence[Out]:
        """The order is decided at run time, the shape is not."""
        rank = call.integer("rank", 0)
        inner, dtype, merged = common_type(call, call.inputs, rank)
        totals, volume = merged_totals(call.inputs, rank)
        count = add([x.shape[0] for x in call.inputs])
        selector = Selector(len(call.inputs), hot=1)
        # Behind a Partition by the selector, chunks of an input have that input's dims again.
        sums = {}
        if rank == 0 and isinstance(dtype, Tile) and dtype.rows in merged:
            tiles = tiles_of(call, call.inputs)
            rows = [over_all([x], t.rows.expr) for x, t in zip(call.inputs, tiles, strict=True)]
            sums = {dtype.rows: tuple(rows)}
        routing = Routing(tuple(x.shape[0] for x in call.inputs), merged, sums)
        return [
            Out((count, *inner), dtype, totals, volume),
            Out((count,), selector, routing=routing),
        ]

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """The order of arrival determines the selectors."""
        return () if port == 1 else super().contents(node, port)

    def run(self, use: Use) -> Process:
        """For each chunk also sends a one-hot selector of its input.

        The order is that of `choices`, if given. Otherwise the inputs are read one after the other,
        each to its end; on a cycle, where one input may depend on another, round robin.
        """
        data, names = use.outputs
        rank = use["rank"]
        open_inputs = list(range(len(use.inputs)))
        while True:
            index = yield from _choose(use, open_inputs)
            if index is None:
                break
            reader = use.inputs[index]
            one_hot = np.zeros(len(use.inputs), DTYPES["bool"])
            one_hot[index] = True
            names.value(one_hot)
            while True:
                token = yield from reader.take()
                data.put(token)
                if token.stop == rank:
                    break
        data.done()
        names.done()

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit with an input per producer; a chunk arrives when all of it is there.

        A `store_forward` collects long chunks in front of it: one of which only the beginning is
        there would keep the others waiting, perhaps for ever, since its end may wait for what they
        are part of.
        """
        from stepgen.hw.units.eager_merge.params import EagerMerge as Unit
        from stepgen.hw.units.store_forward.params import StoreForward

        level = wire_levels(node.inputs[0].dtype) + node.attrs["rank"]
        params = Unit(producers=len(node.inputs), level=level)
        inputs = {}
        for index, (port, x) in enumerate(zip(params.inputs, node.inputs, strict=True)):
            rows = [x.dtype.rows] if isinstance(x.dtype, Tile) and wire_levels(x.dtype) else []
            to.bound(node, f"the number of tiles of a chunk of {x.name}", [*x.shape[1:], *rows])
            extents = to.extents(node, x)
            largest = math.prod(max(1, int(e.bound)) for e in extents[:level])
            inputs[port] = to.input(node, index)
            if largest > 1:
                stored = to.link(node, f"{port}_stored", x, extents)
                gather = StoreForward(level=level, largest=largest)
                to.unit(f"{node.name}_{port}", gather, x=inputs[port], y=stored)
                inputs[port] = stored
        y, names = (to.output(node, port) for port in range(2))
        to.unit(node.name, params, **inputs, y=y, names=names)

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """As many as of what it merges."""
        return outputs[0]


def _choose(use: Use, waiting: list[int]) -> Steps[int | None]:
    """The input of the next chunk, None when all have ended.

    `waiting` lists the inputs that have not ended, the next in turn first.
    """
    while True:
        for i in [i for i in waiting if _ended(use.inputs[i])]:
            yield from use.inputs[i].take()
            waiting.remove(i)
        if not waiting:
            return None
        if use.choices is not None:
            index = next(use.choices, None)
            if use.guesses and use.cyclic:  # what was guessed may depend on what was not
                yield Wait(tuple(use.inputs[i] for i in waiting), idle=True)
                if index in waiting and not use.inputs[index].queue:
                    index = None
            if index is not None and index in waiting:
                head = yield from use.inputs[index].peek()
                if head.kind != DONE:
                    return index
            if use.guesses:
                use.choices = None
                continue
            if index is not None:
                use.fail(
                    f"the order of arrival that was given names input {index}, which has ended"
                )
            head = yield from use.inputs[waiting[0]].peek()
            if head.kind != DONE:  # otherwise the ends of others may be still to come
                use.fail("the order of arrival that was given ends before the inputs do")
            continue
        if use.cyclic:
            yield Wait(tuple(use.inputs[i] for i in waiting), idle=True)
            index = next(i for i in waiting if use.inputs[i].queue)
            head = use.inputs[index].queue[0]
        else:
            index = waiting[0]
            head = yield from use.inputs[index].peek()
        if head.kind != DONE:
            if use.cyclic:
                waiting.remove(index)
                waiting.append(index)
            return index


def _ended(reader: Reader) -> bool:
    return bool(reader.queue) and reader.queue[0].kind == DONE


@public
def eager_merge(
    xs: Sequence[Stream], *, rank: int, name: str | None = None
) -> tuple[Stream, Stream]:
    """Merge streams, whole rank-`rank` chunks at a time, in the order of arrival; fair.

    Parameters
    ----------
    xs : sequence of Stream
        ``[E_i, D_{a-1}..D_0]``, all of rank `rank`. Tiles may differ in extents that are decided at
        run time.
    rank : int
        a, the rank of a chunk.
    name : str, optional
        Name of the node.

    Returns
    -------
    data : Stream
        ``[sum E_i, D_{a-1}..D_0]``.
    selector : Stream
        ``[sum E_i]``, one bit set: where each chunk came from.

    Raises
    ------
    StepError
        If the streams differ in type.

    Notes
    -----
    EagerMerge (paper, section 3). That no input waits for ever is stepgen's addition.

    Examples
    --------
    >>> g = sg.Graph()
    >>> a, b = g.input("a", sg.int8[1, 8], (4, 3)), g.input("b", sg.int8[1, 8], (2, 3))
    >>> sg.eager_merge([a, b], rank=1)
    (<eager_merge_0.0 Stream[int8 1x8; 6, 3]>, <eager_merge_0.1 Stream[selector 1 of 2; 6]>)
    """
    data, selector = build("eager_merge", xs, {"rank": rank}, name)
    return data, selector
