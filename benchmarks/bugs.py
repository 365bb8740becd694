"""(h) Bugs of the past, put back: after how many programs the fuzzer finds each again."""

from __future__ import annotations

import json
import multiprocessing
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.mutants import FOLDER, broken
from benchmarks.mutants.forks import forked, spent
from benchmarks.mutants.rules import ROOT
from benchmarks.table import Table

SEED, PROGRAMS, RUNS, SECONDS = 4, 100, 4, 600.0


@dataclass(frozen=True)
class Bug:
    """A mistake that stepgen had.

    Attributes
    ----------
    name : str
    path : str
        The file that is changed, below the repository.
    edits : tuple of (str, str)
        Texts that occur once, and what stands in their place.
    rtl : bool
        Whether the circuit is wrong; else no Verilog has to be simulated.
    compiled : bool
        Whether functions of it are compiled: then all cycle models are interpreted.
    """

    name: str
    path: str
    edits: tuple[tuple[str, str], ...]
    rtl: bool = True
    compiled: bool = False

    def source(self) -> str:
        """The file with the mistake.

        Raises
        ------
        ValueError
            If the code around it has changed.
        """
        text = (ROOT / self.path).read_text()
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} occurs {text.count(old)} times")
            text = text.replace(old, new)
        return text


UNITS = "stepgen/hw/units"
BUGS = (
    Bug(
        "Expand looks at the kind of a payload whose valid is low",
        f"{UNITS}/expand/rtl.py",
        (("late(self.explicit & (kind == BARE))", "late(kind == BARE)"),),
    ),
    Bug(
        "Reassemble sends its done beat with rubbish in the data",
        f"{UNITS}/reassemble/rtl.py",
        (("Mux(is_end, 0, selector_low + (level + 1))", "selector_low + (level + 1)"),),
    ),
    Bug(
        "the flags of Reshape end with rubbish in the data",
        f"{UNITS}/reshape/rtl.py",
        (("Mux(ends, 0, low + 1 - level)", "low + 1 - level"),),
    ),
    Bug(
        "a copy of the structure alone has data",
        "stepgen/hw/fifo.py",
        (("m.d.comb += payload.data.eq(0)", "pass"),),
    ),
    Bug(
        "FIFO depths are not derived: programs with bounds deadlock",
        "stepgen/compile/sizing/depths.py",
        (("    sizing.settle()\n    return sizing.depths", "    pass\n    return {}"),),
        rtl=False,
    ),
    Bug(
        "beats of the next run that are offered early enter this one",
        f"{UNITS}/source/rtl.py",
        (("is_open.eq(self.running & ~closed)", "is_open.eq(self.running)"),),
    ),
    Bug(
        "an input that is read for its structure alone can't be tested",
        "stepgen/emit/interface.py",
        (
            ("    if not channel.lanes:\n        return NO_DATA\n", "    pass\n\n"),
            ("element = channel.element or", "element = channel.lanes and channel.element or"),
        ),
    ),
    Bug(
        "the timing on tiles ends a run before the inputs of Reassemble have ended",
        "stepgen/timing/tiles/ops/reassemble.py",
        (
            ("        finish(M, a)\n", "        pass\n"),
            ("writes=[out], finishes=True", "writes=[out]"),
        ),
        rtl=False,
        compiled=True,
    ),
)

BEYOND = (
    ("addresses wrap at 4 GiB", "no tensor that is drawn lies so far"),
    ("a counter read before the first run is not 0", "the bench reads counters after a run"),
    ("widths and names in Verilog", "no wrong result: the linter's and the names' own tests"),
    ("dims matched by value in `dynamic_tiling`", "transforms are not drawn"),
    ("numbers for 1 x 1 bf16 and f32 tiles", "only formats that have a circuit are drawn"),
    ("simple memory in lockstep, fields of `sda-published`", "its reference is another simulator"),
    ("on-chip memory of `examples/swiglu.py`, figures, pictures", "no operator is wrong"),
    ("a linear store shares its tensor with a load", "tensors are not drawn for two uses"),
    ("files, commands, messages, interruption", "the fuzzer calls no command"),
)
"""What the same issue named and the fuzzer can't find, with the reason."""


