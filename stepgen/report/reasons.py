"""Where the cycles of a run go, in sentences: the bound, what is lost, which unit limits when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.cosim.experiment import Experiment
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.memory.params import Memory
from stepgen.report.summary import outline
from stepgen.report.timeline import shares
from stepgen.timing.critical import Span, critical_path
from stepgen.timing.model import Prediction
from stepgen.timing.states import BUSY, STATES

MOST_PHASES = 10
"""Phases that a run is divided into at most."""

SHORTEST = 1 / 40
"""Share of a run below which a phase is part of its neighbour."""

MOST_SPANS = 2000
"""Spans of a path; with more, each of `PIECES` of the run counts as that of its longest."""

PIECES = 512

LIMITS = 0.1
"""Share of the path from which on what others lose is said of a unit."""

UNEVEN = 1.1
"""Cycles of the busiest of alike units, in means of all, from which on its work is uneven."""

AS_BUSY = 0.98
"""Share of the busy cycles of the limiting unit from which on another unit is as busy."""

ALONE = 0.8
"""Share of a phase of alike units from which on one of them is named."""

HALF = 0.5
"""Share of a phase from which on its unit limits it; below, beats pass through many units."""

SELDOM = 0.25
"""Share of cycles in which a unit acts, below which latencies limit and not its speed."""

MOST_NAMED = 4
"""Units of a list that are named."""

MEMORY = "off-chip memory"


@dataclass(frozen=True)
class Phase:
    """Cycles in which one unit is on the critical path, or units that are alike.

    Attributes
    ----------
    first, last : int
        From `first` up to, but not including, `last`.
    unit : str
        The unit that is there most.
    does : str
        The name of its actor.
    busy : float
        Share of the cycles in which it acts.
    sentence : str
        What it says to a person.
    """

    first: int
    last: int
    unit: str
    does: str
    busy: float
    sentence: str


def reasons(
    experiment: Experiment, prediction: Prediction, alike: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """What bounds a run, what is lost, and which unit limits it when.

    Parameters
    ----------
    experiment : Experiment
    prediction : Prediction
        Of a run that ends.
    alike : mapping of str to sequence of str
        By unit all units that are alike.

    Returns
    -------
    dict
        ``bounds`` (what, cycles), ``lead`` and ``sentences``, and ``phases``.
    """
    run = experiment.run_of(experiment.known)
    path = critical_path(experiment.design, run, limit=experiment.max_cycles)
    teller = _Sentences(prediction, alike)
    phases = [teller.phase(spans) for spans in _phases(path, teller.key, prediction.cycles)]
    least = bounds(experiment, prediction)
    sentences = teller.uneven(path) + teller.losses(path)
    if least:
        what, cycles = max(least, key=lambda bound: bound[1])
        more = prediction.cycles - cycles
        sentences.append(
            f"The bound is {cycles:,} cycles, of {what}. As long as the units share the work "
            f"as they do now, no run is shorter; this one takes {more:,} more "
            f"({_percent(more, prediction.cycles)} of its cycles)."
        )
    return {
        "lead": teller.lead(path),
        "sentences": sentences,
        "bounds": least,
        "phases": [vars(phase) for phase in phases],
    }


def bounds(experiment: Experiment, prediction: Prediction) -> list[tuple[str, int]]:
    """What takes how many cycles by itself: the memory in both directions, and the busiest units.

    Parameters
    ----------
    experiment : Experiment
    prediction : Prediction
    """
    found = []
    memory, word = experiment.memory, experiment.design.bus.bytes
    for what, moved, interval in zip(
        ("read", "written"),
        experiment.traffic,
        (memory.read_interval, memory.write_interval),
        strict=True,
    ):
        if moved:
            found.append((f"{MEMORY}, {moved:,} bytes {what}", moved // word * interval))
    rows = outline(prediction)
    products = {unit.name for unit in prediction.design.of_kind(Matmul)}
    multiplying = [a for a in rows if a.unit in products]
    if multiplying:
        most = max(multiplying, key=lambda a: a.busy)
        found.append((f"the multipliers of {most.unit}", most.busy))
    counted = products | {unit.name for unit in prediction.design.of_kind(Memory)}
    others = [a for a in rows if a.unit not in counted]
    if others:
        most = max(others, key=lambda a: a.busy)
        found.append((f"{most.unit}, the busiest other unit", most.busy))
    return found


def _phases(path: Sequence[Span], key: Any, cycles: int) -> list[list[Span]]:
    """The path in pieces that belong together: of alike units, and not too short."""
    if len(path) > MOST_SPANS:
        path = _pieces(path, key, cycles)
    phases: list[list[Span]] = []
    for span in path:
        if phases and key(phases[-1][-1]) == key(span):
            phases[-1].append(span)
        else:
            phases.append([span])
    while len(phases) > 1:
        n = min(range(len(phases)), key=lambda n: _length(phases[n]))
        if _length(phases[n]) >= SHORTEST * cycles and len(phases) <= MOST_PHASES:
            break
        near = [m for m in (n - 1, n + 1) if 0 <= m < len(phases)]
        into = max(near, key=lambda m: _length(phases[m]))
        first, second = sorted((n, into))
        phases[first] += phases.pop(second)
        for left in (first, first - 1):  # what was apart by the short one is one phase now
            if 0 <= left < len(phases) - 1 and _main(phases[left], key) == _main(
                phases[left + 1], key
            ):
                phases[left] += phases.pop(left + 1)
    return phases


def _main(spans: Sequence[Span], key: Any) -> Any:
    spent: Counter[Any] = Counter()
    for span in spans:
        spent[key(span)] += span.last - span.first
    return max(spent, key=lambda one: spent[one])


def _length(spans: Sequence[Span]) -> int:
    return spans[-1].last - spans[0].first


def _pieces(path: Sequence[Span], key: Any, cycles: int) -> list[Span]:
    """A span for each of `PIECES` of a run: that of the actor which is there longest."""
    edges = np.linspace(0, cycles, PIECES + 1).astype(int).tolist()
    spent: list[Counter[tuple[str, str]]] = [Counter() for _ in range(PIECES)]
    place = 0
    for span in path:
        while edges[place + 1] <= span.first:
            place += 1
        n = place
        while n < PIECES and edges[n] < span.last:
            both = min(span.last, edges[n + 1]) - max(span.first, edges[n])
            spent[n][span.unit, span.does] += both
            n += 1
    return [
        Span(edges[n], edges[n + 1], *spent[n].most_common(1)[0][0])
        for n in range(PIECES)
        if spent[n]
    ]


class _Sentences:
    """Sentences about one run."""

    def __init__(self, prediction: Prediction, alike: Mapping[str, Sequence[str]]) -> None:
        self.prediction, self.alike, self.cycles = prediction, alike, prediction.cycles
        units = {unit.name: unit for unit in prediction.design.units}
        self.kinds = {name: unit.kind for name, unit in units.items()}
        self.off_chip = {
            name for name, unit in units.items() if isinstance(unit.params, Memory | Axi)
        }
        self.rows = {(a.unit, a.name): a for a in prediction.activities}
        self.mains = outline(prediction)

    def key(self, span: Span) -> Any:
        """What spans of one phase have in common."""
        if span.unit in self.off_chip:
            return MEMORY
        return tuple(self.alike.get(span.unit, (span.unit,)))

    def called(self, unit: str) -> str:
        """A unit in a sentence."""
        return f"the {MEMORY}" if unit in self.off_chip else f"{unit} ({self.kinds[unit]})"

    def lead(self, path: Sequence[Span]) -> str:
        """The sentence above all others."""
        spent: Counter[str] = Counter()
        for span in path:
            spent[self.called(span.unit)] += span.last - span.first
        most = [(who, n) for who, n in spent.most_common(3) if n >= SHORTEST * self.cycles]
        if not most:
            return f"No unit limits the run by itself: beats pass through {len(spent)} in turn."
        seldom = self._acts(path, most[0][0]) < SELDOM
        limits = "is waited for in" if seldom else "limits"
        parts = [f"{who} {limits} {_percent(n, self.cycles)} of the cycles" for who, n in most[:1]]
        parts += [f"{who} {_percent(n, self.cycles)}" for who, n in most[1:]]
        text = _listed(parts)
        if seldom:
            return f"Latencies limit the run more than the speed of a unit: {text}."
        return f"{text[:1].upper()}{text[1:]}." if text.startswith("the ") else f"{text}."

    def uneven(self, path: Sequence[Span]) -> list[str]:
        """Whether the unit that limits most has more to do than others that are alike."""
        units: Counter[str] = Counter()
        for span in path:
            units[span.unit] += span.last - span.first
        who, most = units.most_common(1)[0]
        busy = {a.unit: a.busy for a in self.mains}
        members = [one for one in self.alike.get(who, ()) if one in busy]
        mean = sum(busy[one] for one in members) / max(1, len(members))
        if most < LIMITS * self.cycles or who not in members or busy[who] <= UNEVEN * mean:
            return []
        return [
            f"Of {len(members)} alike units {self.called(who)} has more to do than most: it acts "
            f"in {busy[who]:,} cycles, and they in {round(mean):,} on average."
        ]

    def losses(self, path: Sequence[Span]) -> list[str]:
        """What passes before, between and after the actions of the unit that limits most."""
        units: Counter[str] = Counter()
        actors: Counter[tuple[str, str]] = Counter()
        for span in path:
            units[self.called(span.unit)] += span.last - span.first
            actors[span.unit, span.does] += span.last - span.first
        who, most = units.most_common(1)[0]
        if most < LIMITS * self.cycles or self._acts(path, who) < SELDOM:
            return []
        # The part of it that the timeline shows, where that is on the path.
        mains = {(a.unit, a.name) for a in self.mains}
        parts = [actor for actor, _ in actors.most_common() if self.called(actor[0]) == who]
        unit, does = next((part for part in parts if part in mains), parts[0])
        row = self.rows[unit, does]
        acts = np.flatnonzero(row.states == STATES.index(BUSY))
        ends = np.append(row.changes[1:], self.cycles)
        first, last = (int(row.changes[acts[0]]), int(ends[acts[-1]])) if acts.size else (0, 0)
        busy = round(float(shares(row, np.array([0, self.cycles], float))[0, 0] * self.cycles))
        before = [span for span in path if span.first < first]
        after = [span for span in path if span.first >= last]
        return [
            f"Lost at the start: {first:,} cycles before {who} begins"
            f"{self._there(before, who, does)}.",
            f"Lost in between: {last - first - busy:,} cycles in which {who} waits.",
            f"Lost at the end: {self.cycles - last:,} cycles after the last one in which {who} "
            f"acts{self._there(after, who, does)}.",
        ]

    def _acts(self, path: Sequence[Span], who: str) -> float:
        """Share of the cycles of a unit on the path in which it acts."""
        edges: dict[tuple[str, str], list[int]] = {}
        for span in path:
            if self.called(span.unit) == who:
                edges.setdefault((span.unit, span.does), []).extend((span.first, span.last))
        acts = total = 0.0
        for actor, places in edges.items():
            spans = np.array(places, float)
            lengths = np.diff(spans)[::2]
            acts += float(shares(self.rows[actor], spans)[0, ::2] @ lengths)
            total += float(lengths.sum())
        return acts / max(1.0, total)

    def _there(self, spans: Sequence[Span], who: str, does: str) -> str:
        """What limits the run while a unit does not act."""
        if not spans:
            return ""
        main = _main(spans, lambda span: self.called(span.unit))
        if main == who:
            part = _main([s for s in spans if self.called(s.unit) == who], lambda span: span.does)
            main = "its own latency" if part == does else f"another part of it ({part})"
        return f", most of them limited by {main}"

    def phase(self, spans: Sequence[Span]) -> Phase:
        """A phase with its sentence."""
        first, last = spans[0].first, spans[-1].last
        main = _main(spans, self.key)
        own: Counter[tuple[str, str]] = Counter()
        for span in spans:
            if self.key(span) == main:
                own[span.unit, span.does] += span.last - span.first
        (unit, does), most = own.most_common(1)[0]
        several = len({u for u, _ in own}) > 1 and main != MEMORY
        length = last - first
        together = several and most < ALONE * sum(own.values())
        edges = np.array([first, last], float)
        busy = float(shares(self.rows[unit, does], edges)[0, 0])
        who = self.called(unit)
        if most < HALF * length:
            units = len({span.unit for span in spans})
            says = f"beats pass through {units} units in turn, longest through {who}"
        elif together:
            names = sorted({u for u, _ in own}, key=list(main).index)
            kind = self.kinds[unit]
            says = f"{len(names)} alike units ({kind}) limit in turn: {_listed(names)}"
        elif busy < SELDOM:
            says = (
                f"{who} is waited for, although it {_does(main == MEMORY)} in only "
                f"{100 * busy:.0f} % of the cycles: latencies limit, not its speed"
            )
        else:
            says = f"{who} limits: it {_does(main == MEMORY)} in {100 * busy:.0f} % of the cycles"
            others = self._as_busy(edges, busy, unit)
            if others:
                says += f"; as busy: {_listed(others)}"
        if says.startswith(("the ", "beats ")):
            says = f"{says[:1].upper()}{says[1:]}"
        return Phase(first, last, unit, does, busy, f"{says}.")

    def _as_busy(self, edges: Any, busy: float, unit: str) -> list[str]:
        """Other units that act as often in some cycles."""
        return [
            a.unit
            for a in self.mains
            if a.unit != unit
            and a.unit not in self.off_chip
            and shares(a, edges)[0, 0] >= AS_BUSY * busy
        ]


def _does(memory: bool) -> str:
    return "moves a word" if memory else "acts"


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.0f} %"
