"""Draws programs of the operators that have a circuit, and inputs with all relevant extents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import numpy as np

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.fuzz.generators import products, stored
from stepgen.fuzz.generators.drawing import Drawing, columns_of, dims_of, tile_of
from stepgen.ir.dtypes import ElementType
from stepgen.ir.function import Function
from stepgen.ir.stream import Stream


class PlainProgram(Drawing):
    """A program of steps, each of which has a circuit and all of whose dims may be empty."""

    def step_flatten(self, x: Stream, _: str) -> Stream:
        lo = self.number(0, max(0, x.rank - 1))
        return x.flatten(lo, self.number(lo + 1, max(lo + 1, x.rank)))

    def step_promote(self, x: Stream, _: str) -> Stream:
        if x.rank > 3:
            raise sg.StepError("deep enough")
        return x.promote(self.pick(None, *range(x.rank + 1)))

    def step_fork(self, x: Stream, name: str) -> Stream:
        first, *others = x.fork(self.number(1, 3))
        for number, other in enumerate(others):
            self.graph.output(other, f"{name}_copy{number}")
        return first

    def step_repeat(self, x: Stream, _: str) -> Stream:
        return x.promote(0).expand(count=self.number(1, 3))

    def step_expand(self, x: Stream, name: str) -> Stream:
        inner = [self.dim(ragged=True) for _ in range(self.number(1, 2))]
        ref = self.beside(name, sg.Selector(2), x, *inner)
        for _ in inner:
            x = x.promote(0)
        return x.expand(ref, rank=len(inner))

    def step_stored(self, x: Stream, name: str) -> Stream:
        """Chunks in on-chip memory, and how often and in which order they are read."""
        return stored.read_again(self, x, name)

    def step_travelled(self, x: Stream, name: str) -> Stream:
        """Chunks in on-chip memory whose references are forked, routed and merged."""
        return stored.travelled(self, x, name)

    def step_retile_row(self, x: Stream, _: str) -> Stream:
        return x.accum(sg.fn.retile_row(), rank=self.number(1, max(1, x.rank)))

    def step_retile_col(self, x: Stream, _: str) -> Stream:
        rank = self.number(1, 2)
        for _level in range(rank):
            x, count = x.promote(0), self.number(1, 3)
            if self.number(0, 2):
                x = x.expand(count=count)
            else:
                x = stored.kept(self, x, 1).streamify(count=count).flatten(0, 1)
        return x.accum(sg.fn.retile_col(), rank=rank)

    def weights(
        self, x: Stream, name: str, element: ElementType, n: int | None = None
    ) -> tuple[Function, Stream]:
        """A matrix for each tile, transposed or not, of drawn columns or of `n`."""
        n = self.columns() if n is None else n
        k, transpose = tile_of(x).cols, bool(self.number(0, 1))
        tile = sg.Tile(n, k, element) if transpose else sg.Tile(k, n, element)
        return sg.fn.matmul(transpose=transpose), self.beside(name, tile, x)

    def step_accum_matmul(self, x: Stream, name: str) -> Stream:
        """Products of the tiles of chunks, summed up."""
        return products.of_chunks(self, x, name)

    def sized(self, x: Stream, rank: int) -> None:
        """Refuse chunks of no tiles whose state would have no size."""
        if tile_of(x).rows.static is None and any(d.may_be_empty for d in x.shape[-rank:]):
            raise sg.StepError("the state of a chunk without tiles would have no size")

    def step_fold(self, x: Stream, _: str) -> Stream:
        rank = self.number(1, max(1, x.rank))
        self.sized(x, rank)
        return x.accum(self.folding(), rank=rank, init=self.pick(None, 1))

    def step_scan(self, x: Stream, _: str) -> Stream:
        return x.scan(self.folding(), rank=self.number(1, max(1, x.rank)), init=self.pick(None, 1))

    def folding(self) -> Any:
        """A function that updates each element of a state."""
        return self.pick(sg.fn.add(), sg.fn.mul(), sg.fn.maximum(), sg.fn.minimum())

    def step_reduce_rows(self, x: Stream, _: str) -> Stream:
        one = x.map(self.pick(sg.fn.row_sum(), sg.fn.row_max()))
        return one.map(sg.fn.row_broadcast(self.columns())) if self.number(0, 1) else one

    def step_shift_cols(self, x: Stream, _: str) -> Stream:
        by = self.pick(1, self.lanes, self.number(1, columns_of(x) + 1))
        return x.map(sg.fn.shift_cols(by=by, fill=self.number(-2, 2)))

    def step_rotate_pairs(self, x: Stream, _: str) -> Stream:
        return x.map(sg.fn.rotate_pairs())

    def step_running_max(self, x: Stream, _: str) -> Stream:
        return x.map(sg.fn.running_max(self.pick(0, 1, 50, 1 << 20)))

    def step_streamify(self, x: Stream, _: str) -> Stream:
        return x.flat_map(sg.fn.retile_streamify("row"), rank=self.pick(0, 0, 1))

    def step_columns(self, x: Stream, _: str) -> Stream:
        columns = columns_of(x)
        widths = [n for n in range(1, columns + 1) if columns % n == 0]
        cut = self.pick(sg.fn.retile_streamify("col"), *(sg.fn.cut_cols(n) for n in widths))
        return x.flat_map(cut, rank=self.number(0, 1))

    def step_split(self, x: Stream, name: str) -> Stream:
        """A static dim is taken apart; its parts are joined in another order."""
        dims = [k for k in range(x.rank + 1) if (x.dim(k).static or 0) > 1]
        if not dims:
            x, dims = x.reshape(chunk=self.number(2, 4), pad=self.pad(x, 3))[0], [0]
        dim = self.pick(*dims)
        extent = x.dim(dim).static or 0
        first = self.number(1, extent - 1)
        rest = (extent - first,) if self.number(0, 1) else (1,) * (extent - first)
        parts = x.split((first, *rest), dim=dim)
        if self.number(0, 1):
            self.graph.output(parts[0], name)
            parts = parts[1:]
        return sg.concat(list(reversed(parts)), dim=dim)

    def step_concat(self, x: Stream, name: str) -> Stream:
        """With elements of an input before or behind."""
        dim = self.number(0, x.rank)
        if any(d.static is None and str(d) not in self.extents for d in (*x.shape, *dims_of(x))):
            raise sg.StepError(f"{name} can't be drawn with extents that another stream decides")
        if any(d.is_ragged for d in (*x.shape, *dims_of(x))):
            raise sg.StepError(f"{name} can't be drawn with ragged dims of another stream")
        at = x.rank - dim
        more = [self.dim(ragged=False), *x.shape[at + 1 :]]
        other = self.input(name, x.dtype, [*x.shape[:at], *more])
        return sg.concat(self.pick([x, other], [other, x]), dim=dim)

    def pad(self, x: Stream, number: int) -> float:
        """A number for padding; floats get a fraction of it, which they round."""
        floats = getattr(x.dtype, "element", None) in (sg.bf16, sg.f32)
        return number / 3 if floats else number

    def step_pad(self, x: Stream, _: str) -> Stream:
        data, padding = x.reshape(chunk=self.number(1, 4), pad=self.pad(x, self.number(-3, 3)))
        rows = data.accum(sg.fn.retile_row(), rank=1)
        return rows.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding)

    def step_chunk(self, x: Stream, _: str) -> Stream:
        data, _padding = x.reshape(chunk=self.number(2, 3), pad=self.pad(x, 7))
        return data

    def step_cap(self, x: Stream, _: str) -> Stream:
        """Chunks of at most so many elements, whatever these are."""
        return x.reshape(chunk=self.number(1, 4), pad=None)

    def step_group(self, x: Stream, _: str) -> Stream:
        level = self.number(1, max(1, x.rank))
        grouped: Stream = x.reshape(dim=level, chunk=self.pick(1, x.dim(level).static or 2))
        return grouped

    def step_route(self, x: Stream, name: str) -> Stream:
        parts, sel, rank = self.routed(x, name)
        order: Literal["index", "arrival"] = self.pick("index", "arrival")
        return sg.reassemble(parts, sel, rank=rank, order=order)

    def routed(self, x: Stream, name: str) -> tuple[Sequence[Stream], Stream, int]:
        """The branches of a route, its selectors, and the rank of the chunks."""
        rank = self.number(0, min(self.chunk_rank, x.rank))
        outer = x.shape[: len(x.shape) - rank]
        if any(d.is_ragged or (d.static is None and str(d) not in self.extents) for d in outer):
            raise sg.StepError("selectors can't be drawn with a shape that another stream decides")
        sel = self.input(name, sg.Selector(self.pick(1, 2, 3, 5)), outer)
        return self.branches(sg.partition(x, sel, rank=rank)), sel, rank

    def step_merge(self, x: Stream, name: str) -> Stream:
        """Chunks as they arrive, from branches or inputs; their selectors used, unused, forked."""
        parts: Sequence[Stream] = [x]
        rank = x.rank
        if self.number(0, 2):
            parts, _, rank = self.routed(x, name)
        else:
            inner = x.shape[1:]
            if any(d.static is None and str(d) not in self.extents for d in (*inner, *dims_of(x))):
                raise sg.StepError("chunks can't be drawn whose extents another stream decides")
            shapes = [[self.dim(ragged=False), *inner] for _ in range(self.number(0, 2))]
            parts = [x, *(self.input(f"{name}_{n}", x.dtype, s) for n, s in enumerate(shapes))]
        data, names = sg.eager_merge(parts, rank=rank)
        how = self.pick("unused", "seen", "back", "again")
        if how == "seen":
            self.graph.output(names, f"{name}_names")
        if how in ("unused", "seen"):
            return data
        parts = sg.partition(data, names, rank=rank)
        if how == "again":
            return sg.reassemble(parts, names, rank=rank)
        for n, part in enumerate(parts[1:]):
            self.graph.output(part, f"{name}_part{n}")
        return parts[0]

    def branches(self, parts: Sequence[Stream]) -> Sequence[Stream]:
        """What comes out of the branches of a route."""
        return parts

    def step_requantize(self, x: Stream, _: str) -> Stream:
        return x.map(sg.fn.requantize(multiplier=self.pick(1, 77), shift=self.number(0, 12)))

    def step_matmul(self, x: Stream, name: str) -> Stream:
        matmul, w = self.weights(x, name, tile_of(x).element)
        return x.map(matmul, w)

    def step_matmul_add(self, x: Stream, name: str) -> Stream:
        """Products whose sums start at a row."""
        return products.from_rows(self, x, name)

    def step_dynamic_product(self, x: Stream, name: str) -> Stream:
        """Products of tiles of dynamic extents for each tile, whose place a result takes."""
        return products.of_any_size(self, x, name)

    def step_row_product(self, x: Stream, name: str) -> Stream:
        """A row for each tile, whose place its product with a matrix takes."""
        return products.of_row(self, x, name)


def steps_of(kind: type[PlainProgram]) -> tuple[str, ...]:
    """The steps that a program of this kind can consist of."""
    return tuple(n.removeprefix("step_") for n in dir(kind) if n.startswith("step_"))


STEPS = steps_of(PlainProgram)


def lowers(program: PlainProgram) -> None:
    """Accept programs that have a circuit; raises a `StepError` for others."""
    lower(program.graph, lanes=program.lanes, bus=program.bus)


def draw(
    seed: int,
    size: int = 4,
    kind: Callable[..., Any] = PlainProgram,
    accept: Callable[[Any], object] = lowers,
    names: Sequence[str] = (),
) -> tuple[Any, list[str], Counter[str]]:
    """A program of up to `size` steps that can be built and is accepted.

    Returns
    -------
    Program
    list of str
        The steps that it is made of.
    Counter
        Steps that were tried and refused, with the reason, so that nothing is left out unseen.
    """
    rng = np.random.default_rng(seed)
    steps: list[tuple[str, int]] = []
    refused: Counter[str] = Counter()
    names = names or steps_of(cast(type[PlainProgram], kind))
    for _ in range(6 * size):
        if len(steps) == size:
            break
        step = (names[int(rng.integers(len(names)))], int(rng.integers(1 << 30)))
        try:
            program = kind(seed, [*steps, step])
            try:
                accept(program)
            except sg.StepError:
                raise
            except Exception:  # a crash, which the comparison of the program reports
                return program, [name for name, _ in [*steps, step]], refused
        except sg.StepError as error:
            refused[f"{step[0]}: {error}"] += 1
        else:
            steps.append(step)
    return kind(seed, steps), [name for name, _ in steps], refused
