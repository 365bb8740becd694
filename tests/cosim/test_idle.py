"""Empty FIFOs of a simulated design show junk, and whoever uses it is found."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice

import pytest
from icarus import needs_icarus
from put_back import put_back

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.idle import noisy
from stepgen.emit.elaborate import verilog
from stepgen.emit.wraps import FAMILIES
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare_all
from stepgen.fuzz.draw import case, cases
from stepgen.hw.primitives.device import GENERIC
from stepgen.ir.errors import StepError


def texts() -> Iterator[str]:
    """The Verilog of drawn programs, of those that have a design."""
    for number in count():
        with suppress(StepError):
            design = case(31, number)[0].experiment().design
            yield verilog(design, probes=True, initial=False)


def check_heads(text: str) -> None:
    """Check that the head of every FIFO shows junk."""
    stores = re.findall(r"^module \S+\.store +\(", text, re.MULTILINE)
    noise = re.findall(
        r"assign r__payload = r__valid \|\| !stepgen_bench\.set_junk \?", noisy(text)
    )
    assert len(noise) == len(stores) > 0


@pytest.mark.slow
def test_the_head_of_every_fifo_shows_junk() -> None:
    for text in islice(texts(), 6):
        check_heads(text)


@pytest.mark.parametrize("family", [GENERIC.family, *FAMILIES])
def test_it_does_in_every_memory_of_a_family(family) -> None:
    """Registers, LUT RAM, and block RAM of widths with blocks of several shapes."""
    g = sg.Graph("memories")
    depths = {}
    for depth, width in ((2, 8), (9, 8), (40, 9), (700, 1), (3000, 2)):
        x = g.input(f"x{depth}", sg.int8[1, width], (3,))
        g.output(x.promote(), f"y{depth}")
        depths[f"x{depth}"] = depth
    design = lower(g, depths=depths, lanes=2)
    assert {c.memory for c in design.channels} == {"registers", "lutram", "blockram"}
    check_heads(verilog(design, probes=True, initial=False, family=family))


@pytest.fixture
def wrong() -> Iterator[None]:
    with put_back("Expand looks at the kind of a payload whose valid is low"):
        yield


def expanding(most: int) -> list[list[Case]]:
    """Drawn programs with Expand, with several runs each, in which empty FIFOs show junk."""
    drawn = (cases(31, number, runs=3)[0] for number in range(1000))
    some = (one for one in drawn if any(n.op == "expand" for n in one[0].graph.nodes))
    return [[dataclasses.replace(run, junk=True) for run in one] for one in islice(some, most)]


@pytest.mark.slow
@pytest.mark.usefixtures("wrong")
def test_what_a_unit_uses_while_it_is_not_valid_is_found() -> None:
    assert any(v.status == "failed" for one in expanding(5) for v in compare_all(one))


@pytest.mark.slow
@needs_icarus
@pytest.mark.usefixtures("wrong")
def test_what_a_unit_uses_while_it_is_not_valid_is_x() -> None:
    for runs in expanding(5):
        one = [dataclasses.replace(run, simulator="icarus", junk=False) for run in runs]
        if any(" is X " in verdict.says for verdict in compare_all(one)):
            return
    pytest.fail("no X")


@pytest.mark.slow
def test_without_the_mistake_all_agree() -> None:
    for one in expanding(1):
        assert [v.says for v in compare_all(one) if v.status == "failed"] == []
