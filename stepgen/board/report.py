"""What a run on a board gave, beside what was expected of it."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.cosim.experiment import Experiment
from stepgen.cosim.scoreboard import Outcome


@dataclass(frozen=True)
class Report:
    """A run on a board.

    Attributes
    ----------
    outcome : Outcome
        What came, and what differs from reference and prediction.
    experiment : Experiment
        What was run.
    exact : bool
        Whether all beats were on the board when the run began and had room there, so that its
        cycles are those predicted.
    hz : int
        Clock of the design.
    read_bytes : int
        Bytes of memory that are read back where the run ends.
    """

    outcome: Outcome
    experiment: Experiment
    exact: bool
    hz: int
    read_bytes: int

    @property
    def good(self) -> bool:
        """Whether nothing differs."""
        return self.outcome.good

    @property
    def compared(self) -> dict[str, int]:
        """Numbers of values, bytes and counters that are compared."""
        if self.outcome.status != "done":  # nothing else was read back
            return {"values": sum(map(len, self.outcome.outputs.values()))}
        compared = self.outcome.case.compared(predicted=self.exact)
        compared.pop("cycles", None)  # of single beats, which nothing on a board records
        return {
            what: min(count, self.read_bytes) if what == "memory" else count
            for what, count in compared.items()
        }
