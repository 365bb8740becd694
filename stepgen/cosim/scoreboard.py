"""Scoreboard: compares a co-simulation with the expected results, and finds the first mismatch."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from stepgen.cosim.case import UNKNOWN, Case, Mask, load_case, read_hex, undefined_in
from stepgen.cosim.payload import Rows, describe, unpadded
from stepgen.cosim.record import Cycles, Record, read_record
from stepgen.emit.interface import Interface
from stepgen.emit.windows import Windows
from stepgen.hw.design.registers import (
    COUNTERS,
    CYCLES,
    DETAIL,
    DONE,
    END,
    ERROR,
    ERROR_CODE,
    READ_BEATS,
    RUNNING,
    STATUS,
    WORD,
    WRITE_BEATS,
    counter_address,
)

_NEVER = 1 << 62
_MESSAGES = 3


@dataclass(frozen=True)
class Outcome:
    """Results of a run.

    Attributes
    ----------
    case : Case
    status : str
        ``"done"``, ``"hang"``, ``"not started"`` or ``"unknown"``: the run ended at an X.
    cycles : int
        Length of the run, or the cycle in which it was given up.
    seconds : float
        Wall-clock time of the run alone.
    outputs : dict of str to uint8 array
        Payloads that left, by port.
    record : Record or None
        Cycles of all beats; None where they were not recorded.
    memory : uint8 array or None
        Off-chip memory after the run.
    undefined : bool array or None
        Which of its bytes are X.
    registers : dict of int to int
        Control registers by address.
    faults : list of str
        What differs from the expectation, the earliest first; empty for a good run.
    """

    case: Case
    status: str
    cycles: int
    seconds: float
    outputs: dict[str, Rows]
    record: Record | None
    memory: Rows | None
    undefined: Mask | None
    registers: dict[int, int]
    faults: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing differs."""
        return not self.faults


def register_addresses(interface: Interface) -> list[int]:
    """Addresses of the control registers in the order of ``registers.bin``."""
    if not interface.control:
        return []
    channels, counters = range(len(interface.channels)), range(len(COUNTERS))
    counts = [counter_address(i, k) for i in channels for k in counters]
    return [*range(STATUS.offset, END, WORD), *counts]


def read_outcome(folder: Path, interface: Interface) -> Outcome:
    """Read the results in a case's folder and check them."""
    case = load_case(folder)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    outputs = {
        p.name: np.fromfile(folder / f"out_{p.name}.bin", np.uint8).reshape(-1, p.payload_bytes)
        for p in interface.sinks
    }
    memory, undefined, ended = None, None, result["status"] != "unknown"
    if interface.memory and case.memory is not None and ended:
        path = folder / "memory_after.hex"
        memory = read_hex(path, interface.memory.word)[: case.memory.size]
        undefined = undefined_in(path, interface.memory.word)[: case.memory.size]
    track = folder / "record.bin"
    values = np.fromfile(folder / "registers.bin", np.uint32).tolist()
    outcome = Outcome(
        case,
        result["status"],
        result["cycles"],
        result["seconds"],
        outputs,
        read_record(track, interface.recorded) if track.exists() and ended else None,
        memory,
        undefined,
        dict(zip(register_addresses(interface), values, strict=ended)),
    )
    if not ended:
        outcome.faults.extend(_found(folder / UNKNOWN))
        return outcome
    faults = faults_of(outcome, interface)
    if result["bus_error"]:
        said = "; ".join(result.get("messages", [])[:_MESSAGES]) or "see the log of the simulation"
        faults.insert(0, (-1, f"protocol violation: {said}"))
    outcome.faults.extend(text for _, text in sorted(faults, key=lambda f: f[0]))
    return outcome


def _found(path: Path) -> list[str]:
    """What is X, with the hierarchical names of modules from the design on."""
    return path.read_text(encoding="utf-8").replace("stepgen_bench.dut.", "").splitlines()


