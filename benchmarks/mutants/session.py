"""Tries mutants, each in a process of its own that is forked from one that has all it needs.

The session is one of pytest, which has collected the tests: none has to be imported again.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.mutants import broken
from benchmarks.mutants.concern import CONFORMANCE, concerning
from benchmarks.mutants.forks import ended, forked, kill, spent
from benchmarks.mutants.rules import ROOT, Mutant

SUITE, FUZZER, NO_CIRCUIT, SAME = "suite", "fuzzer", "no circuit", "same circuit"
DRAWN = {False: 90, True: 300}
"""Programs of the fuzzer that are drawn, for circuits and for models."""
TRIED = {False: 6, True: 300}
"""Programs of those that use a unit which are compared, at most."""
BUDGET = {SUITE: {False: 60.0, True: 40.0}, FUZZER: {False: 40.0, True: 60.0}}
"""Seconds of processor time of tests and of programs after which no further one begins, of circuits
and models: what is found does not depend on what else a machine does."""
BUDGET_OF_SAME = 10.0
"""Likewise, of tests of a mutant whose circuit is the same in all programs."""
FEW = 10
"""Mutants for which not everything is prepared."""
HANGS = 120
"""Seconds of processor time, of the budget and what begins within it, after which a mutant counts
as one that hangs."""
SLEEPS = 1800.0
"""Seconds by the clock after which it does, whatever it waits for."""
CYCLES = 20_000
"""Cycles after which a simulated circuit counts as stopped; no right one takes so many here."""


@dataclass(frozen=True)
class Tried:
    """What became of a mutant.

    Attributes
    ----------
    id, rule, key : str
        See `Mutant`.
    digest : str
        Hash of the file that was broken.
    by : str
        Who found it, `SUITE` or `FUZZER`; `NO_CIRCUIT` or `SAME` if there was nothing to find; else
        empty.
    what : str
        The test that failed, or the program and what the fuzzer says.
    tests, programs : int
        How many were run.
    same : int
        Programs that use the unit and whose circuit (model: prediction) is the same as before.
    hangs : bool
        Whether it was found because it did not end.
    seconds : float
    """

    id: str
    rule: str
    key: str
    digest: str
    by: str = ""
    what: str = ""
    tests: int = 0
    programs: int = 0
    same: int = 0
    hangs: bool = False
    seconds: float = 0.0


def digest(path: str) -> str:
    """Hash of a file below the repository."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


@dataclass
class _Child:
    mutant: Mutant
    stage: str
    pid: int
    begun: float
    so_far: dict[str, Any]
    first: float
    stages: list[str]
    text: bytes = b""


