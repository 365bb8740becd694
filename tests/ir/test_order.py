"""Two uses of one tensor need a dependence that orders them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest

import stepgen as sg
from stepgen.ir.operator import operators

TILE = (4, 8)


def _load(x: sg.Stream, _: sg.Stream, t: sg.Tensor) -> None:
    sg.linear_offchip_load(t, tile=TILE, shape=(2,), stride=(1,), ref=x)


def _store(x: sg.Stream, _: sg.Stream, t: sg.Tensor) -> None:
    sg.linear_offchip_store(x, t)


def _fetch(_: sg.Stream, at: sg.Stream, t: sg.Tensor) -> None:
    at.random_offchip_load(t, tile=TILE)


def _put(x: sg.Stream, at: sg.Stream, t: sg.Tensor) -> None:
    at.random_offchip_store(x, t, tile=TILE)


USES: dict[str, Callable[[sg.Stream, sg.Stream, sg.Tensor], None]] = {
    "linear_offchip_load": _load,
    "linear_offchip_store": _store,
    "random_offchip_load": _fetch,
    "random_offchip_store": _put,
}


def uses(first: str, second: str, *, apart: bool) -> None:
    """A program in which both operators use a tensor, the same or one each."""
    g = sg.Graph("g")
    x, at = g.input("x", sg.int8[TILE], (2,)), g.input("at", sg.address[1, 1], (2,))
    t = g.tensor("t", (8, 8), sg.int8)
    other = g.tensor("u", (8, 8), sg.int8) if apart else t
    USES[first](x, at, t)
    USES[second](x, at, other)


@pytest.mark.parametrize(("first", "second"), [*product(USES, USES)])
def test_which_operators_may_use_a_tensor_beside_a_linear_store(first: str, second: str) -> None:
    uses(first, second, apart=True)
    if "linear_offchip_store" not in (first, second):
        uses(first, second, apart=False)
        return
    with pytest.raises(sg.StepError) as error:
        uses(first, second, apart=False)
    message = f"{second} at test_order.py:\\d+: {first}_0 at test_order.py:\\d+ uses tensor t too"
    assert re.match(message, str(error.value)), error.value


def test_the_rule_covers_every_operator_with_a_tensor() -> None:
    assert {name for name in operators() if "offchip" in name} == USES.keys()
