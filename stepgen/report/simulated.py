"""Reports of timing simulations, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from stepgen.ir.metrics import metrics
from stepgen.ir.policy import PAPER, PUBLISHED
from stepgen.program import values
from stepgen.program.program import Program
from stepgen.report.console import MOST_UNITS, percent, table
from stepgen.report.timeline import MAIN_ACTORS
from stepgen.timing.states import STATES
from stepgen.timing.tiles.report import Operator, Run

_NUMBERS = {
    "elements": "elements",
    "off_chip_bytes": "off-chip bytes",
    "on_chip_bytes": "on-chip bytes",
    "flops": "FLOPs",
}
"""Columns of both tables, by the keys of an operator's entry."""


def document(program: Program, run: Run) -> dict[str, Any]:
    """A run, for ``--json``.

    Parameters
    ----------
    program : Program
        The simulated program.
    run : Run
        Its run.

    Returns
    -------
    dict
        ``program``, ``machine``, ``policy``, ``cycles``; ``off_chip_bytes`` (``moved``,
        ``symbolic``: by the formula of the machine's accounting model, None where some dims are not
        known, and ``open``: those dims), ``on_chip_bytes`` (``peak``, ``given``), ``flops``
        (``useful``, ``padding``), ``flops_per_cycle`` and ``bytes_per_cycle`` at most,
        ``compute_utilization``, ``bandwidth_utilization``; ``operators``, the busiest first; and
        ``choices``, the inputs that each merge took in order of time.
    """
    symbolic, missing = _symbolic_traffic(program, run)
    functions = {n.name: n.attrs["fn"].name for n in program.graph.nodes if "fn" in n.attrs}
    spent = {
        unit: counts
        for (unit, name), counts in zip(run.trace.names, run.trace.counts.tolist(), strict=True)
        if name in MAIN_ACTORS
    }
    operators = [
        _operator(o, functions.get(o.name), spent[o.name], run.cycles)
        for o in run.operators.values()
    ]
    return {
        "program": program.name,
        "machine": run.machine.name,
        "policy": run.machine.policy.name,
        "cycles": run.cycles,
        "off_chip_bytes": {"moved": run.traffic, "symbolic": symbolic, "open": missing},
        "on_chip_bytes": {"peak": run.memory_peak, "given": run.memory_allocated},
        "flops": {"useful": run.flops_useful, "padding": run.flops_padding},
        "flops_per_cycle": run.compute,
        "bytes_per_cycle": run.machine.memory.peak,
        "compute_utilization": run.compute_utilization,
        "bandwidth_utilization": run.bandwidth_utilization,
        "operators": sorted(operators, key=lambda o: -o["busy_share"]),
        "choices": run.choices,
    }


def _symbolic_traffic(program: Program, run: Run) -> tuple[int | None, list[str] | None]:
    """Off-chip bytes by formula, and the dims that keep it from being a number.

    Dims that were decided at run time, such as the number of requests of a region, are
    counted in the run. None and None where the machine has an accounting model of its own, for
    which there is no formula.
    """
    policy = run.machine.policy
    if policy not in (PAPER, PUBLISHED):
        return None, None
    traffic = metrics(program.graph, policy.name).traffic
    symbols = sorted(traffic.free_symbols, key=str)
    elements = {o.name: o.tokens for o in run.operators.values()}
    known = values.dims(program, symbols, run=False, elements=elements)
    missing = [s.name for s in symbols if s.name not in known]
    if missing:
        return None, missing
    return int(traffic.evaluate(known)), []


def _operator(
    o: Operator, function: str | None, spent: Sequence[int], cycles: int
) -> dict[str, Any]:
    """One operator; a load is busy while it sends, whatever it has requested meanwhile."""
    states = dict(zip(STATES, spent, strict=True))
    return {
        "operator": o.name,
        "kind": o.op if function is None else f"{o.op} {function}",
        **states,
        **{f"{state}_share": number / max(1, cycles) for state, number in states.items()},
        "elements": o.tokens,
        "off_chip_bytes": o.traffic,
        "on_chip_bytes": o.memory,
        "flops": o.useful + o.padding,
        "flops_on_padding": o.padding,
    }


def parts(
    data: Mapping[str, Any], *, top: int | None = None, every: bool = False
) -> Iterator[RenderableType]:
    """The contents of `document`, as tables and lines.

    Parameters
    ----------
    data : mapping
        From `document`.
    top : int, optional
        Show only so many of the busiest operators.
    every : bool
        Show every operator.
    """
    operators = data["operators"]
    if not every and top is None and len(operators) > MOST_UNITS:
        yield _kinds(operators)
    else:
        shown = operators if every else operators[:top]
        yield _operators(shown, len(operators) - len(shown))
    yield f"{data['cycles']:,} cycles on {data['machine']}"
    yield _off_chip(data)
    held = data["on_chip_bytes"]
    yield f"on-chip {held['peak']:,} bytes at most at one time, {held['given']:,} for operators"
    flops = data["flops"]
    yield f"{flops['useful']:,} FLOPs, and {flops['padding']:,} on padding"
    yield (
        f"compute {percent(data['compute_utilization'])} used of "
        f"{data['flops_per_cycle']:,} FLOPs per cycle, off-chip bandwidth "
        f"{percent(data['bandwidth_utilization'])} of {data['bytes_per_cycle']:,.10g} bytes per "
        "cycle"
    )


def _off_chip(data: Mapping[str, Any]) -> str:
    moved, symbolic, missing = (data["off_chip_bytes"][k] for k in ("moved", "symbolic", "open"))
    said = f"off-chip {moved:,} bytes"
    if symbolic == moved:
        return f"{said}, as by formula (accounting model {data['policy']})"
    if symbolic is not None:
        return f"{said}, but {symbolic:,} by formula (accounting model {data['policy']})"
    if missing is None:
        return f"{said}; there is no formula for the machine's accounting model"
    some = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
    return f"{said}; the formula has no value, since neither inputs nor run determine {some}"


def _operators(shown: Sequence[Mapping[str, Any]], left_out: int) -> RenderableType:
    rows = [
        (
            o["operator"],
            o["kind"],
            *(percent(o[f"{state}_share"]) for state in STATES),
            *(o[key] or None for key in _NUMBERS),
        )
        for o in shown
    ]
    title = f"Operators, {left_out:,} less busy ones left out" if left_out else "Operators"
    return table(title, "operator", "kind", *STATES, *_NUMBERS.values(), rows=rows, left=2)


def _kinds(operators: Sequence[Mapping[str, Any]]) -> RenderableType:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for operator in operators:  # which come busiest first, so groups do too
        groups.setdefault(operator["kind"], []).append(operator)
    rows = [
        (
            kind,
            len(group),
            *(percent(sum(o[f"{s}_share"] for o in group) / len(group)) for s in STATES),
            *(sum(o[key] for o in group) or None for key in _NUMBERS),
            group[0]["operator"],
            percent(group[0]["busy_share"]),
        )
        for kind, group in groups.items()
    ]
    heads = ("kind", "operators", *STATES, *_NUMBERS.values(), "busiest", "busy")
    return table("Kinds of operators, shares on average", *heads, rows=rows)
