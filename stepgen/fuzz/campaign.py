"""Campaigns: many cases, several at once, with steering, shrinking and resuming."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from stepgen.cosim.simulators import Simulator
from stepgen.fuzz import branches, coverage
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import Verdict, compare, compare_all
from stepgen.fuzz.draw import Pairs, Wanted, cases
from stepgen.fuzz.shrink import shrink
from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError
from stepgen.ir.records import parsed, record
from stepgen.ir.versions import stamped, unstamped
from stepgen.program.program import import_files
from stepgen.tools.atomic import atomic_file, atomic_folder
from stepgen.tools.external import find, missing
from stepgen.tools.waiting import Progress, quiet
from stepgen.tools.workers import Workers

CRASHERS = "crashers"
FORMAT = 1

ROUND = 96
"""Cases that are drawn by the same coverage counts, also where several processes work."""

SHARE = {True: 4, False: 16}
"""Cases that a worker gets at once, with and without RTL."""

SAMPLE = 8
"""Of so many cases without RTL one is asked for branches and levels: the model runs again.

For branches also short ones with units of which some were not taken.
"""

SHORT = 150
"""Cycles of a run that is short."""

RUNS = {True: 4, False: 1}
"""Runs of a case, at most: with RTL, the build is what takes time."""

SPARE = 60.0
"""Seconds beyond the end of a campaign in which a failure is still made smaller."""


@dataclass
class Tally:
    """What a campaign has done so far.

    Attributes
    ----------
    seed : int
    rtl : bool
        Whether the Verilog is simulated.
    simulator : "verilator" or "icarus"
        By what.
    cases : int
        How many programs were compared; the next one has this number.
    runs : int
        How many runs of them, with other data and circumstances.
    agrees, failed : int
    deadlocks : int
        Of those that agree: deadlocks at depths asked for, which their advice frees.
    errors : int
        Of those that agree: runs that stop with an error, in all faces.
    refused : dict of str to int
        Refusals of whole programs, of steps of the generator and of the timing on tiles, by message
        without names.
    unjudged : dict of str to int
        The same of whole programs, which a face refused.
    reached : dict of str to int
        How many cases had each fact, see `stepgen.fuzz.coverage`.
    steps : dict of str to int
        How often one step followed another, as ``"one > other"``.
    known : dict of str to int
        `steps` when the current round began: what its cases are drawn with.
    wanted : dict of str to float
        Likewise, see `stepgen.fuzz.coverage.wanted`.
    sought : list of str
        Likewise, see `stepgen.fuzz.coverage.sought`.
    failures : dict of str to str
        By what failed, without names and numbers: the file of a case, and what it says.
    seconds : float
        Wall-clock time of all rounds.
    """

    seed: int
    rtl: bool = True
    simulator: Simulator = "verilator"
    cases: int = 0
    runs: int = 0
    agrees: int = 0
    deadlocks: int = 0
    errors: int = 0
    failed: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    unjudged: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    wanted: dict[str, float] = field(default_factory=dict)
    sought: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        take_fields(self)
        if min(self.cases, self.runs, self.agrees, self.deadlocks, self.errors, self.failed) < 0:
            raise StepError("a campaign can't have compared less than 0 cases")

    def pairs(self) -> Pairs:
        """How often one step followed another, for `stepgen.fuzz.draw.cases`, as is `wanted`."""
        if self.cases % ROUND == 0:
            self.known = dict(self.steps)
            self.wanted = coverage.wanted(self.reached, max(1, self.cases))
            self.sought = coverage.sought(self.reached)
        keys = (key.split(" > ") for key in self.known)
        return {(a, b): self.known[f"{a} > {b}"] for a, b in keys}

    def add(self, one: CampaignResult) -> None:
        """Count a case."""
        self.cases += 1
        self.runs += one.runs
        self.agrees += one.status == "agrees"
        self.deadlocks += one.deadlock
        self.errors += one.error
        self.failed += one.status == "failed"
        for messages, counts in ((one.refused, self.refused), (one.unjudged, self.unjudged)):
            for message, count in messages.items():
                counts[message] = counts.get(message, 0) + count
        for fact in one.facts:
            self.reached[fact] = self.reached.get(fact, 0) + 1
        for a, b in zip(one.steps, one.steps[1:], strict=False):
            self.steps[f"{a} > {b}"] = self.steps.get(f"{a} > {b}", 0) + 1


@dataclass(frozen=True)
class CampaignResult:
    """What a worker says of one case.

    Attributes
    ----------
    number : int
    status, signature, says : str
        See `Verdict`: of the first run that fails, else of the first.
    runs : int
        How many were compared.
    deadlock : bool
        Whether it deadlocks as it should.
    error : bool
        Whether it stops with an error as it should.
    steps : tuple of str
    refused, unjudged : dict of str to int
        See `Tally`.
    facts : frozenset of str
    crasher : str
        The reduced case as JSON, where it fails in a way that was not known.
    """

    number: int
    status: str
    signature: str
    says: str
    runs: int = 0
    deadlock: bool = False
    error: bool = False
    steps: tuple[str, ...] = ()
    refused: dict[str, int] = field(default_factory=dict)
    unjudged: dict[str, int] = field(default_factory=dict)
    facts: frozenset[str] = frozenset()
    crasher: str = ""


@dataclass(frozen=True)
class Share:
    """Some cases of a round.

    Attributes
    ----------
    seed : int
    numbers : tuple of int
    rtl : bool
    simulator : Simulator
    until : float
        Time of day after which no further case is begun.
    pairs, wanted : mapping
        For `stepgen.fuzz.draw.cases`.
    sought : frozenset of str
        Kinds of units whose programs are asked for branches.
    known : frozenset of str
        Signatures of failures that need no further case.
    imports : tuple of Path
        Files of functions and operators of users' own.
    """

    seed: int
    numbers: tuple[int, ...]
    rtl: bool
    simulator: Simulator
    until: float
    pairs: Pairs
    wanted: Wanted
    sought: frozenset[str]
    known: frozenset[str]
    imports: tuple[Path, ...]


def tried(number: int, share: Share) -> CampaignResult:
    """Draw a case, compare, and reduce it if it fails in a new way."""
    try:
        drawn, steps, left_out = cases(
            share.seed, number, share.pairs, RUNS[share.rtl], share.wanted
        )
    except Exception as error:  # a crash before there is a program to keep
        says = f"drawing case {number} of seed {share.seed}: {type(error).__name__}: {error}"
        return CampaignResult(number, "failed", Verdict("failed", says).signature, says)
    drawn = tuple(replace(one, simulator=share.simulator) for one in drawn)
    closely = share.rtl or number % SAMPLE == 0
    verdicts = compare_all(drawn, rtl=share.rtl, levels=closely)
    refused = Counter({_shown(message): count for message, count in left_out.items()})
    unjudged = Counter(v.signature for v in verdicts if v.status == "refused")
    refused.update(_shown(message) for v in verdicts for message in v.untimed)
    reached: set[str] = set()
    for one, verdict in zip(drawn, verdicts, strict=False):
        if verdict.prediction is not None:
            reached |= coverage.facts(one, steps, verdict.prediction)
    prediction = verdicts[0].prediction
    if prediction is not None and (
        closely
        or (prediction.cycles <= SHORT and any(f"unit {kind}" in reached for kind in share.sought))
    ):
        try:
            found = branches.taken(drawn[0], prediction.cycles)
            reached |= {f"branch {name}" for name in found}
        except RuntimeError as error:
            verdicts[0] = replace(verdicts[0], status="failed", says=str(error))
    first = next((k for k, v in enumerate(verdicts) if v.status == "failed"), 0)
    verdict, says, crasher = verdicts[first], verdicts[first].says, ""
    if verdict.status == "failed" and verdict.signature not in share.known:
        small = shrunk(drawn[first], verdict, rtl=share.rtl, until=share.until + SPARE)
        crasher = small.dumps()
        if first and small is drawn[first] and compare(small, rtl=share.rtl).status != "failed":
            says += f" (after the {first} runs before it of case {number}, not alone)"
    return CampaignResult(
        number,
        verdict.status,
        verdict.signature,
        says,
        sum(v.status == "agrees" for v in verdicts),
        any(v.status == "agrees" and v.prediction is None and not v.stops for v in verdicts),
        any(v.status == "agrees" and v.stops for v in verdicts),
        steps,
        dict(refused),
        dict(unjudged),
        frozenset(reached),
        crasher,
    )


def _shown(message: str) -> str:
    return Verdict("refused", message).signature


def shrunk(found: Case, verdict: Verdict, *, rtl: bool, until: float = math.inf) -> Case:
    """A small case that fails as another one does; without the RTL, where that shows it too.

    Parameters
    ----------
    found : Case
    verdict : Verdict
        On this case.
    rtl : bool
        Whether it took the RTL to see it.
    until : float
        Time of day after which it is small enough.
    """
    if rtl and compare(found, rtl=False).signature == verdict.signature:
        rtl = False

    def fails(smaller: Case) -> bool:
        return time.time() < until and compare(smaller, rtl=rtl).signature == verdict.signature

    return shrink(found, fails, tries=150 if rtl else 1500)


def _share(share: Share) -> list[CampaignResult]:
    import_files(share.imports)
    done: list[CampaignResult] = []
    for number in share.numbers:
        if time.time() > share.until:
            break
        done.append(tried(number, share))
        if done[-1].crasher:
            share = replace(share, known=share.known | {done[-1].signature})
    return done


def run(
    tally: Tally,
    folder: Path,
    workers: Workers,
    *,
    seconds: float,
    cases: int | None = None,
    imports: Iterable[Path] = (),
    progress: Progress = quiet,
) -> Tally:
    """Go on with a campaign.

    What is drawn depends on the seed and on what is imported alone: not on who works, nor on where
    a campaign ended and went on.

    Parameters
    ----------
    tally : Tally
        Where it stands.
    folder : Path
        Gets the state after every round, and failing cases.
    workers : Workers
        Who compares.
    seconds : float
        When to begin no further case.
    cases : int, optional
        How many to compare, at most.
    imports : iterable of Path
        Files of functions and operators of users' own.
    progress : Progress

    Raises
    ------
    StepError
        If the folder can't be written, or a tool is missing.
    """
    if tally.rtl and missing():
        tool = missing()[0]
        raise StepError(f"{tool.name} ({tool.purpose}) was not found: {tool.remedy}")
    if tally.rtl and tally.simulator == "icarus":
        find("iverilog")
    with atomic_folder(folder):
        pass  # whether results can be written is found out before there are any
    begun, before, first = time.monotonic(), tally.seconds, tally.cases
    until = time.time() + seconds
    end = math.inf if cases is None else first + cases
    size = SHARE[tally.rtl]
    progress("comparing (0 cases)", 0.0)
    while time.time() < until and tally.cases < end:
        pairs = tally.pairs()
        stop = int(min(tally.cases - tally.cases % ROUND + ROUND, end))
        numbers = range(tally.cases, stop)
        sought, known, own = frozenset(tally.sought), frozenset(tally.failures), tuple(imports)
        shares = [
            Share(
                seed=tally.seed,
                numbers=part,
                rtl=tally.rtl,
                simulator=tally.simulator,
                until=until,
                pairs=pairs,
                wanted=tally.wanted,
                sought=sought,
                known=known,
                imports=own,
            )
            for part in (tuple(numbers[k : k + size]) for k in range(0, len(numbers), size))
        ]
        results: dict[int, CampaignResult] = {}
        try:
            for _, done in workers.run(_share, shares):
                results |= {one.number: one for one in done}
                share = min(1.0, (time.monotonic() - begun) / max(seconds, 1e-9))
                progress(f"comparing ({tally.cases + len(results) - first} cases)", share)
        finally:  # also when it is interrupted
            for number in numbers:
                if number not in results:
                    break  # later ones are compared again when the campaign goes on
                tally.add(results[number])
            for one in results.values():
                _keep(tally, folder, one)
            tally.seconds = before + time.monotonic() - begun
            save(tally, folder)
    return tally


def _keep(tally: Tally, folder: Path, one: CampaignResult) -> None:
    if one.status != "failed" or one.signature in tally.failures:
        return
    message = one.says
    if one.crasher:
        path = (
            folder / CRASHERS / f"{_stem(tally.seed, tally.rtl, tally.simulator)}-{one.number}.json"
        )
        with atomic_file(path) as place:
            place.write_text(one.crasher, encoding="utf-8")
        message = f"{path}: {message}"
    tally.failures[one.signature] = message


def _stem(seed: int, rtl: bool, simulator: Simulator) -> str:
    """How files of a campaign are called; a seed may have several in a folder."""
    if not rtl:
        return f"{seed}-no-rtl"
    return str(seed) if simulator == "verilator" else f"{seed}-{simulator}"


def state(folder: Path, seed: int, *, rtl: bool, simulator: Simulator = "verilator") -> Path:
    """The file that says where the campaign of a seed stands."""
    return folder / f"{_stem(seed, rtl, simulator)}.json"


def save(tally: Tally, folder: Path) -> None:
    """Write where a campaign stands."""
    with atomic_file(state(folder, tally.seed, rtl=tally.rtl, simulator=tally.simulator)) as place:
        place.write_text(
            json.dumps(stamped(FORMAT, dataclasses.asdict(tally)), indent=1) + "\n",
            encoding="utf-8",
        )


def load(folder: Path, seed: int, *, rtl: bool, simulator: Simulator = "verilator") -> Tally:
    """Where the campaign of a seed stands, in a folder that may have others.

    Raises
    ------
    StepError
        If `save` did not write the file.
    """
    path = state(folder, seed, rtl=rtl, simulator=simulator)
    if not path.exists():
        return Tally(seed, rtl, simulator)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StepError(f"{path} can't be read: {error}") from None
    with unstamped(
        parsed(content, f"{path} is not a state of a campaign"), FORMAT, str(path)
    ) as data:
        return record(data, Tally, str(path))
