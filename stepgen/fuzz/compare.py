"""Holds all faces of one case against each other: reference, both timings, and the RTL."""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from stepgen.compile.circuit import circuit_of
from stepgen.compile.cost import hardware, traffic_varies
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.cosim.simulators import Simulator
from stepgen.fuzz import structure
from stepgen.fuzz.case import MAX_CYCLES, Case
from stepgen.hw.design.table import Design, DesignError
from stepgen.ir.dtypes import Tile, TupleType, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.lanes import lanes_by_node, usual_lanes
from stepgen.ir.metrics import metrics
from stepgen.ir.stream import Stream
from stepgen.ir.wire import VALUE, same_bits
from stepgen.program import tiles
from stepgen.semantics.executor import Result
from stepgen.semantics.shapes import measure
from stepgen.timing.deadlock import MOST_NAMED, Deadlock
from stepgen.timing.drive import TooLong
from stepgen.timing.model import Fault, Prediction
from stepgen.timing.tiles.machines import SDA

AMPLE = 1 << 14
"""Beats of a FIFO that is never full in these runs."""

DRIVERS = {"verilator": "cpp", "icarus": "cocotb"}
"""The quickest driver of each simulator."""

TILES = replace(SDA, fifo_depth=4096)
"""The machine on which totals are compared: what they are does not depend on it."""


@dataclass(frozen=True)
class Verdict:
    """What came out of a case.

    Attributes
    ----------
    status : str
        ``"agrees"``; ``"refused"``, if a face refuses the program; or ``"failed"``.
    says : str
        The refusal, or what differs.
    prediction : Prediction or None
        The cycle model's run, where there was one.
    untimed : tuple of str
        Why there was no timing on tiles.
    stops : bool
        Whether the run ends in an error, as it does in the reference.
    """

    status: Literal["agrees", "refused", "failed"]
    says: str = ""
    prediction: Prediction | None = None
    untimed: tuple[str, ...] = ()
    stops: bool = False

    @property
    def signature(self) -> str:
        """What failed or refused, without the names and numbers of this case."""
        return re.sub(r"\w*\d\w*", "#", f"{self.status}: {self.says}".splitlines()[0])[:160]


class _Failed(Exception):
    """A difference between two faces."""


def compare(case: Case, *, rtl: bool = True) -> Verdict:
    """Run a case through all faces.

    Parameters
    ----------
    case : Case
    rtl : bool
        Whether to simulate the Verilog too, which takes most of the time; the case says by what.
    """
    return compare_all([case], rtl=rtl)[0]


def compare_all(cases: Sequence[Case], *, rtl: bool = True, levels: bool = True) -> list[Verdict]:
    """Run several cases on one design through all faces; the Verilog is built once.

    Parameters
    ----------
    cases : sequence of Case
        They differ in inputs and in what is around the design, and have one simulator.
    rtl : bool
        As for `compare`.
    levels : bool
        Whether to compare the levels of the cycle model's beats too, for which it runs again.

    Returns
    -------
    list of Verdict
        One per case; just one where there is no design.
    """
    verdicts: list[Verdict] = []
    experiments: list[tuple[int, Experiment]] = []
    built: Design | None = None
    for number, case in enumerate(cases):
        experiment = case.experiment(built=built)
        verdicts.append(_modelled(case, experiment, levels))
        if "design" not in vars(experiment):
            return verdicts
        built = experiment.design
        if verdicts[-1].stops:
            experiments.append((number, replace(experiment, built=built, stops=True)))
        elif verdicts[-1].prediction is not None:
            experiments += ((number, one) for one in case.disturbed(experiment))
    if rtl and experiments:
        found = _simulated([one for _, one in experiments], cases[0].simulator)
        for (number, _), says in zip(experiments, found, strict=True):
            if says and verdicts[number].status == "agrees":
                verdicts[number] = replace(verdicts[number], status="failed", says=says)
    return verdicts


