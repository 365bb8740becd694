"""Modules of earlier designs make the same text as modules that are elaborated."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.emit import modules
from stepgen.emit.modules import Modules
from stepgen.fuzz.draw import case
from stepgen.hw import private, verilog
from stepgen.hw.design.table import Design
from stepgen.hw.library import Library
from stepgen.hw.primitives import GENERIC, Device, Multiplier
from stepgen.hw.system import System
from stepgen.hw.verilog import to_verilog
from stepgen.ir.errors import StepError


def drawn(seed: int) -> Iterator[Design]:
    """Designs that share some of their units."""
    for number in range(1000):
        try:
            design = case(seed, number)[0].experiment().design
        except StepError:
            continue
        if len(design.units) < 10:
            yield design


def rtlil(design: Design, *, kept: Modules | None = None) -> str:
    """The text that Verilog is made from."""
    shared = Library(design.name, GENERIC, kept)
    top = private.module(System(design, part=shared.instance), design.name, GENERIC)
    return shared.rtlil + top


@pytest.fixture
def elaborated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kinds of the parts that are elaborated."""
    kinds: list[str] = []
    made = Library._made

    def counted(self: Library, part: Any, name: str) -> Any:
        kinds.append(type(part).__name__)
        return made(self, part, name)

    monkeypatch.setattr(Library, "_made", counted)
    return kinds


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_kept_modules_make_the_same_text(seed: int, tmp_path: Path, elaborated: list[str]) -> None:
    designs = [design for design, _ in zip(drawn(seed), range(4), strict=False)]
    plain = [rtlil(design) for design in designs]
    needed = len(elaborated)
    elaborated.clear()
    assert [rtlil(design, kept=Modules(tmp_path)) for design in designs] == plain
    assert 0 < len(elaborated) < needed, "designs share the smallest FIFOs"
    elaborated.clear()
    again = [rtlil(design, kept=Modules(tmp_path)) for design in reversed(designs)]
    assert again[::-1] == plain
    assert not elaborated


def test_files_that_are_broken_are_made_again(tmp_path: Path, elaborated: list[str]) -> None:
    design = next(drawn(3))
    right = rtlil(design, kept=Modules(tmp_path))
    whole = {file: file.read_bytes() for file in tmp_path.glob("*.json")}
    damages = (b"", b"{}", b"[]", b"null", b"7", b'"text"', b"[" * 100_000, b"\xff\xfe")
    for number, (file, content) in enumerate(whole.items()):
        cut, zeros = content[: len(content) // 2], bytes(len(content))
        changed = content.replace(b"wire", b"memo")
        file.write_bytes((*damages, cut, zeros, changed, content)[number % 12])
    assert number >= 11
    assert rtlil(design, kept=Modules(tmp_path)) == right
    assert {file: file.read_bytes() for file in whole} == whole


@pytest.mark.slow
def test_verilog_is_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = next(drawn(5))
    right = to_verilog(design)
    assert to_verilog(design, kept=Modules(tmp_path)) == right
    (file,) = (tmp_path / "verilog").iterdir()
    content = file.read_bytes()
    for damaged in (content[:-9], content.replace(b"wire", b"memo"), b"null"):
        file.write_bytes(damaged)
        assert to_verilog(design, kept=Modules(tmp_path)) == right
    other = to_verilog(design, initial=False, kept=Modules(tmp_path))
    assert other == to_verilog(design, initial=False) != right
    monkeypatch.setattr(verilog, "_yosys", None)
    assert to_verilog(design, kept=Modules(tmp_path)) == right


@pytest.mark.slow
def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    design = next(drawn(4))
    (tmp_path / "file").touch()
    assert rtlil(design, kept=Modules(tmp_path / "file" / "x")) == rtlil(design)
    assert to_verilog(design, kept=Modules(tmp_path / "file" / "x")) == to_verilog(design)


class Product(wiring.Component):
    """A part whose memory or multiplier a device has as a block."""

    def __init__(self) -> None:
        super().__init__({"a": In(8), "b": In(8), "y": Out(16)})

    def elaborate(self, platform: Device) -> Module:
        m = Module()
        m.submodules.product = product = Multiplier(8, 8)
        m.d.comb += [product.a.eq(self.a), product.b.eq(self.b), self.y.eq(product.product)]
        return m


def text(family: str, kept: Modules | None) -> str:
    shared = Library("x", Device(family), kept)
    shared.instance(Product(), "product", 8)
    return shared.rtlil


def test_a_device_has_modules_of_its_own(
    tmp_path: Path, elaborated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Product, "__module__", "stepgen.hw.product")
    for family in ("generic", "ecp5"):
        assert text(family, Modules(tmp_path)) == text(family, None)
    assert text("generic", None) != text("ecp5", None)
    elaborated.clear()
    for family in ("generic", "ecp5"):
        text(family, Modules(tmp_path))
    assert not elaborated


def test_circuits_from_elsewhere_are_never_kept(tmp_path: Path, elaborated: list[str]) -> None:
    for _ in range(2):
        elaborated.clear()
        text("generic", Modules(tmp_path))
        assert elaborated == ["Product"]


def test_the_newer_half_stays(tmp_path: Path) -> None:
    kept = Modules(tmp_path, 10)
    for number in range(11):
        kept.put(str(number), {"number": number})
        for file in tmp_path.glob("*.json"):
            os.utime(file, (file.stat().st_mtime - 10,) * 2)
    Modules(tmp_path, 10).put("another", {})
    there = [n for n in range(11) if kept.get(str(n))]
    assert there == [5, 6, 7, 8, 9, 10]


def test_no_modules_are_kept_where_files_are_newer_than_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules.circuits.cache_clear()
    monkeypatch.setattr(modules, "_LOADED", 0.0)
    try:
        assert modules.kept_modules() is None
    finally:
        modules.circuits.cache_clear()
