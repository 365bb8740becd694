"""concat: joins streams along a dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dims import Dim, add, show_shape
from stepgen.ir.expr import sum_of
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.wire import BARE, DONE, VALUE, wire_levels
from stepgen.semantics.process import Holding, Process, Reader, Steps, Use
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class Concat(Operator, Circuit):
    """x_i ``[D_a..E_i..D_0]`` -> ``[D_a..sum E_i..D_0]``. Attributes of a node: ``dim``."""

    covers = "groups of which the last stream's are not empty"
    moves = True

    def infer(self, call: Call) -> Sequence[Out]:
        """All other dims, and the data types, must be equal."""
        first = call.inputs[0]
        dim = call.level("dim", first)
        for x in call.inputs[1:]:
            _check_alike(call, first, x, dim)
        at = first.rank - dim
        joined = _sum(call, [x.dim(dim) for x in call.inputs])
        totals = {
            k: total if k > dim else sum_of(*(x.totals[k] for x in call.inputs))
            for k, total in enumerate(first.totals)
        }
        shape = (*first.shape[:at], joined, *first.shape[at + 1 :])
        volume = sum_of(*(x.volume for x in call.inputs))
        return [Out(shape, first.dtype, totals, volume)]

    def run(self, use: Use) -> Process:
        """A group of every input, of which the last one closes that of the output."""
        dim, inside = use["dim"], use.inputs[0].stream.rank > use["dim"]
        out = Holding(use.outputs[0], inside)
        while True:
            ends: list[tuple[Reader, Token]] = []
            for x in use.inputs:
                ends.append((x, (yield from _group(x, out, dim))))
            first, end = ends[0]
            for x, its in ends[1:]:
                if (its.kind, its.stop) != (end.kind, end.stop):
                    use.mismatch(first, end, x, its)
            if end.kind == DONE:
                out.done()
                return
            if end.kind == BARE:
                out.put(end, final=True)
            else:
                out.close(dim + 1, end.stop)

    def lower(self, node: Node, to: Lowering) -> None:
        """One unit with an input per stream."""
        from stepgen.hw.units.concat.params import Concat as Unit

        last, dim = node.inputs[-1], node.attrs["dim"]
        if last.rank > dim and last.dim(dim).may_be_empty:
            raise to.fail(
                node,
                f"D{dim} of {last.name}, {last.dim(dim)}, may be 0: the stream that comes last "
                f"must have elements in every group, such as a static number of them",
            )
        params = Unit(len(node.inputs), wire_levels(last.dtype) + dim)
        xs = {x: to.input(node, index) for index, x in enumerate(params.inputs)}
        to.unit(node.name, params, **xs, y=to.output(node))


def _check_alike(call: Call, first: Stream, x: Stream, dim: int) -> None:
    operands = f"{first.name} is {first} and {x.name} is {x}"
    if x.dtype != first.dtype:
        call.fail(f"{operands}, which differ in data type")
    if x.rank != first.rank:
        call.fail(f"{operands}, which differ in rank, {first.rank} against {x.rank}")
    for level in range(first.rank + 1):
        mine, its = first.dim(level), x.dim(level)
        if level != dim and not mine.same(its):
            shapes = f"{show_shape(first.shape)} and {show_shape(x.shape)}"
            call.fail(
                f"{operands}, whose shapes {shapes} differ in dim D{level}, {mine} against {its}: "
                f"only D{dim} may differ"
            )


def _sum(call: Call, dims: Sequence[Dim]) -> Dim:
    if not any(d.is_ragged for d in dims):
        return add(dims)
    bounds = [d.bound for d in dims if d.bound is not None]
    bound = sum(bounds) if len(bounds) == len(dims) else None
    return call.symbols.absorbed(dims, bound, positive=not all(d.may_be_empty for d in dims))


def _group(x: Reader, out: Holding, dim: int) -> Steps[Token]:
    """Pass a group on, up to its stop.

    Returns a token with the stop: empty, if all that it closes is empty too, or at the end.
    """
    while True:
        token = yield from x.take()
        if token.kind == DONE or (token.kind == BARE and token.low > dim + 1):
            return token
        closes = Token(VALUE, None, token.stop)
        if token.kind == BARE and token.low == dim + 1:
            return closes
        out.put(Token(token.kind, token.value, min(token.stop, dim), token.low))
        if token.stop > dim:
            return closes


@public
def concat(xs: Sequence[Stream], *, dim: int = 0, name: str | None = None) -> Stream:
    """Join streams along a dim: the elements of the first, then those of the second, and so on.

    Parameters
    ----------
    xs : sequence of Stream
        ``[D_a..D_0]``, all of one shape, but for D_d.
    dim : int
        d, the level of the dim.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Like the streams, D_d being the sum of theirs.

    Raises
    ------
    StepError
        If they differ in data type or in another dim.

    Notes
    -----
    Not of the paper. `split` takes a static dim apart again.

    Examples
    --------
    >>> g = sg.Graph()
    >>> a, b = g.input("a", sg.int8[1, 8], (3, 4)), g.input("b", sg.int8[1, 8], (3, 2))
    >>> sg.concat([a, b])
    <concat_0.0 Stream[int8 1x8; 3, 6]>
    """
    return build("concat", tuple(xs), {"dim": dim}, name)[0]