@dataclass
class Session:
    """A plugin of pytest that tries mutants instead of running the tests.

    Attributes
    ----------
    mutants : list of Mutant
        Of circuits or of models.
    jobs : int
    results : Path
        Gets one line per mutant.
    stages : tuple of str
        Who looks, in this order; the first who finds something is the last who looks.
    programs : int
        How many of the fuzzer are drawn.
    """

    mutants: list[Mutant]
    jobs: int
    results: Path
    stages: tuple[str, ...]
    programs: int
    failed: list[str] = field(default_factory=list)
    took: dict[str, float] = field(default_factory=dict)
    right: dict[str, bool] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember what failed."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Try all mutants."""
        from benchmarks.mutants.pool import pool

        self.items = session.items
        begun = time.monotonic()
        self.pool = pool(self.programs)
        if len(self.mutants) > FEW:
            _ = self.used  # once here, instead of in every process
        print(f"{len(self.pool)} programs after {time.monotonic() - begun:.0f} s", flush=True)
        self._all()
        return True

    @cached_property
    def used(self) -> dict[str, frozenset[str]]:
        """The units of the drawn programs of the suite, by test."""
        return _kinds_of_conformance()

    def _all(self) -> None:
        waiting, active = list(self.mutants)[::-1], dict[int, _Child]()
        try:
            while waiting or active:
                while waiting and len(active) < self.jobs:
                    mutant = waiting.pop()
                    now = time.monotonic()
                    stages = list(self.stages)
                    self._begin(active, mutant, stages, {}, now)
                for fd in select.select(list(active), [], [], 1.0)[0]:
                    child = active[fd]
                    got = os.read(fd, 1 << 16)
                    child.text += got
                    if not got:
                        del active[fd]
                        os.close(fd)
                        self._ended(active, child, hangs=ended(child.pid) == signal.SIGXCPU)
                for fd, child in list(active.items()):
                    if time.monotonic() - child.begun > SLEEPS:
                        del active[fd]
                        kill(child.pid)
                        os.close(fd)
                        self._ended(active, child, hangs=True)
        finally:
            for child in active.values():
                kill(child.pid)

    def _begin(
        self,
        active: dict[int, _Child],
        mutant: Mutant,
        stages: list[str],
        so_far: dict[str, Any],
        first: float,
    ) -> None:
        stage, *rest = stages
        if not mutant.is_model:
            for program in self._programs(mutant):
                _ = program.circuit  # once here, instead of in every process
        do = {SUITE: self._suite, FUZZER: self._fuzzer}[stage]
        pid, fd = forked(lambda: do(mutant), HANGS)
        active[fd] = _Child(mutant, stage, pid, time.monotonic(), so_far, first, rest)

    def _ended(self, active: dict[int, _Child], child: _Child, *, hangs: bool) -> None:
        mutant = child.mutant
        if hangs:
            got: dict[str, Any] = {"by": child.stage, "what": "time limit", "hangs": True}
        elif not child.text:
            got = {"by": child.stage, "what": "the process ended"}
        else:
            got = json.loads(child.text)
        self.took |= got.pop("took", {})
        failed = got.pop("failed", "")
        if failed and not self._is_right(failed):
            print(f"{failed} fails without a mutant", flush=True)
            self._begin(active, mutant, [child.stage, *child.stages], child.so_far, child.first)
            return
        so_far = child.so_far | {k: v for k, v in got.items() if v}
        if not so_far.get("by") and child.stages:
            self._begin(active, mutant, child.stages, so_far, child.first)
            return
        seconds = round(time.monotonic() - child.first, 1)
        named = (mutant.id, mutant.rule, mutant.key, digest(mutant.path))
        tried = Tried(*named, **so_far, seconds=seconds)
        with self.results.open("a") as file:
            file.write(json.dumps(asdict(tried)) + "\n")
        print(f"{tried.by or 'SURVIVED':9} {seconds:5.1f} s  {mutant.key}", flush=True)

    def _is_right(self, name: str) -> bool:
        """Whether a test passes without a mutant."""
        if name not in self.right:
            item = next(item for item in self.items if item.nodeid == name)

            def alone() -> dict[str, Any]:
                self._run(item)
                return {"failed": bool(self.failed)}

            pid, fd = forked(alone)
            with os.fdopen(fd) as pipe:
                text = pipe.read()
            os.waitpid(pid, 0)
            self.right[name] = bool(text) and not json.loads(text)["failed"]
        return self.right[name]

    def _programs(self, mutant: Mutant) -> list[Any]:
        found = [p for p in self.pool if not mutant.kind or mutant.kind in p.kinds]
        return found[: TRIED[mutant.is_model]]

    def _suite(self, mutant: Mutant) -> dict[str, Any]:
        if not broken.change(mutant.path, mutant.source()):
            return {"by": NO_CIRCUIT, "what": "the code is the same"}
        found, same, budget = "", 0, BUDGET[SUITE][mutant.is_model]
        if not mutant.is_model:
            programs = self._programs(mutant)
            tries = [_elaborated(p) for p in programs[:1]]
            if tries and all(tries):
                return {"by": NO_CIRCUIT, "what": tries[0]}
            if not any(error is None for error in tries):
                tries += [_elaborated(p) for p in programs[1:]]
            same = tries.count("")
            if programs and same == len(programs):
                found, budget = SAME, BUDGET_OF_SAME
        done, begun = 0, spent()
        took: dict[str, float] = {}
        for item in self._tests(mutant):
            if spent() - begun > budget:
                break
            start = spent()
            self._run(item)
            done += 1
            if self.failed:
                what = self.failed[0]
                return {"by": SUITE, "what": what, "failed": what, "tests": done}
            took[item.nodeid] = spent() - start
        return {"by": found, "same": same, "tests": done, "took": took}

    def _run(self, item: Any) -> None:
        harness = sys.modules.get("harness")
        if harness is not None:
            _, *others = harness.simulate.__defaults__
            harness.simulate.__defaults__ = (CYCLES, *others)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def _tests(self, mutant: Mutant) -> Iterator[Any]:
        """The tests that concern a mutant: the nearest first, of those one case of each function.

        Of as many cases the quickest come first.
        """
        for files in concerning(mutant.path):
            some = [
                item
                for item in self.items
                if item.nodeid.split("::")[0] in files
                and self.right.get(item.nodeid, True)
                and self._uses(item.nodeid, mutant.kind)
            ]
            cases: Counter[str] = Counter()
            order = []
            for item in some:
                function = item.nodeid.split("[")[0]
                order.append((cases[function], self.took.get(item.nodeid, 0.2), item))
                cases[function] += 1
            yield from (item for *_, item in sorted(order, key=lambda one: one[:2]))

    def _uses(self, name: str, kind: str) -> bool:
        if not kind or not name.startswith(CONFORMANCE):
            return True
        return kind in self.used.get(name, {kind})

    def _fuzzer(self, mutant: Mutant) -> dict[str, Any]:
        if not broken.change(mutant.path, mutant.source()):
            return {"by": NO_CIRCUIT, "what": "the code is the same"}
        begun, same, count = spent(), 0, 0
        for program in self._programs(mutant):
            if spent() - begun > BUDGET[FUZZER][mutant.is_model]:
                break
            count += 1
            if mutant.is_model:
                says = program.is_mispredicted()
                same += not says
            elif _elaborated(program) == "":
                same += 1
                continue
            else:
                says = program.is_miscomputed()
            if says:
                message = f"program {program.number}: {says}"[:200]
                return {"by": FUZZER, "what": message, "programs": count, "same": same}
        return {"programs": count, "same": same}


