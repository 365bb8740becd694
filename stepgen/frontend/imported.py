"""What an import found: the model, and what was recognised and folded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from stepgen.frontend.model import Model


@dataclass(frozen=True)
class Imported:
    """A model, and how it was made.

    Attributes
    ----------
    model : Model
    origin : str
        The module or checkpoint.
    blocks : dict of str to int
        What was recognised by its numbers, and how often; empty where a config says all.
    error : float or None
        Largest difference from the module on random input, as a part of the largest output; None
        where there is no module to compare with.
    tokens : int
        Tokens of that comparison.
    """

    model: Model
    origin: str
    blocks: dict[str, int]
    error: float | None = None
    tokens: int = 0

    @property
    def kinds(self) -> dict[str, int]:
        """Operations by kind, those of a loop once."""
        return dict(Counter(placed.op.kind.name for placed in self.model.placed))

    @property
    def loops(self) -> dict[str, int]:
        """Layers of each loop."""
        found = ((p.op.name, p.op.kind.loop()) for p in self.model.placed)
        return {name: loop.trips for name, loop in found if loop is not None}
