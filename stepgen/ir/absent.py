"""What a user may have meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from stepgen.ir.function import function_types

RECIPES = (
    *("relu", "clip", "bias", "masked", "masked_columns", "kept_by_flags", "safe_softmax"),
    *("ragged_attention", "cache_window", "masked_mean", "softmax", "routed"),
    *("expert_of_layer", "next_token", "grouped_weights"),
)
"""The functions of ``examples/recipes.py``: what other tools have as one function."""

SHORTEST = 3
"""Letters of a word that may be the beginning of a name."""


def remedy(name: str, known: Iterable[str], *, functions: bool = True) -> str:
    """How to go on after a name that is not there; empty where nothing is like it.

    Parameters
    ----------
    name : str
        As the user wrote it.
    known : iterable of str
        The names that are there.
    functions : bool
        Whether the name of a function is out of place.

    Returns
    -------
    str
        To be put behind the sentence: ``", did you mean partition?"``.
    """
    if name in RECIPES:
        return f", which is a recipe: stepgen show recipes:{name}"
    if functions and name in function_types():
        return f", which is a function: map, accum, scan or flat_map applies sg.fn.{name}"
    names, word = sorted(known), name.lower()
    # A word that is cut short comes before one with a letter changed: max is maximum, not argmax.
    begun = [one for one in names if len(word) >= SHORTEST and one.startswith(word)]
    near = sorted(begun, key=len)[:1] or get_close_matches(word, names, 1)
    return f", did you mean {near[0]}?" if near else ""
