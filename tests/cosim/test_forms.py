"""Bits that mean nothing are zero in every beat of every channel, also where no port shows them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from icarus import needs_icarus
from put_back import put_back
from seeds import others_slow

import stepgen as sg
from stepgen.cosim.forms import Formed, formed
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare
from stepgen.hw.design.table import Channel


def padded() -> Case:
    """Flags of padding, a reference of structure alone, and empty groups."""
    g = sg.Graph("padded")
    x = g.input("x", sg.int8[1, 4], (3, sg.ragged("R", bound=3)))
    w = g.tensor("w", (2, 4), sg.int8)
    rows, flags = x.reshape(chunk=2)
    tiles = rows.accum(sg.fn.retile_row(), rank=1)
    g.output(tiles.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=flags), "y")
    g.output(sg.linear_offchip_load(w, tile=(2, 4), shape=(1,), stride=(1,), ref=tiles), "z")
    data = [[np.full((1, 4), 1 + n, np.int8) for n in range(k)] for k in (3, 0, 1)]
    return Case(g, {"x": data, "w": np.ones((2, 4), np.int8)}, lanes=2)


SAID = {
    "the flags of Reshape end": "channel reshape_0_1: cycle",
    "a copy of the structure alone": "channel accum_0_to_linear_offchip_load_0: cycle",
}


@pytest.mark.parametrize("bug", others_slow(SAID, ("a copy of the structure alone",)))
def test_bits_that_mean_nothing_are_found(bug: str) -> None:
    assert compare(padded()).says == ""
    with put_back(bug):
        assert f"protocol violation: {SAID[bug]}" in compare(padded()).says


@needs_icarus
@pytest.mark.slow
def test_they_are_found_with_four_states() -> None:
    with put_back("a copy of the structure alone"):
        verdict = compare(dataclasses.replace(padded(), simulator="icarus"))
    assert "protocol violation" in verdict.says


def holds(form: Formed, kind: int, stop: int, data: int) -> bool:
    """Whether a payload breaks no rule, by Python's reading of the Verilog."""
    payload = kind | stop << 2 | data << form.data
    text = form.wrong("p").replace("||", "or").replace("&&", "and")
    for top in range(form.width):
        for low in range(top + 1):
            value = payload >> low & (1 << top - low + 1) - 1
            text = text.replace(f"|p[{top}:{low}]", str(bool(value)))
            text = text.replace(f"p[{top}:{low}]", str(value))
    return not eval(text)


@pytest.mark.parametrize("lanes", [0, 1, 3])
@pytest.mark.parametrize("rank", [0, 2, 4])
def test_the_rules(lanes: int, rank: int) -> None:
    channel = Channel("c", lanes, 2 if lanes else 0, rank)
    (form,) = formed([channel, Channel("raw", 1, 8, None)])
    assert form.name == "c"
    for kind in range(4):
        for stop in range(1 << channel.stop_bits):
            for data in range(1 << channel.data_bits):
                right = {
                    0: lanes > 0 or data == 0,
                    1: data < 1 << channel.stop_bits,
                    2: stop == data == 0,
                    3: False,
                }[kind]
                assert holds(form, kind, stop, data) == right
