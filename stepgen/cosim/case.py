"""Cases of a co-simulation: inputs, expected outputs and predicted cycles."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from stepgen.cosim.payload import Rows
from stepgen.cosim.record import Cycles
from stepgen.emit.interface import Interface
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls

Image = npt.NDArray[np.uint8]
"""Bytes of the off-chip memory, window after window."""

Mask = npt.NDArray[np.bool_]
"""A property of each byte of an image."""

UNKNOWN = "unknown.txt"
"""File of a case: the X that ended its run."""


@dataclass(frozen=True)
class Refusals:
    """Transfers of a run that the off-chip memory performs, but answers with an error.

    Parameters
    ----------
    read : int
        Which of the bus words that are read, counted from 1; 0 for none.
    write : int
        Which of the bursts that are written, counted from 1; 0 for none.
    response : "SLVERR" or "DECERR"
    earlier : bool
        Whether the runs before the checked one have them, instead of that one.
    """

    read: int = 0
    write: int = 0
    response: Literal["SLVERR", "DECERR"] = "SLVERR"
    earlier: bool = False

    CODES: ClassVar = {"SLVERR": 2, "DECERR": 3}


@dataclass(frozen=True)
class Case:
    """One run of a design.

    Expectations that are None or missing are not checked.

    Parameters
    ----------
    name : str
        For messages.
    sources : mapping of str to uint8 array of shape [beats, bytes of a payload]
        Payloads of each input stream, ``DONE`` included.
    expected : mapping of str to uint8 array of shape [beats, bytes of a payload]
        Expected payloads of each output stream.
    memory : uint8 array or None
        Contents of the off-chip memory before the run; None for a design without.
    memory_after : uint8 array or None
        Expected contents after the run, as long as `memory`.
    timing : MemoryTiming
    stalls : Stalls
    pushes, pops : mapping of str to int64 array
        Predicted cycles, by the names of `Interface.recorded`.
    cycles : int or None
        Predicted length of the run.
    counters : int array of shape [channels, 3] or None
        Predicted `registers.COUNTERS` of each channel.
    read_beats, write_beats : int or None
        Predicted beats on the memory bus.
    limit : int
        Cycle in which a run is aborted.
    judge : bool
        Whether cocotbext-axi, an independent AXI model, replaces the simulated memory: then values
        and memory are checked, cycles are not.
    early : tuple of str
        Sources that offer their beats before the start, and the next run's after their ``DONE``.
    aborts : tuple of int
        Cycles in which runs before the one that is checked, without a reset between, are aborted
        by a soft reset, unless they have ended before.
    refusals : Refusals
    error, detail : int
        Expected error code, 0 for none, and contents of the register ``detail``.
    stops : bool
        Whether the run does not end, but stands in that error until `limit`.
    junk : bool
        Whether FIFOs of the design that are empty show junk; see `stepgen.cosim.idle`.
    undefined, undefined_after : bool array or None
        For a four-state simulator: the bytes of the memory that are X before the run, as none
        of them is written yet, and those that must be X after it.
    """

    name: str
    sources: Mapping[str, Rows] = field(default_factory=dict)
    expected: Mapping[str, Rows] = field(default_factory=dict)
    memory: Image | None = None
    memory_after: Image | None = None
    timing: MemoryTiming = field(default_factory=MemoryTiming)
    stalls: Stalls = field(default_factory=Stalls)
    pushes: Mapping[str, Cycles] = field(default_factory=dict)
    pops: Mapping[str, Cycles] = field(default_factory=dict)
    cycles: int | None = None
    counters: npt.NDArray[np.int64] | None = None
    read_beats: int | None = None
    write_beats: int | None = None
    limit: int = 1_000_000
    judge: bool = False
    early: tuple[str, ...] = ()
    aborts: tuple[int, ...] = ()
    refusals: Refusals = field(default_factory=Refusals)
    error: int = 0
    detail: int = 0
    stops: bool = False
    junk: bool = False
    undefined: Mask | None = None
    undefined_after: Mask | None = None

    def compared(self, *, predicted: bool) -> dict[str, int]:
        """Number of compared values, cycles, bytes and counters."""
        counted = {
            "values": sum(map(len, self.expected.values())),
            "cycles": sum(map(len, self.pushes.values())) + sum(map(len, self.pops.values())),
            "memory": 0 if self.memory_after is None else self.memory_after.size,
            "counters": 0 if self.counters is None else self.counters.size,
        }
        return counted if predicted else {what: counted[what] for what in ("values", "memory")}


_GROUPS = ("sources", "expected", "pushes", "pops")
_ARRAYS = ("memory", "memory_after", "undefined", "undefined_after", "counters")
_NUMBERS = (
    "name",
    "cycles",
    "read_beats",
    "write_beats",
    "limit",
    "judge",
    "early",
    "aborts",
    "error",
    "detail",
    "stops",
    "junk",
)


_KNOWN = str.maketrans("xX", "00")
_IS_X = str.maketrans("0123456789abcdefxX", "0" * 16 + "11")


def _check(case: Case, interface: Interface) -> None:
    def fail(what: str) -> None:
        raise StepError(f"case {case.name} of {interface.name}: {what}")

    widths = {p.name: p.payload_bytes for p in interface.ports}
    for port in interface.sources:
        if port.name not in case.sources:
            fail(f"no beats are given for the port {port.name}")
    for group, ports in (("sources", interface.sources), ("expected", interface.sinks)):
        for name, rows in getattr(case, group).items():
            if name not in {p.name for p in ports}:
                fail(f"there is no port {name} among the {group}")
            if rows.ndim != 2 or rows.dtype != np.uint8 or rows.shape[1] != widths[name]:
                fail(
                    f"port {name} takes uint8 payloads of shape [beats, {widths[name]}], "
                    f"not {rows.dtype} of shape {list(rows.shape)}"
                )
    for name in case.early:
        if name not in {p.name for p in interface.sources}:
            fail(f"there is no port {name} that could offer beats early")
    if (case.early or case.aborts) and not interface.control:
        fail("without control registers there is one run, whose streams are not closed")
    if case.judge and case.refusals != Refusals():
        fail("the independent memory answers nothing with an error")
    for name in (*case.pushes, *case.pops):
        if name not in interface.recorded:
            fail(f"there is no channel {name}")
    if interface.memory and case.memory is not None and case.memory.size > interface.memory.size:
        fail(
            f"a memory image of {case.memory.size} bytes does not fit into the simulated memory of "
            f"{interface.memory.size} bytes"
        )
    if case.memory_after is not None and (
        case.memory is None or case.memory_after.size != case.memory.size
    ):
        fail("the memory after the run must be as long as the memory before")


def write_cases(folder: Path, interface: Interface, cases: Sequence[Case]) -> None:
    """Make a run folder (layout: ``docs/run-folder.md``); an earlier one is replaced.

    Raises
    ------
    StepError
        Where a case does not fit the interface, or the folder holds something else; an earlier
        folder is unchanged then.
    """
    for case in cases:
        _check(case, interface)
    if (folder / "interface.json").exists():
        for old in folder.glob("[0-9]*"):
            shutil.rmtree(old)
    elif folder.exists() and any(p.name.isdigit() for p in folder.iterdir()):
        raise StepError(f"{folder} is not empty and is not a run folder; name another one")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "interface.json").write_text(interface.to_json(), encoding="utf-8")
    for number, case in enumerate(cases):
        place = folder / str(number)
        place.mkdir()
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        for group in _GROUPS:
            for name, rows in getattr(case, group).items():
                arrays[f"{group}/{name}"] = rows
        for name in _ARRAYS:
            if getattr(case, name) is not None:
                arrays[name] = getattr(case, name)
        np.savez(place / "case.npz", allow_pickle=False, **arrays)
        text = {name: getattr(case, name) for name in _NUMBERS}
        text["timing"] = dataclasses.asdict(case.timing)
        text["refusals"] = dataclasses.asdict(case.refusals)
        text["stalls"] = {
            "seed": case.stalls.seed,
            "probability": dict(case.stalls.probability),
            "late": dict(case.stalls.late),
        }
        (place / "case.json").write_text(json.dumps(text, indent=1), encoding="utf-8")
        for name, rows in case.sources.items():
            rows.tofile(place / f"in_{name}.bin")
        if interface.memory and case.memory is not None:
            write_hex(place / "memory.hex", case.memory, interface.memory.word, case.undefined)
        (place / "case.txt").write_text(_driver_text(case, interface), encoding="utf-8")


def cases_in(folder: Path) -> list[int]:
    """Numbers of the cases of a run folder."""
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())


def load_case(folder: Path) -> Case:
    """A case of a run folder, from its own folder."""
    text = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    groups: dict[str, dict[str, npt.NDArray[np.generic]]] = {group: {} for group in _GROUPS}
    single: dict[str, npt.NDArray[np.generic]] = {}
    with np.load(folder / "case.npz", allow_pickle=False) as arrays:
        for key in arrays.files:
            group, _, name = key.partition("/")
            if name:
                groups[group][name] = arrays[key]
            else:
                single[key] = arrays[key]
    timing = MemoryTiming(**text.pop("timing"))
    stalls = Stalls(**text.pop("stalls"))
    text["refusals"] = Refusals(**text["refusals"])
    text |= {name: tuple(text[name]) for name in ("early", "aborts")}
    return Case(**text, **groups, **single, timing=timing, stalls=stalls)  # type: ignore[arg-type]


def settings(case: Case, interface: Interface) -> dict[str, int]:
    """Values of the bench's ``set_*`` ports."""
    values = {"set_junk": int(case.junk)}
    if interface.memory is None:
        return values
    values |= {f"set_{k}": v for k, v in dataclasses.asdict(case.timing).items()}
    size = 0 if case.memory is None else case.memory.size
    values["set_refused_read"] = case.refusals.read
    values["set_refused_write"] = case.refusals.write
    values["set_refusal"] = Refusals.CODES[case.refusals.response]
    values["set_words"] = -(-size // interface.memory.word)
    pairs = [case.stalls.of(name) for name in MEMORY_CHANNELS]
    values["set_stall_keys"] = sum(key << 32 * i for i, (key, _) in enumerate(pairs))
    values["set_stall_thresholds"] = sum(limit << 32 * i for i, (_, limit) in enumerate(pairs))
    return values


def _driver_text(case: Case, interface: Interface) -> str:
    lines = [
        f"limit {case.limit}",
        f"control {int(interface.control)}",
        f"channels {len(interface.channels)}",
        f"aborts {' '.join(map(str, case.aborts))}",
        f"refused_earlier {int(case.refusals.earlier)}",
    ]
    lines += [f"set {name} {value:x}" for name, value in settings(case, interface).items()]
    for port in interface.ports:
        role = "source" if port.direction == "in" else "sink"
        key, threshold = case.stalls.of(port.name)
        expected = len(case.expected.get(port.name, ()))
        lines.append(
            f"{role} {port.name} {port.signal} {port.width} {key} {threshold} {expected} "
            f"{int(port.raw)} {int(port.name in case.early)} {case.stalls.late.get(port.name, 0)}"
        )
    return "\n".join(lines) + "\n"


def write_hex(path: Path, image: Image, word: int, undefined: Mask | None = None) -> None:
    """Write bytes as lines of words for ``$readmemh``; the last word is filled with zeros.

    Bytes that are `undefined` are written as X.
    """
    count = -(-image.size // word)
    padded = np.zeros(count * word, np.uint8)
    padded[: image.size] = image
    digits = np.frombuffer(padded.reshape(count, word)[:, ::-1].tobytes().hex().encode(), np.uint8)
    lines = np.full((count, 2 * word + 1), ord("\n"), np.uint8)
    lines[:, :-1] = digits.reshape(count, 2 * word)
    if undefined is not None:
        holes = np.zeros(count * word, np.bool_)
        holes[: image.size] = undefined
        lines[:, :-1][holes.reshape(count, word)[:, ::-1].repeat(2, axis=1)] = ord("x")
    lines.tofile(path)


def read_hex(path: Path, word: int) -> Image:
    """Read the bytes that ``$writememh`` wrote; digits that are X are 0."""
    return _bytes(_digits(path).translate(_KNOWN), word)


def undefined_in(path: Path, word: int) -> Mask:
    """The bytes with an X in what ``$writememh`` wrote."""
    return _bytes(_digits(path).translate(_IS_X), word).astype(np.bool_)


def _digits(path: Path) -> str:
    return re.sub("//.*", "", path.read_text(encoding="utf-8"))


def _bytes(digits: str, word: int) -> Image:
    data = bytes.fromhex(digits)
    return np.frombuffer(data, np.uint8).reshape(-1, word)[:, ::-1].reshape(-1)