def _modelled(case: Case, experiment: Experiment, levels: bool) -> Verdict:
    """Everything but the RTL."""
    try:
        try:
            assert experiment.design
        except DesignError as error:
            raise _Failed(f"lowering made no right design table: {error}") from None
        except StepError as error:
            return Verdict("refused", f"lowering: {error}")
        try:
            prediction = experiment.prediction
        except Fault as fault:
            return _of_fault(experiment, fault)
        except Deadlock as deadlock:
            try:
                return _of_deadlock(case, experiment, deadlock)
            except TooLong as error:
                return Verdict("refused", f"cycle model: {error}")
        except StepError as error:
            return Verdict("refused", f"cycle model: {error}")
        try:
            reference = experiment.reference
        except StepError as error:
            return Verdict("refused", f"reference: {error}")
        _counted(case, prediction, reference)
        _moved(case, experiment, reference)
        if levels:
            _levels(case, experiment)
        untimed = _totals(case, reference)
        return Verdict("agrees", "", prediction, untimed)
    except _Failed as failure:
        return Verdict("failed", str(failure))
    except OSError:
        raise
    except Exception as error:  # a crash is what is looked for
        return Verdict("failed", _crash(error))


def _crash(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name} {place.name}: {error}"


def _simulated(experiments: Sequence[Experiment], simulator: Simulator) -> list[str]:
    """What differs in the RTL, of each experiment; empty where nothing does."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            verdicts = simulate(
                experiments,
                Path(folder),
                driver=DRIVERS[simulator],
                simulator=simulator,
                opt=LEAST_BUILD,
            )
    except OSError:
        raise
    except Exception as error:  # a crash is what is looked for
        return [_crash(error)] * len(experiments)
    return ["" if v.good else f"RTL: {v.outcome.faults[0]}" for v in verdicts]


def with_all(design: Design, depth: int) -> dict[str, int]:
    """One depth for all FIFOs of streams, or what their latency needs."""
    streams = [c for c in design.channels if c.rank is not None]
    return {c.name: max(depth, c.delay + 2) for c in streams}


def stuck(case: Case, depths: Mapping[str, int], max_cycles: int = MAX_CYCLES) -> Deadlock | None:
    """How a run with these depths stops before its end."""
    try:
        assert case.experiment(depths=depths, onchip=None, max_cycles=max_cycles).prediction
    except Deadlock as deadlock:
        return deadlock
    return None


def contradicts(deadlock: Deadlock) -> str:
    """The channel of which an explanation says what can't be; empty if it is consistent."""
    seen: dict[str, bool] = {}
    for one in deadlock.waiting:
        partly = one.state not in ("full", "empty")
        level = 0 < one.level < one.depth if partly else one.level == one.depth * one.full
        if not level or seen.setdefault(one.channel, one.full) != one.full:
            return one.channel
    return ""


def one_less(deadlock: Deadlock, design: Design) -> list[dict[str, int]]:
    """Depths, each one less than what a deadlock's advice says, where a design can have them.

    Depths that were looked for one by one are too low each, others together.
    """
    less = {
        name: depth - 1
        for name, depth in deadlock.remedy.items()
        if depth - 1 > max(design.channel[name].depth, design.channel[name].delay + 1)
    }
    if len(deadlock.remedy) > MOST_NAMED:
        return [less] if less.keys() == deadlock.remedy.keys() else []
    return [{name: depth} for name, depth in less.items()]


def _of_deadlock(case: Case, experiment: Experiment, deadlock: Deadlock) -> Verdict:
    """A deadlock is a failure with derived depths; with others its advice has to free it.

    No depth frees one in which the reference stops too, and no other.
    """
    design = experiment.design
    if contradiction := contradicts(deadlock):
        raise _Failed(f"{contradiction} in the explanation of a deadlock: {deadlock}")
    if stuck(case, with_all(design, AMPLE)):
        if deadlock.remedy:
            raise _Failed(f"advice that can't be right, no depth frees it: {deadlock}")
        try:
            assert experiment.reference
        except StepError:
            return Verdict("refused", f"data that stop at any depth: {deadlock}")
        raise _Failed(f"deadlock at any depth, where the reference ends: {deadlock}")
    if not case.depths:
        raise _Failed(f"deadlock at derived depths: {deadlock}")
    if not deadlock.remedy:
        raise _Failed(f"depths would free it, but none is advised: {deadlock}")
    advised = {**case.depths, **deadlock.remedy}
    if again := stuck(case, advised):
        raise _Failed(f"the advised depths do not free it: {deadlock}; then {again}")
    for depths in one_less(deadlock, design):
        if not stuck(case, {**advised, **depths}):
            raise _Failed(f"one less than the advised depth frees it too: {deadlock}")
    return Verdict("agrees", "a deadlock that its advice frees")


