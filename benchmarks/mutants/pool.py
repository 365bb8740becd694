"""Programs that the fuzzer draws, and what they are when nothing is broken."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import stepgen.timing.model as cycle_model
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.fuzz.case import Case
from stepgen.fuzz.draw import case
from stepgen.fuzz.structure import prompt, sent
from stepgen.hw import private
from stepgen.hw.design.table import Design
from stepgen.hw.library import Library
from stepgen.hw.primitives import GENERIC
from stepgen.hw.system import System
from stepgen.ir.errors import StepError
from stepgen.timing.deadlock import Deadlock

SEED = 9
CYCLES, UNITS = 800, 12
"""Programs that last longer, or have more units, are left out: they cost more than they find."""


def circuit(design: Design) -> str:
    """Hash of a design's circuit, in the form from which Verilog is made."""
    library = Library("design", GENERIC)
    top = private.module(System(design, probes=True, part=library.instance), "design")
    return hashlib.sha256(f"{library.rtlil}{top}".encode()).hexdigest()


@dataclass
class Program:
    """A case of the fuzzer on which all faces agree.

    Attributes
    ----------
    number : int
        Its number in the campaign of `SEED`.
    case : Case
    experiment : Experiment
        With the prediction of the model as it should be.
    """

    number: int
    case: Case
    experiment: Experiment

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of its units."""
        return frozenset(unit.params.kind for unit in self.experiment.design.units)

    @cached_property
    def circuit(self) -> str:
        """The circuit as it should be."""
        return circuit(self.experiment.design)

    @cached_property
    def predicted(self) -> dict[str, Any]:
        """The prediction as it should be."""
        return results_of(self.experiment)

    def is_mispredicted(self) -> str:
        """What the fuzzer says of a broken cycle model; empty where it finds nothing.

        The RTL is as it was, and agrees with the prediction as it should be: a prediction that
        differs from that differs from the RTL.
        """
        again = self.case.experiment(built=self.experiment.design, max_cycles=CYCLES)
        try:
            now = results_of(again)
        except Deadlock as deadlock:
            return "" if self.case.depths else str(deadlock).splitlines()[0]
        except StepError:
            return ""  # a refusal, which the fuzzer counts and does not keep
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        for what, as_it_should_be in self.predicted.items():
            if now[what] != as_it_should_be:
                return f"other {what}"
        return ""

    def is_miscomputed(self) -> str:
        """What the fuzzer says of a broken circuit; empty where it finds nothing."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                around = self.case.disturbed(self.experiment)
                done = simulate(around, Path(folder), driver="cpp", opt=LEAST_BUILD)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return next((str(v.outcome.faults[0]) for v in done if not v.good), "")


def results_of(experiment: Experiment) -> dict[str, Any]:
    """What a prediction says, comparable."""
    prediction = experiment.prediction
    idle = prompt(experiment.design)
    levels = {name: words for name, words in sent(experiment).items() if name not in idle}
    channels = [c.name for c in experiment.design.channels]
    return {
        "cycles": prediction.cycles,
        "pushes": {name: prediction.pushes[name].tolist() for name in channels},
        "pops": {name: prediction.pops[name].tolist() for name in channels},
        "choices": prediction.choices,
        "levels": {name: words.tolist() for name, words in levels.items()},
        "counters": [prediction.counters(name) for name in channels],
    }


def pool(count: int) -> list[Program]:
    """The first programs of a campaign that are small and end, the smallest first."""
    found = list(islice(_programs(), count))
    return sorted(found, key=lambda program: len(program.experiment.design.units))


def _programs() -> Iterator[Program]:
    number = 0
    right = cycle_model.advised
    while True:
        drawn, _, _ = case(SEED, number)
        experiment = drawn.experiment(max_cycles=CYCLES)
        cycle_model.advised = lambda run, depths: run({})  # no advice for those that stop
        try:
            if len(experiment.design.units) <= UNITS and experiment.prediction.cycles:
                yield Program(number, drawn, experiment)
        except StepError:
            pass
        finally:
            cycle_model.advised = right
        number += 1
