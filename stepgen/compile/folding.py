"""Folds, Accum and Scan, as units of the design table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepgen.compile.choosing import add_chosen, chosen
from stepgen.compile.dynamic import given, taken
from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.flatten.params import Flatten
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import TILE_LEVELS

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


def fold(node: Node, to: Lowering, choose: Callable[..., Any], *, joins: bool) -> None:
    """Add the unit of a fold, behind the one that makes the tiles that it folds.

    Parameters
    ----------
    node : Node
    to : Lowering
    choose : function of lanes, streams and rank
        What the function of the node calls its unit.
    joins : bool
        Whether the dims of a chunk may be joined, since only its end matters.

    Raises
    ------
    StepError
        If the function has no circuit.
    """
    function, (y,) = node.attrs["fn"], node.outputs
    streams = (*node.inputs, y)
    tiles = [s.dtype for s in streams if isinstance(s.dtype, Tile)]
    if not function.any_columns:
        for tile in tiles[: len(node.inputs)]:
            to.slices(node, tile)
    try:
        terms = function.terms(to.lanes, tiles)
    except StepError as error:
        raise to.fail(node, str(error)) from None
    rank = node.attrs["rank"]
    keeps = joins and function.joins_dims(*tiles)
    if keeps and rank > 1:
        params = chosen(node, to, lambda: choose(to.lanes, streams, 1), in_chain=False)
        flat = {port: _joined(node, to, params, n) for n, port in enumerate(params.inputs)}
        dims = to.extents(node, y)
        made = given(node, to, params, y, dims, lambda delay: to.output(node, delay=delay))
        to.unit(node.name, params, **flat, y=made)
        return
    if keeps or terms is None:
        add_chosen(node, to, lambda: choose(to.lanes, streams, rank))
        return
    dims = [*to.extents(node, y)[:TILE_LEVELS], *to.extents(node, node.inputs[0])[TILE_LEVELS:]]
    inputs = {
        port: taken(node, to, terms, port, node.inputs[index], to.input(node, index))
        for index, port in enumerate(terms.inputs)
    }
    made = ""

    def link(delay: int) -> str:
        nonlocal made
        made = to.link(node, terms.kind, y, dims, delay=delay)
        return made

    written = given(node, to, terms, y, dims, link)
    to.unit(f"{node.name}_{terms.kind}", terms, **inputs, **{terms.outputs[0]: written})
    params = chosen(node, to, lambda: choose(to.lanes, streams, rank), in_chain=False)
    out = to.output(node, delay=params.delay(to.lanes))
    to.unit(node.name, params, **{params.inputs[0]: made}, **{params.outputs[0]: out})


def _joined(node: Node, to: Lowering, params: UnitParams, index: int) -> str:
    """The channel of an operand whose chunks have one dim."""
    port = params.inputs[index]
    x, outermost = node.inputs[index], node.attrs["rank"] - 1
    hold = any(x.dim(level).may_be_empty for level in range(outermost))
    flat = Flatten(lo=TILE_LEVELS, hi=TILE_LEVELS + outermost, hold=hold)
    dims = flat.extents(to.extents(node, x))
    made = to.link(node, f"{port}_{flat.kind}", x, dims)
    to.unit(f"{node.name}_{port}_{flat.kind}", flat, x=to.input(node, index), y=made)
    return taken(node, to, params, port, x, made, dims)