def _of_fault(experiment: Experiment, fault: Fault) -> Verdict:
    """An error of the cycle model is one of the reference, which the circuit is to show, too."""
    try:
        assert experiment.reference
    except StepError:
        return Verdict("agrees", f"an error of both: {fault}", stops=True)
    raise _Failed(f"the cycle model stops with an error, where the reference ends: {fault}")


def _levels(case: Case, experiment: Experiment) -> None:
    """Kinds and levels of the beats of the cycle model against those of the reference's streams."""
    sent, prompt = structure.sent(experiment), structure.prompt(experiment.design)
    lanes = lanes_by_node(case.graph, case.lanes)
    for channel, stream in _streams(case, experiment.reference, sent):
        if channel not in prompt:
            beats = experiment.reference.beats(stream.name, lanes[stream.node.name])
            wanted = structure.wanted(beats)
            differs = np.flatnonzero(sent[channel] != wanted)
            if len(differs):
                at = int(differs[0])
                raise _Failed(
                    f"beat {at} of {stream.name} is {structure.shown(sent[channel][at])} in the "
                    f"cycle model, expected {structure.shown(wanted[at])}"
                )


def _streams(
    case: Case, reference: Result, channels: Mapping[str, Any]
) -> Iterator[tuple[str, Stream]]:
    """The streams that are channels, with their names; tuples are not on the wire."""
    for node in case.graph.nodes:
        circuit = circuit_of(node)
        for stream in node.outputs:
            if isinstance(stream.dtype, TupleType) or (circuit and circuit.bundles):
                continue
            many = len(node.outputs) > 1
            channel = f"{node.name}_{stream.port}" if many else node.name
            if channel in channels and stream.name in reference.streams:
                yield channel, stream


def _counted(case: Case, prediction: Prediction, reference: Result) -> None:
    """The beats of the cycle model against those that the reference's streams have."""
    lanes = lanes_by_node(case.graph, case.lanes)
    for channel, stream in _streams(case, reference, prediction.pushes):
        predicted = len(prediction.pushes[channel])
        beats = reference.beats(stream.name, lanes[stream.node.name])
        # Units that send flags of padding send no empty tokens: readers count values.
        flags = isinstance(stream.dtype, Tile) and stream.dtype.element == bool_
        least = int((beats.kind == VALUE).sum()) + 1 if flags else len(beats)
        if not least <= predicted <= len(beats):
            raise _Failed(
                f"{stream.name} has {len(beats)} beats, the cycle model sends {predicted}"
            )


def _moved(case: Case, experiment: Experiment, reference: Result) -> None:
    """The bytes that the cycle model reads and writes against those of the hardware metrics.

    These are a bound where it depends on addresses how many words tiles take.
    """
    design = experiment.design
    counted = hardware(case.graph, design).traffic
    values = measure(case.graph, reference)
    if counted.free_symbols <= values.keys():
        counts = counted.evaluate({k.name: v for k, v in values.items()})
        moved = sum(experiment.traffic)
        if moved > counts or (moved < counts and not traffic_varies(design)):
            raise _Failed(f"the cycle model moves {moved} bytes, the hardware metrics say {counts}")


def _totals(case: Case, reference: Result) -> tuple[str, ...]:
    """Timing on tiles against the symbolic metrics of what the reference saw.

    Returns
    -------
    tuple of str
        Why there is no timing on tiles; empty where there is.
    """
    try:
        run, result = tiles.simulate_with_data(
            case.graph, case.inputs, TILES, lanes=case.lanes, limit=MAX_CYCLES * 1000
        )
    except StepError as error:
        return (f"timing on tiles: {error}",)
    values = measure(case.graph, result)
    counted = metrics(case.graph, "paper")
    formulas: dict[str, tuple[Expr, Any]] = {
        "bytes": (counted.traffic, run.traffic),
        "operations": (counted.flops, run.flops_useful + run.flops_padding),
    }
    for what, (expr, used) in formulas.items():
        if expr.free_symbols <= values.keys():
            wanted = expr.evaluate({k.name: v for k, v in values.items()})
            if used != wanted:
                raise _Failed(f"timing on tiles counts {used} {what}, the metrics say {wanted}")
    if run.choices:
        return ()  # tiles arrive in another order than beats
    for name, stream in case.graph.outputs.items():
        ours, its = (one.beats(name, usual_lanes(case.lanes)) for one in (reference, result))
        if not all(same_bits(getattr(ours, f), getattr(its, f)) for f in ("kind", "stop", "data")):
            raise _Failed(f"output {name} of {stream} depends on the timing")
    return ()
