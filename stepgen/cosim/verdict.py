"""Results of a co-simulation, beside the expected ones."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.cosim.scoreboard import Outcome
from stepgen.timing.model import Prediction


@dataclass(frozen=True)
class Verdict:
    """Results of a co-simulation, beside the expected ones.

    Attributes
    ----------
    outcome : Outcome
        Results of the simulation, and all mismatches.
    prediction : Prediction or None
        The expected cycles, if there is a prediction.
    compared : dict of str to int
        How much was compared: ``values`` (beats at ports), ``cycles`` (handshakes on channels),
        ``memory`` (bytes), ``counters``. Without a prediction cycles and counters are not in it.
    build_seconds : float
        Time that building took; 0 where the simulation was in the cache.
    unpredicted : str
        Why there is no prediction; else empty.
    """

    outcome: Outcome
    prediction: Prediction | None
    compared: dict[str, int]
    build_seconds: float
    unpredicted: str = ""

    @property
    def good(self) -> bool:
        """Whether there is no mismatch."""
        return self.outcome.good
