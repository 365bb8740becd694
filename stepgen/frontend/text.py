"""Texts of models whose ids stand for characters, and the choice of the next one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.frontend.model import Model
from stepgen.frontend.weight import Array
from stepgen.frontend.writing import choices
from stepgen.ir.errors import StepError


def ids_of(model: Model, text: str) -> Array:
    """The ids of a text.

    Parameters
    ----------
    model : Model
    text : str

    Raises
    ------
    StepError
        If ids of the model do not stand for characters, the text is empty, or a character has no
        id.
    """
    if not model.characters:
        raise StepError(
            f"ids of {model.name} do not stand for characters: import it from a folder with a "
            f"characters.json"
        )
    if not text:
        raise StepError(f"{model.name}: a text needs at least one character")
    for place, character in enumerate(text):
        if character not in model.characters:
            raise StepError(
                f"{model.name} has no id for {character!r}, character {place} of the text; it has "
                f"{len(model.characters)} characters: {model.characters!r}"
            )
    return np.array([model.characters.index(character) for character in text])


def likeliest(model: Model, scores: Array) -> int:
    """The id with the largest score of a token, of those that stand for characters if some do."""
    return int(scores.reshape(-1)[: choices(model)].argmax())


@dataclass
class Sampler:
    """Chooses ids by their logits.

    Parameters
    ----------
    temperature : float
        0 takes the largest; above, the flatter the more.
    top_k : int or None
        Of how many of the largest one is drawn; without it, of all.
    seed : int

    Raises
    ------
    StepError
        If the temperature is below 0 or no number, or `top_k` is below 1.
    """

    temperature: float = 0.0
    top_k: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise StepError(f"temperature must be a number of at least 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise StepError(f"top_k must be at least 1, not {self.top_k}")
        self._rng = np.random.default_rng(self.seed)

    def choose(self, logits: Array) -> int:
        """One of the ids.

        Parameters
        ----------
        logits : array
            A number for each id.
        """
        if self.temperature == 0:
            return int(np.argmax(logits))
        ranked = np.argsort(-logits, kind="stable")[: self.top_k]
        scaled = (logits[ranked] - logits[ranked[0]]) / self.temperature
        weights = np.exp(scaled)
        return int(self._rng.choice(ranked, p=weights / weights.sum()))
