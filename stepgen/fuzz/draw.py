"""Draws cases: a program, its data, and the circumstances of its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stepgen.compile.budget import KIB
from stepgen.compile.cost import on_chip_bits
from stepgen.compile.needs import TooLarge
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import with_all
from stepgen.fuzz.coverage import own_functions
from stepgen.fuzz.generators import loops, regions, waiting
from stepgen.fuzz.generators.drawing import some_lanes
from stepgen.fuzz.generators.full import STEPS, Drawn, Scale
from stepgen.fuzz.generators.plain import draw as draw_program
from stepgen.hw.design.sharing import LOADERS
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import usual_lanes
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.operator import own_operators
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.ir.where import placed
from stepgen.program.inputs import complete

LOOPS = 0.04
"""Share of programs that are loops."""
REGIONS = 0.02
"""Share of programs whose requests go to the region that is free."""
SCARCE = 0.3
"""Share of designs with derived FIFOs whose on-chip memory is scarce."""
LANES_APART = 0.2
"""Share of designs in which single operators have lanes of their own."""
WAITING = 0.005
"""Share of programs that deadlock, since a reference waits for what it causes."""

Pairs = Mapping[tuple[str, str], int]
Wanted = Mapping[str, float]


def scale(rng: np.random.Generator) -> Scale:
    """How large a program may get, drawn; what is large in one thing is small in others."""
    small = rng.random() < 0.7
    return Scale(
        lanes=int(rng.choice([1, 2, 4, 8, 16])),
        bound=int(rng.choice([1, 2, 3, 5] if small else [8, 17, 40])),
        beats=int(rng.choice([1, 2, 3] if small else [1, 5, 9])),
        data_bits=int(rng.choice([32, 32, 32, 64, 64, 128, 256, 512, 1024])),
        burst=int(rng.choice([1, 2, 4, 16, 64])),
        outstanding=int(rng.choice([1, 2, 8, 70])),
        latency=int(rng.choice([1, 16, 16, 90])),
    )


def case(
    seed: int, number: int, pairs: Pairs | None = None
) -> tuple[Case, tuple[str, ...], Counter[str]]:
    """The case of a number in a campaign.

    Parameters
    ----------
    seed, number : int
        They decide everything, together with `pairs`.
    pairs : mapping, optional
        How often one step has followed another: what was rare is drawn more often.

    Returns
    -------
    Case
    tuple of str
        The steps that its program is made of.
    Counter
        Refusals of steps that were tried, by message.
    """
    (first,), steps, refused = cases(seed, number, pairs)
    return first, steps, refused


def cases(
    seed: int,
    number: int,
    pairs: Pairs | None = None,
    runs: int = 1,
    wanted: Wanted | None = None,
) -> tuple[tuple[Case, ...], tuple[str, ...], Counter[str]]:
    """Several cases on one design, which is what takes most of the time: other data, other runs.

    Parameters
    ----------
    seed, number, pairs
        As for `case`, which is the first.
    runs : int
        How many, at most: inputs that get too large are left out.
    wanted : mapping, optional
        How much more often steps are drawn; 1 for those that are missing.

    Returns
    -------
    tuple of Case
    tuple of str
    Counter
        As of `case`.
    """
    # Nodes get one place, since lines of the generator do not show what was drawn.
    return placed("the fuzzer", lambda: _cases(seed, number, pairs or {}, wanted or {}, runs))


OWN = 8.0
"""How much more often the steps with functions and operators of users' own are drawn."""


def _cases(
    seed: int, number: int, pairs: Pairs, wanted: Wanted, runs: int
) -> tuple[tuple[Case, ...], tuple[str, ...], Counter[str]]:
    rng = np.random.default_rng([seed, number])
    more = [np.random.default_rng([seed, number, n]) for n in range(1, runs)]
    family = rng.random()
    if family < WAITING:
        lanes = int(rng.choice([1, 2, 4]))
        graph, inputs = waiting.drawn(int(rng.integers(1 << 30)), lanes)
        first = Case(graph, inputs, lanes=lanes)
        shallow = with_all(first.experiment().design, 2)
        return (around(replace(first, depths=shallow), rng),), ("waiting",), Counter()
    if family < WAITING + LOOPS:
        turns = loops.drawn(int(rng.integers(1 << 30)))
        graph, inputs = loops.loop(turns)
        first = circumstances(Case(graph, inputs, lanes=2), rng)
        others = []
        for own in more:
            other = replace(loops.drawn(int(own.integers(1 << 30))), order=turns.order)
            ways = None if turns.ways is None else [[1, 0], [0, 1]] * len(other.leaving)
            other = replace(other, ways=ways)
            others.append(around(replace(first, inputs=loops.loop(other)[1]), own))
        return (first, *others), ("loop",), Counter()
    if family < WAITING + LOOPS + REGIONS:
        chosen, lanes = int(rng.integers(1 << 30)), int(rng.choice([1, 2, 4]))
        graph, inputs = regions.drawn(chosen)
        first = circumstances(Case(graph, inputs, lanes=lanes), rng)
        others = [
            around(replace(first, inputs=regions.drawn(chosen, int(own.integers(1 << 30)))[1]), own)
            for own in more
        ]
        return (first, *others), ("regions",), Counter()
    names = _steered(rng, pairs, wanted)
    while True:
        large = scale(rng)
        start, size = int(rng.integers(1 << 30)), int(rng.integers(1, 6))
        try:
            program, steps, refused = draw_program(
                start, size, partial(Drawn, scale=large), names=names
            )
        except StepError:  # what it begins with is too large
            continue
        inputs = complete(program.graph, program.inputs, seed=number)
        drawn = Case(program.graph, inputs, lanes=large.lanes, bus=large.bus)
        first = circumstances(drawn, rng)
        others = []
        for own in more:
            try:
                program.redraw(int(own.integers(1 << 30)))
            except StepError:  # too large
                continue
            inputs = complete(program.graph, program.inputs, seed=int(own.integers(1 << 30)))
            others.append(around(replace(first, inputs=inputs), own))
        return (first, *others), tuple(steps), refused


