"""Modules around a design: names of streams meet none of theirs, and nothing is undefined."""

from __future__ import annotations

import re

import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.emit.wrap import wrapper
from stepgen.emit.wraps import WRAPS


def wrapped(name: str, wrap: str) -> str:
    """The wrapper of a design with a stream of some name, and a memory."""
    g = sg.Graph("wrapped")
    x = g.input(name, sg.int8[1, 8], (4,))
    w = g.tensor("w", (1, 8), sg.int8)
    g.output(x.map(sg.fn.add(), w_of(w, x)), "y")
    return wrapper(lower(g), wrap)[1]


def w_of(w: sg.Tensor, x: sg.Stream) -> sg.Stream:
    return sg.linear_offchip_load(w, tile=(1, 8), shape=(1,), stride=(1,), ref=x).flatten(0, 1)


def declared(text: str) -> list[str]:
    """All names of wires and registers, ports included."""
    code = re.sub(r"//.*", "", text)
    found = []
    for line in re.findall(r"^\s*(?:input|output)?\s*(?:wire|reg)\b([^;]*?)[;,]?$", code, re.M):
        body = re.sub(r"\[[^]]*\]|^\s*reg\b|=[^,]*", "", line)
        found += [part.strip() for part in body.split(",") if part.strip()]
    return found


@pytest.mark.parametrize("wrap", some_slow(WRAPS, 1))
def test_streams_may_be_called_as_anything_in_a_wrapper(wrap: str) -> None:
    """Whatever a name of the wrapper begins with, up to an underscore, and each name as a whole."""
    known = declared(wrapped("x", wrap))
    assert len(known) > 30
    starts = {name.rpartition("_")[0] for name in known} | {*known}
    for name in sorted({start for start in starts if start.isidentifier() and start != "y"}):
        names = declared(wrapped(name, wrap))
        assert len(names) == len(set(names)), f"{name}: {sorted(names)}"


def test_registers_of_the_wishbone_wrapper_have_values_before_a_reset() -> None:
    """Those that say what it does; data are looked at when they are there."""
    text = wrapped("x", "wishbone")
    reset = re.findall(r"^ +(\w+) <= 1'b0;$|^ +(\w+) <= IDLE;$", text, re.MULTILINE)
    for name in {one or other for one, other in reset}:
        assert re.search(rf"^    {name} = (1'b0|IDLE);$", text, re.MULTILINE), name
