"""Campaigns: many cases, several at once, with steering, shrinking and resuming."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ir.errors import StepError
from ..ir.records import parsed, record
from ..tools.atomic import atomic_file, atomic_folder
from ..tools.waiting import Progress, quiet
from ..tools.workers import Workers
from . import coverage
from .case import Case
from .draw import Pairs, case
from .judge import Verdict, judge
from .shrink import shrink

STATE, CRASHERS = "state.json", "crashers"
PAIRS = "pair "

SHARES = 32
"""Into how many shares a round is cut for a cluster."""

ROUND = {True: 24, False: 1000}
"""Cases that a worker judges between two looks at what all have reached, with and without RTL."""


@dataclass
class Tally:
    """What a campaign has done so far.

    Attributes
    ----------
    seed : int
    rtl : bool
        Whether the Verilog is simulated.
    cases : int
        How many were judged.
    next : int
        Number of the first one of the next round.
    agrees, failed : int
    deadlocks : int
        Of those that agree: deadlocks at depths asked for, which their advice frees.
    refused : dict of str to int
        Refusals of whole programs and of steps of the generator, by message without names.
    reached : dict of str to int
        How many cases had each fact, see `stepgen.fuzz.coverage`.
    steps : dict of str to int
        How often one step followed another, as ``"one > other"``.
    failures : dict of str to str
        Files of failing cases by what failed.
    seconds : float
        Wall-clock time of all rounds.
    """

    seed: int
    rtl: bool = True
    cases: int = 0
    next: int = 0
    agrees: int = 0
    deadlocks: int = 0
    failed: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def pairs(self) -> Pairs:
        """How often one step followed another, for `stepgen.fuzz.draw.case`."""
        told = (key.split(" > ") for key in self.steps)
        return {(a, b): self.steps[f"{a} > {b}"] for a, b in told}

    def add(self, one: Result) -> None:
        """Count a case."""
        self.cases += 1
        self.agrees += one.status == "agrees"
        self.deadlocks += one.deadlock
        self.failed += one.status == "failed"
        for message, count in one.refused.items():
            self.refused[message] = self.refused.get(message, 0) + count
        for fact in one.facts:
            self.reached[fact] = self.reached.get(fact, 0) + 1
        for a, b in zip(one.steps, one.steps[1:], strict=False):
            self.steps[f"{a} > {b}"] = self.steps.get(f"{a} > {b}", 0) + 1


@dataclass(frozen=True)
class Result:
    """What a worker says of one case.

    Attributes
    ----------
    number : int
    status, signature, says : str
        See `Verdict`.
    deadlock : bool
        Whether it deadlocks as it should.
    steps : tuple of str
    refused : dict of str to int
    facts : frozenset of str
    crasher : str
        The shrunk case as JSON, where it failed.
    """

    number: int
    status: str
    signature: str
    says: str
    deadlock: bool
    steps: tuple[str, ...]
    refused: dict[str, int]
    facts: frozenset[str]
    crasher: str = ""


@dataclass(frozen=True)
class Share:
    """What a worker does in one round."""

    seed: int
    first: int
    count: int
    rtl: bool
    until: float
    pairs: Pairs


def judged(number: int, *, seed: int, rtl: bool, pairs: Pairs) -> Result:
    """Draw a case, judge it, and shrink it if it fails."""
    drawn, steps, tried = case(seed, number, pairs)
    verdict = judge(drawn, rtl=rtl)
    refused = Counter({_shown(message): count for message, count in tried.items()})
    if verdict.status == "refused":
        refused[verdict.signature] += 1
    reached: set[str] = set()
    if verdict.prediction is not None:
        reached = coverage.facts(drawn, steps, drawn.experiment().design, verdict.prediction)
    crasher = shrunk(drawn, verdict, rtl=rtl).dumps() if verdict.status == "failed" else ""
    return Result(
        number,
        verdict.status,
        verdict.signature,
        verdict.says,
        verdict.status == "agrees" and verdict.prediction is None,
        steps,
        dict(refused),
        frozenset(reached),
        crasher,
    )


def _shown(message: str) -> str:
    return Verdict("refused", message).signature


def shrunk(found: Case, verdict: Verdict, *, rtl: bool) -> Case:
    """A small case that fails as another one does; without the RTL, where that shows it too."""
    if rtl and judge(found, rtl=False).signature == verdict.signature:
        rtl = False

    def fails(smaller: Case) -> bool:
        return judge(smaller, rtl=rtl).signature == verdict.signature

    return shrink(found, fails, tries=150 if rtl else 1500)


def _share(share: Share) -> list[Result]:
    done: list[Result] = []
    for number in range(share.first, share.first + share.count):
        if done and time.time() > share.until:
            break
        done.append(judged(number, seed=share.seed, rtl=share.rtl, pairs=share.pairs))
    return done


def run(
    tally: Tally,
    folder: Path,
    workers: Workers,
    *,
    seconds: float,
    cases: int | None = None,
    progress: Progress = quiet,
) -> Tally:
    """Go on with a campaign.

    Parameters
    ----------
    tally : Tally
        Where it stands.
    folder : Path
        Gets the state after every round, and failing cases.
    workers : Workers
        Who judges; a cluster gets `SHARES` of each round.
    seconds : float
        When to begin no further round, and no further case in this one.
    cases : int, optional
        How many to judge, at most.
    progress : Progress
    """
    with atomic_folder(folder):
        pass  # whether results can be written is found out before there are any
    begun, before, first = time.monotonic(), tally.seconds, tally.cases
    until = time.time() + seconds
    jobs = SHARES if workers.cluster else workers.jobs
    end = None if cases is None else first + cases
    progress("judging", 0.0)
    while time.time() < until and (end is None or tally.cases < end):
        left = jobs * ROUND[tally.rtl] if end is None else end - tally.cases
        count = min(ROUND[tally.rtl], -(-left // jobs))
        stop, pairs = tally.next + min(left, jobs * count), tally.pairs()
        shares = [
            Share(tally.seed, n, min(count, stop - n), tally.rtl, until, pairs)
            for n in range(tally.next, stop, count)
        ]
        results: list[Result] = []
        for _, done in workers.run(_share, shares):
            results += done
            share = min(1.0, (time.monotonic() - begun) / max(seconds, 1e-9))
            progress(f"judging ({tally.cases + len(results) - first} cases)", share)
        for one in sorted(results, key=lambda r: r.number):
            tally.add(one)
            if one.crasher:
                _keep(tally, folder, one)
        tally.next = stop
        tally.seconds = before + time.monotonic() - begun
        save(tally, folder)
    return tally


def _keep(tally: Tally, folder: Path, one: Result) -> None:
    if one.says in tally.failures:
        return
    path = folder / CRASHERS / f"{tally.seed}-{one.number}.json"
    with atomic_file(path) as place:
        place.write_text(one.crasher)
    tally.failures[one.says] = str(path)


def save(tally: Tally, folder: Path) -> None:
    """Write where a campaign stands."""
    with atomic_file(folder / STATE) as place:
        place.write_text(json.dumps(dataclasses.asdict(tally), indent=1) + "\n")


def load(folder: Path) -> Tally | None:
    """Where the campaign of a folder stands; None if there is none.

    Raises
    ------
    StepError
        If the file is none of `save`.
    """
    path = folder / STATE
    if not path.exists():
        return None
    try:
        content = path.read_text()
    except OSError as error:
        raise StepError(f"{path} can't be read: {error.strerror}") from None
    data: Any = parsed(content, f"{path} is no state of a campaign")
    return record(data, Tally, str(path))