def _steered(rng: np.random.Generator, pairs: Pairs, wanted: Wanted) -> list[str]:
    """Steps to draw from; the rarer a step was beside others so far, the more often it is there."""
    met: Counter[str] = Counter()
    for (one, other), count in pairs.items():
        met[one] += count
        met[other] += count
    least = 1 + min((met[name] for name in STEPS), default=0)
    often = {"own": bool(own_operators()), "function": bool(own_functions())}
    weight = np.array(
        [
            (OWN if often.get(name) else 1.0) * wanted.get(name, 1.0) * least / (1 + met[name])
            for name in STEPS
        ]
    )
    return [str(n) for n in rng.choice(STEPS, 40, p=weight / weight.sum())]


def circumstances(drawn: Case, rng: np.random.Generator) -> Case:
    """The case with drawn depths, fused units and shared loaders or none, and what is `around`."""
    drawn, number = _with_lanes(drawn, rng), rng.random()
    loaders = LOADERS[int(10 * number % 1 < 0.5)]
    drawn = replace(drawn, fuse=bool(number < 0.6), loaders=loaders)
    try:
        design = drawn.experiment().design
    except Exception:  # compare will say what is wrong
        return drawn
    how = rng.choice(["derived", "drawn", "least"], p=[0.6, 0.25, 0.15])
    depths: dict[str, int] = {}
    if how == "least":
        depths = with_all(design, 2)
    elif how == "drawn":
        depths = {
            c.name: c.depth + int(rng.choice([0, 1, 5, 70]))
            for c in design.channels
            if rng.random() < 0.5
        }
    elif rng.random() < SCARCE:
        drawn = replace(drawn, onchip=budget(drawn, design, float(rng.choice([0, rng.random()]))))
    return around(replace(drawn, depths=depths), rng)


def _with_lanes(drawn: Case, rng: np.random.Generator) -> Case:
    """The case with other lanes of single operators, where these have circuits then."""
    if rng.random() > LANES_APART:
        return drawn
    other = replace(drawn, lanes=some_lanes(drawn.graph, usual_lanes(drawn.lanes), rng))
    try:
        assert other.experiment().design
    except Exception:  # lanes that tiles do not fit, or compare will say what is wrong
        return drawn
    return other


def budget(drawn: Case, design: Design, share: float) -> float:
    """KiB of on-chip memory: what the case takes at least, and a share of what it takes more."""
    least = most = on_chip_bits(design)
    try:
        assert drawn.experiment(onchip=1 / KIB).design
    except TooLarge as error:
        least = error.bits
    return (least + int(share * (most - least))) / KIB


def stall_shares(
    inputs: Sequence[str], outputs: Sequence[str], rng: np.random.Generator
) -> dict[str, float]:
    """Shares of stalls by name, in one of three ways.

    None at all; for each channel its own; or slow inputs before slow outputs: then FIFOs before
    units are empty, and what idle inputs show is on their heads, while those behind are full, so
    that units act late on what they have stored.
    """
    some, slow = (0, 0, 0.05, 0.3, 0.7, 0.95), (0.3, 0.5, 0.7, 0.9)
    how = rng.choice(["none", "own", "slow"], p=[0.2, 0.4, 0.4])
    if how == "none":
        return {}
    ports = slow if how == "slow" else some
    shares = {name: float(rng.choice(ports)) for name in (*inputs, *outputs)}
    memory = (0, 0, 0, 0.3) if how == "slow" else some
    return shares | {name: float(rng.choice(memory)) for name in MEMORY_CHANNELS}


def around(drawn: Case, rng: np.random.Generator) -> Case:
    """The case with a drawn memory and its errors, stalls, early and late ports, aborted runs."""
    shares = stall_shares([*drawn.graph.inputs], [*drawn.graph.outputs], rng)
    late: dict[str, int] = {}
    if rng.random() < 0.3:
        ports = (*drawn.graph.inputs, *drawn.graph.outputs)
        late = {name: int(rng.choice([0, 0, 1, 40, 700, 3000])) for name in ports}

    def memory() -> dict[str, Any]:
        return {
            "latency": int(rng.choice([1, 1, 2, 9, 30, 80])),
            "interval": int(rng.choice([1, 1, 2, 5])),
            "outstanding": int(rng.choice([1, 2, 16, 64])),
        }

    reads, writes = memory(), memory()
    timing = {f"read_{k}": v for k, v in reads.items()}
    timing |= {f"write_{k}": v for k, v in writes.items()}
    return replace(
        drawn,
        memory=MemoryTiming(**timing),
        stalls=Stalls(int(rng.integers(1 << 30)), shares, late),
        early=tuple(name for name in drawn.graph.inputs if rng.random() < 0.4),
        aborts=tuple(float(c) for c in 1.1 * rng.random(int(rng.choice([0, 0, 1, 2, 4])))),
        refused={
            name: float(rng.random())
            for name in ("read", "write")
            if drawn.graph.tensors and rng.random() < 0.3
        },
        response="DECERR" if rng.random() < 0.5 else "SLVERR",
        junk=rng.random() < 0.5,
    )