def faults_of(outcome: Outcome, interface: Interface) -> list[tuple[int, str]]:
    """Differences with the cycle in which they show; those without a cycle come last."""
    case, record = outcome.case, outcome.record
    faults: list[tuple[int, str]] = []
    if outcome.status == "hang" and not case.stops:
        faults.append((-1, f"the run did not end within {case.limit} cycles{_waiting(outcome)}"))
    elif outcome.status == "done" and case.stops:
        faults.append((-1, f"the run ended in cycle {outcome.cycles}, expected an error"))
    elif outcome.status == "not started":
        faults.append((-1, "the run did not start"))
    for port in interface.sinks:
        if port.name in case.expected:
            seen = unpadded(outcome.outputs[port.name], port)
            wanted = unpadded(case.expected[port.name], port)
            same = min(len(seen), len(wanted))
            wrong = np.flatnonzero((seen[:same] != wanted[:same]).any(axis=1))
            if wrong.size:
                i = int(wrong[0])
                at = _NEVER if record is None else int(record.pushes[f"port:{port.name}"][i])
                when = "" if record is None else f" in cycle {at}"
                faults.append(
                    (
                        at,
                        f"port {port.name}: beat {i}{when} is "
                        f"{describe(seen[i], port)}, expected {describe(wanted[i], port)} "
                        f"({wrong.size} of {same} beats differ)",
                    )
                )
            elif len(seen) != len(wanted):
                faults.append(
                    (
                        _NEVER,
                        f"port {port.name}: {len(seen)} beats came, {len(wanted)} were expected",
                    )
                )
    if record is not None and not case.judge:
        for predicted, seen_cycles, verb in (
            (case.pushes, record.pushes, "pushed"),
            (case.pops, record.pops, "popped"),
        ):
            for name, cycles in predicted.items():
                fault = compare_cycles(name, verb, cycles, seen_cycles[name])
                if fault is not None:
                    faults.append(fault)
    ended = outcome.status == "done" and not case.judge
    if ended and case.cycles not in (None, outcome.cycles):
        faults.append((_NEVER, f"the run took {outcome.cycles} cycles, predicted {case.cycles}"))
    if case.memory_after is not None and outcome.memory is not None:
        nothing = np.zeros(outcome.memory.size, np.bool_)
        unknown = nothing if outcome.undefined is None else outcome.undefined
        due = nothing if case.undefined_after is None else case.undefined_after
        wrong = np.flatnonzero((outcome.memory != case.memory_after) & ~due | (unknown != due))
        if wrong.size:
            i = int(wrong[0])
            assert interface.memory is not None
            address = Windows(interface.memory.windows).address(i)
            said = "X" if unknown[i] else f"0x{outcome.memory[i]:02x}"
            expected = "never written" if due[i] else f"0x{case.memory_after[i]:02x}"
            faults.append(
                (
                    _NEVER,
                    f"memory: byte 0x{address:x} is {said} after the run, "
                    f"expected {expected} ({wrong.size} of "
                    f"{outcome.memory.size} bytes differ)",
                )
            )
    faults.extend((_NEVER, text) for text in _register_faults(outcome, interface))
    return faults


def _waiting(outcome: Outcome) -> str:
    """Where beats were when a run was aborted."""
    record = outcome.record
    if record is None:
        return ""
    moves = [c for group in (record.pushes, record.pops) for c in group.values() if len(c)]
    last = max((int(c[-1]) for c in moves), default=-1)
    levels = [
        (len(cycles) - len(record.pops[name]), name)
        for name, cycles in record.pushes.items()
        if not name.startswith(("port:", "mem."))
    ]
    full = ", ".join(f"{level} in {name}" for level, name in levels if level)
    return f"; the last beat moved in cycle {last}; beats waiting: {full or 'none'}"


def compare_cycles(name: str, verb: str, predicted: Cycles, seen: Cycles) -> tuple[int, str] | None:
    """First difference between predicted and seen cycles of a channel, with its cycle."""
    same = min(len(predicted), len(seen))
    wrong = np.flatnonzero(predicted[:same] != seen[:same])
    if wrong.size:
        i = int(wrong[0])
        cycle = min(int(predicted[i]), int(seen[i]))
        return cycle, (
            f"channel {name}: beat {i} was {verb} in cycle {seen[i]}, predicted {predicted[i]} "
            f"({wrong.size} of {same} beats differ)"
        )
    if len(seen) > same:
        return int(seen[same]), (
            f"channel {name}: {len(seen)} beats were {verb}, predicted {same}; "
            f"the first too many, beat {same}, came in cycle {seen[same]}"
        )
    if len(predicted) > same:
        return int(predicted[same]), (
            f"channel {name}: {same} beats were {verb}, predicted {len(predicted)}; "
            f"the first missing, beat {same}, was predicted for cycle {predicted[same]}"
        )
    return None


def _register_faults(outcome: Outcome, interface: Interface) -> list[str]:
    case, registers = outcome.case, outcome.registers
    if not interface.control:
        return []
    faults = []
    status, code = registers[STATUS.offset], registers[ERROR_CODE.offset]
    detail = registers[DETAIL.offset]
    if (code, detail) != (case.error, case.detail):
        said, due = (
            f"error {number}"
            + (f": {what}" if (what := interface.explained(number, cause)) else "")
            for number, cause in ((code, detail), (case.error, case.detail))
        )
        faults.append(f"the design reports {said}" + (f"; expected {due}" if case.error else ""))
    ended = (RUNNING.mask if case.stops else DONE.mask) | (ERROR.mask if code else 0)
    if outcome.status == ("hang" if case.stops else "done") and status != ended:
        faults.append(f"the status is 0x{status:x} after the run, expected 0x{ended:x}")
    low, high = (registers[offset] for offset in CYCLES.offsets)
    counted = low | high << 32
    if not case.judge and outcome.status == "done" and counted != outcome.cycles:
        faults.append(f"the cycle register says {counted} after {outcome.cycles} cycles")
    for name, address, wanted in (
        ("read", READ_BEATS.offset, case.read_beats),
        ("write", WRITE_BEATS.offset, case.write_beats),
    ):
        if wanted is not None and registers[address] != wanted:
            faults.append(f"{registers[address]} {name} beats were counted, predicted {wanted}")
    if case.counters is not None and not case.judge:
        for i, channel in enumerate(interface.channels):
            for k, counter in enumerate(COUNTERS):
                address = counter_address(i, k)
                if registers[address] != case.counters[i][k]:
                    faults.append(
                        f"channel {channel}: {registers[address]} cycles {counter.name} were "
                        f"counted, predicted {case.counters[i][k]}"
                    )
    return faults
