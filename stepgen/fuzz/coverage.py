"""What a campaign has reached: pairs of operators, extents, formats, states of units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stepgen.compile.circuit import circuits
from stepgen.fuzz import branches
from stepgen.fuzz.case import Case
from stepgen.ir.function import Function, function_types
from stepgen.ir.lanes import usual_lanes
from stepgen.ir.operator import operators, own_operators
from stepgen.ir.stream import Node, Stream
from stepgen.timing.model import Prediction
from stepgen.timing.states import STATES

WHAT = {
    "operator": "operators and functions",
    "pair": "pairs of operators, one fed by the other",
    "step": "steps of the generator",
    "element": "element types of streams",
    "rank": "ranks of streams",
    "extent": "extents of input dims",
    "lanes": "lanes",
    "bus": "data widths of the bus",
    "burst": "words of a burst",
    "depths": "depths of FIFOs",
    "around": "circumstances of a run",
    "unit": "kinds of units",
    "state": "states of actors: unit, actor, and what it did or waited for",
    "branch": "branches of the actors' cycle models: condition, and how it was decided",
    "makes": "steps of the generator, and kinds of units in their programs",
}
"""Kinds of facts; a fact is its kind and what was seen, as ``"lanes 4"``."""

_LARGE = 8
"""Extents from here on count as one."""


def facts(case: Case, steps: Iterable[str], prediction: Prediction) -> set[str]:
    """What one case has reached, but for branches."""
    kinds = {unit.params.kind for unit in prediction.design.units}
    return {
        *(f"step {step}" for step in steps),
        *(f"makes {step} > {kind}" for step in steps for kind in kinds),
        *_of_graph(case),
        *_of_run(case),
        *(f"unit {kind}" for kind in kinds),
        *_of_units(prediction),
    }


def _of_graph(case: Case) -> Iterator[str]:
    for node in case.graph.nodes:
        yield f"operator {_called(node)}"
        for stream in node.inputs:
            yield f"pair {_called(stream.resolved().node)} > {_called(node)}"
        for stream in node.outputs:
            yield f"element {getattr(stream.dtype, 'element', type(stream.dtype).__name__)}"
            yield f"rank {stream.rank}"
    for name, stream in case.graph.inputs.items():
        yield from (f"extent {n}" for n in _extents(case.inputs[name], stream))


def _called(node: Node) -> str:
    fn = node.attrs.get("fn")
    return node.op if fn is None else f"{node.op} {fn.name}"


def _extents(value: Any, stream: Stream) -> set[str]:
    found: set[str] = set()
    level = [value]
    for _ in stream.shape:
        found |= {str(len(item)) if len(item) < _LARGE else f"{_LARGE}+" for item in level}
        level = [inner for item in level for inner in item]
    return found


def _of_run(case: Case) -> Iterator[str]:
    yield f"lanes {usual_lanes(case.lanes)}"
    if not isinstance(case.lanes, int):
        yield "around lanes of single operators"
    if case.graph.tensors:
        yield f"bus {case.bus.data_bits}"
        yield f"burst {case.bus.burst}"
    yield "depths asked for" if case.depths else "depths derived"
    if case.onchip is not None:
        yield "around scarce memory"
    worst = max(case.stalls.probability.values(), default=0.0)
    yield f"around stalls up to {worst}"
    if any(case.stalls.late.values()):
        yield "around late"
    yield from (f"around {name} refused: {case.response}" for name in case.refused)
    yield from (f"around {what}" for what in ("early", "aborts", "junk") if getattr(case, what))


def _of_units(prediction: Prediction) -> Iterator[str]:
    kinds = {unit.name: unit.params.kind for unit in prediction.design.units}
    for activity in prediction.activities:
        for state in STATES:
            if getattr(activity, state) and activity.unit in kinds:
                yield f"state {kinds[activity.unit]} {activity.name} {state}"


def unreached(reached: Iterable[str]) -> list[str]:
    """The branches that no program took but a valid one may, as file, line and answer."""
    seen = {fact.removeprefix("branch ") for fact in reached}
    return sorted(branches.every().keys() - branches.unreachable().keys() - seen)


def sought(reached: Iterable[str]) -> list[str]:
    """The kinds of units of whose branches some were not taken."""
    return sorted({name.partition("/")[0] for name in unreached(reached)})


def wanted(reached: Mapping[str, int], cases: int) -> dict[str, float]:
    """How much more often steps are to be drawn, for branches that no program took.

    A step counts for the units that programs with it have more often than others.
    """
    missing = Counter(name.partition("/")[0] for name in unreached(reached))
    found = {}
    for step in (fact.partition(" ")[2] for fact in reached if fact.startswith("step ")):
        times = reached[f"step {step}"]
        more = {
            kind: reached.get(f"makes {step} > {kind}", 0) / times
            - reached.get(f"unit {kind}", 0) / cases
            for kind in missing
        }
        found[step] = 1 + sum(max(0.0, more[kind]) * missing[kind] for kind in missing)
    return found


def own_functions() -> dict[str, type[Function]]:
    """The functions of users' own, by name."""
    return {
        name: kind
        for name, kind in function_types().items()
        if not kind.__module__.startswith("stepgen.")
    }


def imported(reached: Mapping[str, int], refused: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """How often functions and operators of users' own were in a case that was compared.

    Parameters
    ----------
    reached, refused : mapping of str to int
        Of a `Tally`.

    Returns
    -------
    dict of str to (int, str)
        By name: the number of cases, over all operators that apply a function; and why it is 0.
    """
    found = {}
    for name in (*own_functions(), *own_operators()):
        uses = [f"operator {name}", *(f"operator {op} {name}" for op in operators())]
        count, why = sum(reached.get(use, 0) for use in uses), ""
        if not count:
            said = {text: n for text, n in refused.items() if re.search(rf"\b{name}\b", text)}
            why = max(said, key=lambda text: said[text], default="not drawn so far")
            if name in own_operators() and name not in circuits():
                why = "it has no circuit"
        found[name] = count, why.rpartition(" at the fuzzer: ")[2]
    return found


def by_file(names: Iterable[str]) -> dict[str, int]:
    """How many of these branches each file of a cycle model has, most first."""
    return dict(Counter(name.partition(":")[0] for name in names).most_common())


def by_kind(reached: Counter[str]) -> dict[str, Counter[str]]:
    """The facts of a campaign by their kind."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in WHAT}
    for fact, count in reached.items():
        kind, _, what = fact.partition(" ")
        found[kind][what] += count
    return found
