"""One predicted run, for reports."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.cosim.experiment import Experiment
from stepgen.program.program import Program
from stepgen.synth.estimate import Estimate
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.model import Prediction


@dataclass(frozen=True)
class Ran:
    """A run with what is known of it.

    Attributes
    ----------
    program, experiment
        What ran.
    prediction : Prediction, optional
        Its timing, until it stopped; without, `problem` says why there is none.
    problem : str
        Why the run has no timing or did not end; else empty.
    deadlock : Deadlock, optional
        With which it stopped.
    stopped : bool
        Whether it stopped with a deadlock or an error.
    takes : Estimate, optional
        What the circuit takes of an FPGA.
    outdated : str, optional
        Why a folder's circuit is not that of now.
    """

    program: Program
    experiment: Experiment
    prediction: Prediction | None = None
    problem: str = ""
    deadlock: Deadlock | None = None
    stopped: bool = False
    takes: Estimate | None = None
    outdated: str | None = None

    @property
    def ended(self) -> Prediction | None:
        """The prediction of a run that ended."""
        return None if self.problem else self.prediction
