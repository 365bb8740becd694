"""Drawings show what the code says."""

from __future__ import annotations

import re

import pytest

import stepgen as sg
from stepgen.ir.converter import converter
from stepgen.pages import drawings

ORDERS = [
    "itensor<4x2xf32, iter_space [4, 2]*[2, 4], iter_map (d0, d1) -> (d1, d0)>",
    "itensor<4x2xf32, iter_space [4, 2, 2]*[2, 1, 4], iter_map (d0, d1, d2) -> (d2, d0)>",
    "itensor<4x2xf32, iter_space [2, 4]*[4, 2], iter_map (d0, d1) -> (d0, d1)>",
    "itensor<4x2xf32, iter_space [3, 4, 2]*[1, 2, 4], iter_map (d0, d1, d2) -> (d2, d1)>",
]


@pytest.mark.parametrize("source", ORDERS[:3])
@pytest.mark.parametrize("target", ORDERS)
def test_tiles_move_in_the_cycles_of_the_converter(source: str, target: str) -> None:
    least = converter(sg.Itensor.parse(source), sg.Itensor.parse(target))
    if least is None:
        assert source == target
        return
    into, out = drawings.tile_cycles(least)
    assert (out[0], out[-1] + 1) == least.cycles()
    assert len(into) == len({*into}) == len([*least.source.offsets()])
    assert len(out) == len({*out}) == len([*least.target.offsets()])
    per_half, read = len(into) // least.segments, len(out) // least.segments
    for number in range(2, least.segments):
        before = out[(number - 1) * read - 1]
        assert into[number * per_half] > before, "a half that is still read is not written"


def test_the_drawing_of_time_stamps_has_the_cycles_of_a_run() -> None:
    depth = 5
    run = drawings.stamped(depth)
    latency = run.design.channel[drawings.STAMPED].latency
    pushes, pops = (
        moves[drawings.STAMPED] for moves in (run.prediction.pushes, run.prediction.pops)
    )
    assert pushes[depth] == pops[0] + 1, "the arrow from its slot to the beat that takes it"
    assert pops[0] > pushes[0] + latency, "the beat waits"
    drawn = drawings.time_stamps(depth)
    assert f"visible from {pushes[0]} + {latency} on" in drawn
    assert f"slot free from {pops[0]} + 1 on" in drawn


def test_the_drawing_of_orders_has_each_tile_at_its_places() -> None:
    drawn = drawings.orders()
    texts = re.findall(r"<tspan[^>]*>([\d, ]+)</tspan>", drawn)
    for order in ORDERS[:2]:
        places: dict[tuple[int, ...], list[str]] = {}
        for number, at in enumerate(sg.Itensor.parse(order).offsets()):
            places.setdefault(at, []).append(str(number))
        assert {", ".join(numbers) for numbers in places.values()} <= {*texts}
