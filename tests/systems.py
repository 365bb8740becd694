"""Systems for tests: drawn pairs of programs, and some that are written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.fuzz.generators.plain import STEPS, PlainProgram, draw
from stepgen.ir.stream import Stream
from stepgen.semantics import executor

LANES = (1, 2, 4, 8, 16)


def scaled(columns: int = 10, rows: int | str = "N") -> sg.Graph:
    """Rows ``x``, to each of which a row of memory is added, as ``y``."""
    g = sg.Graph("scaled")
    x = g.input("x", sg.int8[1, columns], (rows,))
    w = g.tensor("w", (1, columns), sg.int8)
    row = sg.linear_offchip_load(w, tile=(1, columns), shape=(1,), stride=(1,), ref=x)
    y = x.map(sg.fn.add(), row.flatten(0, 1))
    g.output(y, "y")
    return g


def summed(columns: int = 10, rows: int = 12) -> sg.Graph:
    """Sums of rows ``x`` as ``y``; the rows themselves are stored."""
    g = sg.Graph("summed")
    x = g.input("x", sg.int8[1, columns], (rows,))
    kept = g.tensor("kept", (rows, columns), sg.int8)
    sg.linear_offchip_store(x, kept)
    g.output(x.map(sg.fn.row_sum()), "y")
    return g


def stored(lanes: dict[str, int], columns: int = 10, rows: int = 12) -> sg.System:
    """A system whose parts both use the memory."""
    parts = {"first": scaled(columns, rows), "second": summed(columns, rows)}
    return sg.System(parts, {"first_y": "second_x"}, lanes=lanes)


def stored_inputs(seed: int, columns: int = 10, rows: int = 12) -> dict[str, Any]:
    """Drawn inputs of `stored`."""
    rng = np.random.default_rng(seed)
    return {
        "first_x": rng.integers(-60, 60, (rows, 1, columns)).astype(np.int8),
        "first_w": rng.integers(-60, 60, (1, columns)).astype(np.int8),
    }


class Fed(PlainProgram):
    """A drawn program whose first input is what another gives."""

    def __init__(
        self, seed: int, steps: Sequence[tuple[str, int]], lanes: int, made: Stream, nested: list
    ) -> None:
        self.made, self.nested, self.lanes = made, nested, lanes
        super().__init__(seed, steps)

    def first(self) -> Stream:
        """An input of the type of the other's output, whose extents are those of a run."""
        shape, inside = [], [self.nested]
        for dim in self.made.shape:
            longest = max(map(len, inside), default=0)
            inside = [item for group in inside for item in group]
            shape.append(self._declared(dim, longest))
        dtype = self.made.dtype
        if isinstance(dtype, sg.Tile):
            rows = self._declared(dtype.rows, max((len(tile) for tile in inside), default=0))
            dtype = sg.Tile(rows, dtype.cols, dtype.element)
        return self.graph.input("x", dtype, shape)

    def _declared(self, dim: sg.Dim, longest: int) -> int | sg.Dim:
        if dim.static is not None:
            return dim.static
        name = f"D{len(self.extents)}"
        self.extents[name] = longest
        make = sg.ragged if dim.is_ragged else sg.dynamic
        return make(name, bound=dim.bound, positive=not dim.may_be_empty)


def drawn(seed: int, size: int = 2) -> tuple[sg.System, dict[str, Any]]:
    """A drawn pair of programs of drawn lanes, the first of which feeds the second."""
    rng = np.random.default_rng(seed)
    while True:
        one, other = (LANES[rng.integers(len(LANES))] for _ in range(2))
        kind = type("First", (PlainProgram,), {"lanes": one, "bound": 3})
        first, *_ = draw(int(rng.integers(1 << 30)), size, kind=kind)
        result = executor.run(first.graph, first.inputs, lanes=one)
        names = [
            n for n, s in first.graph.outputs.items() if isinstance(s.dtype, sg.Tile | sg.Selector)
        ]
        name = names[rng.integers(len(names))]
        made, nested = first.graph.outputs[name], result.nested(name)

        def fed(own: int, steps: Any, lanes=other, made=made, nested=nested) -> Fed:
            return Fed(own, steps, lanes, made, nested)

        second, *_ = draw(int(rng.integers(1 << 30)), size, kind=fed, names=STEPS)
        parts = {"first": first.graph, "second": second.graph}
        try:
            system = sg.System(
                parts, {f"first_{name}": "second_x"}, lanes={"first": one, "second": other}
            )
            _ = system.design()
        except sg.StepError as error:
            if "has no bound" not in str(error):
                raise
            continue
        inputs = {f"first_{key}": value for key, value in first.inputs.items()}
        return system, inputs | {f"second_{key}": v for key, v in second.inputs.items()}


def chosen() -> sg.System:
    """Rows go where data say, in order of arrival, and tiles are read by address: three parts."""
    choosing = sg.Graph("choosing")
    x = choosing.input("x", sg.int8[1, 4], (9,))
    choosing.output(x.map(sg.fn.top_k(2)), "sel")
    choosing.output(x.map(sg.fn.add(), x), "rows")
    at = choosing.input("at", sg.Selector(4, hot=1), (9,))
    choosing.output(at.flat_map(sg.fn.tile_addresses(2), rank=1), "tiles")
    routing = sg.Graph("routing")
    sel = routing.input("sel", sg.Selector(4), (9,))
    parts = sg.partition(routing.input("rows", sg.int8[1, 4], (9,)), sel, rank=0)
    merged, order = sg.eager_merge(parts, rank=0)
    routing.output(merged, "merged")
    routing.output(order, "order")
    reading = sg.Graph("reading")
    tiles = reading.input("tiles", sg.address[1, 1], (9, 2))
    table = reading.tensor("table", (8, 4), sg.int8)
    reading.output(tiles.random_offchip_load(table, tile=(1, 4)), "found")
    links = {"a_sel": "b_sel", "a_rows": "b_rows", "a_tiles": "c_tiles"}
    lanes = {"a": 2, "b": 4, "c": 1}
    return sg.System({"a": choosing, "b": routing, "c": reading}, links, lanes=lanes)