def find(bugs: list[Bug], path: Path) -> None:
    """Put each bug back, in a process of its own, and compare programs until one shows it."""
    if any(bug.compiled for bug in bugs):
        broken.interpret()
    from stepgen.fuzz.compare import compare_all
    from stepgen.fuzz.draw import cases

    drawn = [cases(SEED, number, runs=RUNS)[0] for number in range(PROGRAMS)]
    compare_all(drawn[0], rtl=False)  # what this compiles is no time of any bug
    results = {}
    for bug in bugs:
        _, pipe = forked(partial(_first, bug, drawn))
        with os.fdopen(pipe) as file:
            results[bug.name] = json.loads(file.read())
        print(bug.name, results[bug.name], flush=True)
        path.write_text(json.dumps(results))


def _first(bug: Bug, drawn: list[Any]) -> dict[str, Any]:
    """The first program that shows a bug; only those are simulated whose circuit it changes."""
    from stepgen.fuzz.compare import compare_all

    right = (ROOT / bug.path).read_text()
    begun, simulated = spent(), 0
    for number, several in enumerate(drawn):
        one = several[0]
        if spent() - begun > SECONDS:
            return {"programs": number, "simulated": simulated, "says": ""}
        circuit = _circuit(one) if bug.rtl else ""
        broken.change(bug.path, bug.source())
        verdicts = compare_all(several, rtl=False)
        fine = all(verdict.status != "failed" for verdict in verdicts)
        if fine and bug.rtl and _circuit(one) != circuit:
            simulated += 1
            verdicts = compare_all(several)
        failed = [verdict.says for verdict in verdicts if verdict.status == "failed"]
        if failed:
            says = failed[0].splitlines()[0][:120]
            return {"programs": number + 1, "simulated": simulated, "says": says}
        broken.change(bug.path, right)
    return {"programs": len(drawn), "simulated": simulated, "says": ""}


def _circuit(one: Any) -> str:
    """What a program's circuit and test bench depend on; empty where it has none."""
    from benchmarks.mutants.pool import circuit
    from stepgen.emit.interface import interface
    from stepgen.ir.errors import StepError

    try:
        design = one.experiment().design
        return f"{circuit(design)} {interface(design)}"
    except StepError as error:
        return str(error)


def measure() -> Table:
    """Put all bugs back."""
    results: dict[str, dict[str, Any]] = {}
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["STEPGEN_CACHE"] = str(FOLDER / "cache")
    for compiled in (False, True):
        path = FOLDER / f"bugs-{int(compiled)}.json"
        some = [bug for bug in BUGS if bug.compiled == compiled]
        # Spawned: what one process has changed in numba, another one does not have.
        spawned = multiprocessing.get_context("spawn").Process(target=find, args=(some, path))
        spawned.start()
        spawned.join()
        results |= json.loads(path.read_text())
    return table(results)


def table(results: dict[str, dict[str, Any]]) -> Table:
    """What `find` has found, by the names of the bugs."""
    rows = []
    for bug in BUGS:
        got = results.get(bug.name, {"programs": 0, "simulated": 0, "says": ""})
        after = f"{got['programs']}" if got["says"] else f"not in {got['programs']}"
        says = got["says"].replace("|", "¦")
        rows.append((bug.name, after, got["simulated"] if bug.rtl else "", says))
    beyond = "; ".join(f"{name}: {reason}" for name, reason in BEYOND)
    return Table(
        "h. Bugs of the past, put back",
        "Wrong results that stepgen once had, each put back into its code, and after how many of "
        f"the programs of seed {SEED} the fuzzer says so, or how many were compared without that "
        f"in at most {SECONDS:.0f} seconds of processor time. Simulated: programs whose circuit "
        "the bug changes; the Verilog of the others is what it was. What was found beside them "
        f"and is none of the fuzzer's: {beyond}.",
        ("bug", "programs", "simulated", "what the fuzzer says"),
        rows,
    )
