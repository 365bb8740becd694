"""Netlists are the same in both forms: as a component of Amaranth, and as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from programs import every_unit
from systems import stored
from work import worked

from stepgen.compile.lower import lower
from stepgen.hw import private
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.counting import NONE, UNITS
from stepgen.hw.design.sharing import SHARED
from stepgen.hw.design.table import Design
from stepgen.hw.library import Library
from stepgen.hw.names import verilog_name
from stepgen.hw.netlist import Netlist, Placed, flat
from stepgen.hw.primitives import GENERIC, Device
from stepgen.program.program import load

WIRE = re.compile(r"  wire width (\d+) ((?:in|out)put \d+ +)?\\(\S+)")
WORDS = re.compile(r"\{|\}|\d+'[01]+|\\\S+(?: \[\d+(?::\d+)?\])?")
Pin = tuple[str, ...]


class Boxes(Library):
    """Modules of which there are only the ports, and the text of netlists."""

    def _made(self, part: Any, name: str) -> tuple[str, dict[str, int]]:
        if isinstance(part, Netlist):
            text, ports = super()._made(part, name)
            return text, ports
        widths = {flat(p): Shape.cast(m.shape).width for p, m, _ in part.signature.flatten(part)}
        return "", {"clk": 1, "rst": 1} | {port: width for port, width in widths.items() if width}


class Wiring:
    """What is connected to what in a module in RTLIL without logic.

    Attributes
    ----------
    kinds : dict of str to str
        Modules by instance.
    nets : set of frozenset of tuple of str
        Of each bit of a net the pins: bits of the module's ports, of instances, and constants.
    """

    def __init__(self, text: str) -> None:
        self.kinds: dict[str, str] = {}
        self._widths: dict[str, int] = {}
        self._joined: dict[Pin, Pin] = {}
        pins: dict[Pin, Pin] = {}
        cell = ""
        for line in text.splitlines():
            words = line.split()
            if found := WIRE.match(line):
                name, width = found[3], int(found[1])
                self._widths[name] = width
                if found[2]:
                    pins |= {("", name, str(n)): (name, str(n)) for n in range(width)}
            elif words[:1] == ["cell"]:
                cell = words[2].partition("$")[0]  # a number where a wire has the name
                self.kinds[cell] = words[1]
            elif line.startswith("    connect"):
                bits = [*self._bits(line.partition(words[1])[2])]
                pins |= {(cell, words[1], str(n)): bit for n, bit in enumerate(bits)}
            elif line.startswith("connect"):
                self._join(line)
            else:
                assert words[:1] in ([], ["module"], ["end"], ["attribute"]), line
        nets: dict[Pin, set[Pin]] = {}
        for pin, bit in pins.items():
            nets.setdefault(self._net(bit), {self._net(bit)} if len(bit) == 1 else set()).add(pin)
        self.nets = {frozenset(net) for net in nets.values()}

    def _join(self, line: str) -> None:
        """Make two lists of bits, which stand behind each other, the same nets."""
        bits = [*self._bits(line)]
        half = len(bits) // 2
        # What stands to the left is listed last, since the highest bits come first.
        for one, other in zip(bits[:half], bits[half:], strict=True):
            one, other = self._net(one), self._net(other)
            if one != other:
                constant = len(one) == 1
                self._joined[other if constant else one] = one if constant else other

    def _bits(self, text: str) -> Iterator[Pin]:
        """Bits of nets, the lowest first."""
        for word in reversed(WORDS.findall(text)):
            if word in "{}":
                continue
            if word[0] != "\\":
                yield from ((bit,) for bit in reversed(word.partition("'")[2]))
                continue
            name, _, where = word[1:].partition(" [")
            high, _, low = where.rstrip("]").partition(":")
            first = int(low or high or 0)
            last = int(high or self._widths[name] - 1)
            yield from ((name, str(bit)) for bit in range(first, last + 1))

    def _net(self, bit: Pin) -> Pin:
        while bit in self._joined:
            bit = self._joined[bit]
        return bit


@cache
def moe(**settings: str) -> Design:
    return lower(load("moe", {"experts": "2", **settings}, draw=False).graph)


DESIGNS = {
    "dynamic": lambda: moe(),
    "static": lambda: moe(tiling="static"),
    "counters of units": lambda: replace(moe(), counters=UNITS),
    "no counters": lambda: replace(moe(), counters=NONE),
    "every unit": lambda: lower(every_unit()),
    "shared loaders": lambda: lower(load("moe", {"experts": "2"}).graph, loaders=SHARED),
    "a link": lambda: stored({"first": 2, "second": 4}).design(),
}


@pytest.mark.parametrize(
    ("name", "device"), [*((name, "generic") for name in DESIGNS), ("dynamic", "ecp5")]
)
def test_the_text_is_what_amaranth_makes(name: str, device: str) -> None:
    design, platform = DESIGNS[name](), Device(device)
    library = Boxes("x", platform)
    own = Accelerator(design, part=library.instance)
    text, ports = own.submodule("x_accelerator", library.placed, platform)
    wired, made = Wiring(text), Wiring(private.module(own, "x_accelerator", platform))
    assert made.kinds == wired.kinds
    assert made.nets == wired.nets
    assert len(wired.kinds) > len(design.units) + len(design.channels)
    assert {pin[1:] for net in wired.nets for pin in net if pin[0] == ""} == {
        (port, str(bit)) for port, width in ports.items() for bit in range(width)
    }


def test_most_work_is_for_kinds_not_for_parts() -> None:
    """The work grows with the number of parts, and not faster."""
    calls = []
    for experts in ("8", "32"):
        own = Accelerator(moe(experts=experts))
        library = Boxes("x", GENERIC)
        library.instance(own, "accelerator", None)
        calls.append(worked(lambda a=own, lib=library: a.submodule("x", lib.placed, GENERIC))[1])
    assert calls[1] < 4 * calls[0]


def test_names_of_the_circuit_are_those_of_no_unit() -> None:
    circuit = Accelerator(moe())
    private.reused(circuit)
    taken = [name for name in dir(circuit) if not name.startswith("_")]
    assert {"reporting", "submodule", "cycle"} <= {*taken}
    own = {verilog_name(unit.name) for unit in moe().units}
    assert {name for name in taken if verilog_name(name) == name} <= own


class Inverter(wiring.Component):
    def __init__(self) -> None:
        super().__init__({"a": In(2), "y": Out(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.y.eq(~self.a)
        return m


class Pair(Netlist):
    """Two inverters, one behind the other."""

    def __init__(self) -> None:
        super().__init__({"x": In(2), "z": Out(3)})

    def _parts(self, platform: object) -> Iterator[Placed]:
        yield Placed("first", Inverter, "inverter", None, {"a": "x", "y": "middle"})
        yield Placed("second", Inverter, "inverter", None, {"a": "middle", "y": "z"})


class Halves(Netlist):
    """An inverter of whose two bits one is used."""

    def __init__(self) -> None:
        super().__init__({"x": In(2), "z": Out(1)})

    def _parts(self, platform: object) -> Iterator[Placed]:
        yield Placed("only", Inverter, "inverter", None, {"a": "x", "y": ("z", "unused")})


def test_nets_that_nothing_reads_are_there() -> None:
    halves = Halves()
    private.reused(halves)
    text, ports = halves.submodule("halves", Boxes("x", GENERIC).placed, GENERIC)
    assert "\n  wire width 1 \\unused\n" in text
    assert "    connect \\y { \\unused \\z }\n" in text
    assert ports == {"clk": 1, "rst": 1, "x": 2, "z": 1}


def test_a_net_is_as_wide_as_all_ports_at_it() -> None:
    pair = Pair()
    private.reused(pair)
    with pytest.raises(ValueError, match="y of second has 2 bits, its net z 3"):
        pair.submodule("pair", Boxes("x", GENERIC).placed, GENERIC)
