"""Streams of one element against streams of one where there is any: the message's remedies work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import stepgen as sg

fn = sg.fn

ROW = sg.int8[1, 8]
USES: dict[str, Callable[[sg.Stream, sg.Stream], object]] = {
    "map": lambda chunks, y: chunks.accum(fn.retile_row(), rank=1).map(fn.matmul(), y),
    "zip": lambda chunks, y: y.zip(chunks.accum(fn.add(), rank=1)),
    "expand": lambda chunks, y: y.promote(0).expand(chunks, rank=1),
    "streamify": lambda chunks, y: chunks.bufferize(rank=1).streamify(y),
}


def _program(use: str, n: sg.Dim, *, ref: bool = False, selected: bool = False) -> None:
    g = sg.Graph()
    x = g.input("x", ROW, (n,))
    if selected:
        (x,) = sg.partition(x, g.input("gate", sg.Selector(1), (n,)), rank=0)
    chunks = x.promote()
    s = x.promote().accum(fn.count(), rank=1) if ref else None
    weights = g.tensor("w", (8, 8), sg.int8)
    y = sg.linear_offchip_load(weights, tile=(8, 8), shape=(1,), stride=(1,), ref=s)
    USES[use](chunks, y.flatten(0, 1) if ref else y)


@pytest.mark.parametrize("use", USES)
def test_the_remedies_in_the_message_work(use: str) -> None:
    many, positive = sg.dynamic("n", bound=8), sg.dynamic("n", bound=8, positive=True)
    declared = "declare n with positive=True if it never is, or "
    load = (
        "load the other stream with ref=s, where s has shape [min(1, {0})], as has "
        "x.promote().accum(fn.count(), rank=1)"
    )
    with pytest.raises(sg.StepError) as caught:
        _program(use, many)
    end = f": where n is 0 there is none; {declared}{load.format('n')}"
    assert str(caught.value).endswith(end)
    _program(use, positive)
    _program(use, many, ref=True)
    # How many a selector chooses, no declaration says.
    with pytest.raises(sg.StepError) as caught:
        _program(use, positive, selected=True)
    assert str(caught.value).endswith(f": where E0 is 0 there is none; {load.format('E0')}")
    _program(use, positive, selected=True, ref=True)


def test_other_differences_get_no_such_hint() -> None:
    g = sg.Graph()
    x, y = (g.input(name, ROW, (extent,)) for name, extent in (("x", 1), ("y", "n")))
    with pytest.raises(sg.StepError, match=r"dim D0, 1 against n$"):
        x.zip(y)
