"""Waveforms that people can read: of a simulator's VCD what belongs to units and channels.

Beats are taken apart into kind, stop level and lanes, and change only where they are valid: what is
drawn for idle wires would be most of the file. The VCD itself has all wires.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from stepgen.cosim.fst import TICKS, Fst, available, writing
from stepgen.hw.design.table import Channel, Design
from stepgen.hw.names import RUN_CONTROL, verilog_name
from stepgen.ir.errors import StepError
from stepgen.ir.wire import BARE, DONE, KIND_BITS, VALUE

KINDS = {VALUE: "value", BARE: "empty", DONE: "done"}
"""What a beat is."""

_BENCH = ("stepgen_bench",)
_DUT = (*_BENCH, "dut")
_INSIDE = (*_DUT, "accelerator")
_FIFO = "fifo_"
_NUMBERS = ("cycle", "level")
_HANDSHAKES = ("w__valid", "w__ready", "r__valid", "r__ready", "level")


class Wire(NamedTuple):
    """A wire of a VCD; several names may have the same code."""

    scope: tuple[str, ...]
    name: str
    code: bytes
    bits: int


@dataclass(frozen=True)
class Window:
    """What is looked at.

    Attributes
    ----------
    first : int
        Cycle with which it begins.
    end : int, optional
        Cycle before which it ends.
    units : collection of str
        Units that are shown, with the channels that they read and write; by default all.
    """

    first: int = 0
    end: int | None = None
    units: Collection[str] = ()


def suffix(units: Collection[str] = ()) -> str:
    """Of a file that is written here: ``.fst``, or ``.vcd`` where pylibfst is not installed.

    Raises
    ------
    StepError
        If units are chosen, which only an FST allows.
    """
    if available():
        return ".fst"
    if units:
        raise StepError(
            "a waveform of chosen units is an FST, which needs pylibfst: pip install pylibfst"
        )
    return ".vcd"


def window(cycles: int | str | None, units: Collection[str], design: Design) -> Window:
    """What is to be looked at.

    Parameters
    ----------
    cycles : int or str, optional
        ``N`` for the first N cycles, ``"A:B"`` for those from A to before B.
    units : collection of str
    design : Design

    Raises
    ------
    StepError
        If a unit does not exist, or `cycles` has another form.
    """
    known = [unit.name for unit in design.units]
    for name in units:
        if name not in known:
            near = get_close_matches(name, known, 3) or known[:8]
            raise StepError(
                f"there is no unit {name!r} in {design.name} for the waveform, such as "
                f"{', '.join(near)}"
            )
    if cycles is None:
        return Window(units=units)
    first, end = span(cycles)
    return Window(first, end, units)


def span(cycles: int | str) -> tuple[int, int]:
    """The first of some cycles and that behind them.

    Raises
    ------
    StepError
        If the text does not say a number or a range of cycles.
    """
    found = re.fullmatch(r"(?:(\d{1,18}):)?(\d{1,18})", str(cycles), re.ASCII)
    first, end = (int(found[1] or 0), int(found[2])) if found else (0, 0)
    if first >= end:
        raise StepError(
            f"cycles of a waveform are N, for the first N, or A:B, with A below B, not {cycles!r}"
        )
    return first, end


def convert(vcd: Path, target: Path, design: Design, what: Window) -> None:
    """Make an FST of a VCD.

    Parameters
    ----------
    vcd : Path
        From a test bench of the design.
    target : Path
    design : Design
    what : Window
        A run without these cycles leaves a waveform of all of it, and one that does not start of
        what there is.
    """
    for first, end in ((what.first, what.end), (0, None), (None, None)):
        with vcd.open("rb") as file, writing(target) as fst:
            shown = _Shown(fst, [*_wires(file)], design, what.units)
            if _play(file, shown, first, end):
                return


def _wires(file: IO[bytes]) -> Iterator[Wire]:
    """The wires of the header, which is read."""
    scope: list[str] = []
    for line in file:
        words = line.decode().split()
        if not words:
            continue
        if words[0] == "$scope":
            scope.append(words[2].strip("\\"))
        elif words[0] == "$upscope":
            scope.pop()
        elif words[0] == "$var":
            yield Wire(tuple(scope), words[4].strip("\\"), words[3].encode(), int(words[2]))
        elif words[0] == "$enddefinitions":
            return


def _play(file: IO[bytes], shown: _Shown, first: int | None, end: int | None) -> bool:
    """Write the changes from a cycle on, or all; whether there were any."""
    clock, edges, start, began = b"0", 0, 0, first is None
    now: dict[bytes, bytes] = {}
    step: dict[bytes, bytes] = {}
    for line in _changes(file):
        if line is not None:
            step[line[1]] = line[0]
            continue
        now |= step
        edge = now.get(shown.clock, b"0")
        edges += edge > clock
        clock = edge
        if not began:
            # Not from a cycle above: registers hold drawn values until they are reset.
            if now.get(shown.running) != b"1" or _number(now, shown.cycle) != first:
                step.clear()
                continue
            began, start, step = True, edges, dict(now)
        cycle = (first or 0) + edges - start
        if end is not None and cycle >= end:
            break
        shown.show(TICKS * cycle + (TICKS // 2) * (clock != b"1"), step)
        step = {}
    return began


def _number(now: Mapping[bytes, bytes], code: bytes) -> int:
    bits = now.get(code, b"0")
    return int(bits, 2) if bits.strip(b"01") == b"" else 0


def _changes(file: Iterable[bytes]) -> Iterator[tuple[bytes, bytes] | None]:
    """Bits and codes; None where a time ends."""
    for line in file:
        head = line[:1]
        if head in b"01xzXZ":
            yield head, line[1:].strip()
        elif head in b"bB":
            bits, code = line[1:].split()
            yield bits, code
        elif head == b"#":
            yield None
    yield None


@dataclass
class _Head:
    """The beat that a channel offers."""

    payload: bytes = b""
    valid: bool = False
    shown: bytes = b""
    parts: list[tuple[slice, Callable[[bytes], None]]] = field(default_factory=list)
    last: list[bytes] = field(default_factory=list)


class _Shown:
    """Which wires become which variables."""

    def __init__(self, fst: Fst, wires: list[Wire], design: Design, units: Collection[str]) -> None:
        self._fst = fst
        self._kinds = fst.names("kind", KINDS, KIND_BITS)
        self._plain: dict[bytes, dict[int, int]] = {}  # of each wire, by bits, the variable
        self._heads: dict[bytes, list[tuple[_Head, bool]]] = {}
        scopes: dict[tuple[str, ...], list[Wire]] = {}
        for wire in wires:
            scopes.setdefault(wire.scope, []).append(wire)
        own = {wire.name: wire for wire in scopes.get(_BENCH, ())}
        self.clock, self.running, self.cycle = (
            own[name].code if name in own else b"" for name in ("clk", "running", "cycle")
        )
        names = {unit.name for unit in design.units if not units or unit.name in units}
        ends = {
            channel
            for unit in design.units
            if unit.name in names
            for channel in (*unit.inputs.values(), *unit.outputs.values())
        }
        payloads = {
            wire.code
            for scope, inside in scopes.items()
            if len(scope) > len(_INSIDE) and scope[len(_INSIDE)].startswith(_FIFO)
            for wire in inside
            if wire.name.endswith("__payload")
        }
        with fst.scope(design.name):
            for name in ("clk", "running", "cycle", "done", "error"):
                if name in own:
                    self._wire(own[name])
            with fst.scope("ports"):
                for wire in scopes.get(_DUT, ()):
                    if wire.bits == 1 and wire.name.endswith(("valid", "ready", "last")):
                        self._wire(wire)
            with fst.scope("channels"):
                for channel in design.channels:
                    inside = scopes.get((*_INSIDE, f"{_FIFO}{channel.name}"), [])
                    if channel.name in ends and inside:
                        self._channel(channel, {wire.name: wire for wire in inside})
            called = {str(verilog_name(one.name)): one.name for one in design.units}
            with fst.scope("units"):
                for scope, inside in scopes.items():
                    unit = scope[-1] if scope else ""
                    if scope[:-1] == _INSIDE and _is_of(unit, names, all_of=not units):
                        with fst.scope(called.get(unit, unit)):
                            for wire in sorted(inside, key=_is_no_handshake):
                                if wire.code not in payloads and _is_state(wire):
                                    self._wire(wire)

    def show(self, ticks: int, step: Mapping[bytes, bytes]) -> None:
        """What changed at a time."""
        fst = self._fst
        fst.time(ticks)
        heads = []
        for code, bits in step.items():
            for width, number in self._plain.get(code, {}).items():
                fst.bits(number, bits if len(bits) == width else _filled(bits, width))
            for head, is_valid in self._heads.get(code, ()):
                if is_valid:
                    head.valid = bits == b"1"
                else:
                    head.payload = bits
                heads.append(head)
        for head in heads:
            if head.valid and head.payload != head.shown:
                self._beat(head)

    def _beat(self, head: _Head) -> None:
        """The parts of a beat that are not those of the one before."""
        payload = _filled(head.payload, head.parts[0][0].stop) if head.parts else b""
        for at, (part, put) in enumerate(head.parts):
            bits = payload[part]
            if bits != head.last[at]:
                head.last[at] = bits
                put(bits)
        head.shown = head.payload

    def _wire(self, wire: Wire) -> None:
        """A wire as a variable; one that counts has no sign, so that a zero goes before it."""
        counts = wire.name in _NUMBERS
        make, bits = (self._fst.integer if counts else self._fst.wire), wire.bits + counts
        known = self._plain.setdefault(wire.code, {})
        number = make(wire.name, bits, alias=known.get(bits, 0))
        known.setdefault(bits, number)

    def _channel(self, channel: Channel, inside: Mapping[str, Wire]) -> None:
        fst, head = self._fst, _Head()
        with fst.scope(channel.name):
            for name in _HANDSHAKES:
                if name in inside:
                    self._wire(inside[name])
            payload, valid = inside.get("r__payload"), inside.get("r__valid")
            if payload is None or valid is None:
                return
            whole = payload.bits
            if channel.rank is None or channel.width != whole:
                parts = [(slice(0, whole), self._bits(fst.wire("word", whole)))]
            else:
                parts = self._parts(channel, whole)
            head.parts, head.last = parts, [b""] * len(parts)
            self._heads.setdefault(payload.code, []).append((head, False))
            self._heads.setdefault(valid.code, []).append((head, True))

    def _parts(self, channel: Channel, whole: int) -> list[tuple[slice, Callable[[bytes], None]]]:
        """Kind, stop level and lanes of a beat: where they are in its bits, the highest first."""
        fst, at, found = self._fst, KIND_BITS, []
        kind = fst.wire("kind", KIND_BITS, names=self._kinds)
        found.append((slice(whole - KIND_BITS, whole), self._bits(kind)))
        if channel.stop_bits:
            put = self._number("stop", channel.stop_bits)
            found.append((slice(whole - at - channel.stop_bits, whole - at), put))
            at += channel.stop_bits
        read = _FLOATS.get(channel.element)
        signed = channel.element.startswith("int") or (not channel.element and channel.bits > 1)
        for lane in range(channel.lanes):
            place = slice(whole - at - channel.bits, whole - at)
            at += channel.bits
            if read is None and signed:
                number = fst.integer(f"lane_{lane}", channel.bits)
                found.append((place, self._bits(number)))
            elif read is None:
                found.append((place, self._number(f"lane_{lane}", channel.bits)))
            else:
                number = fst.real(f"lane_{lane}")
                found.append((place, partial(self._float, number, read)))
        return found

    def _bits(self, number: int) -> Callable[[bytes], None]:
        return partial(self._fst.bits, number)

    def _number(self, name: str, bits: int) -> Callable[[bytes], None]:
        """A variable for a number without a sign."""
        number = self._fst.integer(name, bits + 1)
        return lambda value: self._fst.bits(number, _filled(value, bits + 1))

    def _float(self, number: int, read: Callable[[int], float], bits: bytes) -> None:
        known = bits.strip(b"01") == b""
        self._fst.double(number, read(int(bits, 2)) if known else float("nan"))


def _filled(bits: bytes, width: int) -> bytes:
    """All bits of a number whose leading ones a simulator may leave out."""
    fill = bits[:1] if bits[:1] in b"xzXZ" else b"0"
    return bits.rjust(width, fill)


def _f32(bits: int) -> float:
    return float(struct.unpack("<f", bits.to_bytes(4, "little"))[0])


_FLOATS: dict[str, Callable[[int], float]] = {"f32": _f32, "bf16": lambda bits: _f32(bits << 16)}


def _is_no_handshake(wire: Wire) -> bool:
    return not wire.name.endswith(("__valid", "__ready"))


def _is_state(wire: Wire) -> bool:
    """Whether a wire is neither a clock nor one of the many stages of a delay."""
    return wire.name.partition("$")[0] not in ("clk", "rst", "delayed")


def _is_of(scope: str, units: Collection[str], *, all_of: bool) -> bool:
    """Whether a scope is that of a unit, or of what stands at its outputs."""
    if scope.startswith(_FIFO) or scope == RUN_CONTROL:
        return False
    names = [str(verilog_name(name)) for name in units]
    return all_of or any(
        scope in (name, f"epilogue_{name}") or scope.startswith(f"restop_{name}_") for name in names
    )