def _elaborated(program: Any) -> str | None:
    """Empty if the circuit is as it should be, None if it is another, else why there is none."""
    from benchmarks.mutants.pool import circuit

    try:
        return "" if circuit(program.experiment.design) == program.circuit else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


def _kinds_of_conformance() -> dict[str, frozenset[str]]:
    """The units of the drawn programs of the suite, by test."""
    import test_conformance as suite

    from stepgen.compile.lower import lower
    from stepgen.fuzz.generators.drawing import NARROW
    from stepgen.fuzz.generators.plain import draw

    name = f"{CONFORMANCE}::test_reference_model_and_circuit_agree"
    found = {}
    for seed in suite.SEEDS:
        design = lower(draw(seed)[0].graph, lanes=NARROW)
        found[f"{name}[{seed}]"] = frozenset(unit.params.kind for unit in design.units)
    return found


def session(
    mutants: list[Mutant],
    jobs: int,
    results: Path,
    stages: tuple[str, ...],
    programs: int | None,
) -> None:
    """Try mutants, all of circuits or all of models."""
    models = mutants[0].is_model
    if models:
        broken.interpret()
    os.chdir(ROOT)
    results.parent.mkdir(parents=True, exist_ok=True)
    os.environ["STEPGEN_CACHE"] = str(results.parent.resolve() / "cache")
    import pytest

    concerned = {t for m in mutants for some in concerning(m.path) for t in some}
    collected = sorted(concerned) if SUITE in stages else [CONFORMANCE]
    plain = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist")
    trying = Session(mutants, jobs, results, stages, programs or DRAWN[models])
    pytest.main([*plain, *collected], plugins=[trying])
