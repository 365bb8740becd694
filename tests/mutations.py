"""Copies of valid files with one mistake each, for tests of everything that reads files."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

VALUES: list[Any] = [
    *(None, True, -1, 0, 1.5, 10**12, 10**30, 1e308, "", "a", "a b", "../x", "1/0", "٣"),
    *([], [1], [[[[]]]], {}, {"a": 1}, {"fn": "add"}, {"dim": "x", "kind": "dynamic"}),
    ["a", "b", "c"],
]
"""Values that replace one value."""

TEXTS = [
    *("", "null", "3", "[]", "{}", "NaN", '"a"', "{", '{"a": 1', "\x00", "{'a': 1}"),
    *("[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"a": 1, "a": 2}', '{"a": NaN}'),
]
"""Texts that replace a whole file of JSON."""


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value in nested lists and objects."""
    if path:
        yield path
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from places(data[key], (*path, key))


def mutated(data: Any, seed: int, count: int) -> Iterator[tuple[str, Any]]:
    """Copies of JSON data with one place dropped, doubled, or of another value.

    Parameters
    ----------
    data : object
        Stays as it is.
    seed : int
        Another seed, other places.
    count : int
        How many to draw.
    """
    rng = np.random.default_rng(seed)
    every = list(places(data))
    for _ in range(count):
        *path, last = every[int(rng.integers(len(every)))]
        made = copy.deepcopy(data)
        at = made
        for key in path:
            at = at[key]
        kind = int(rng.integers(len(VALUES) + 3))
        what = f"at {[*path, last]}: "
        if kind < len(VALUES):
            at[last] = copy.deepcopy(VALUES[kind])
            what += json.dumps(VALUES[kind])
        elif kind == len(VALUES):
            del at[last]
            what += "dropped"
        elif isinstance(at, list):
            at.append(copy.deepcopy(at[last]))
            what += "doubled"
        else:
            at["unknown"] = at[last]
            what += "unknown key"
        yield what, made


def bytes_of(data: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Copies of a file cut off, or with a few bytes changed."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        made = bytearray(data)
        if rng.random() < 0.3:
            keep = int(rng.integers(len(made)))
            yield f"cut to {keep}", bytes(made[:keep])
            continue
        at = rng.integers(len(made), size=int(rng.integers(1, 4)))
        for place in at:
            made[place] = rng.integers(256)
        yield f"changed at {at.tolist()}", bytes(made)


def arrays() -> list[np.ndarray]:
    """Arrays of every kind that a file can hold."""
    return [
        *(np.zeros(0), np.array(1), np.array(1.5), np.ones((1, 1, 1, 1)), np.full((4, 2), np.nan)),
        *(np.full((4, 2), np.inf), np.full((4, 2), 1e300), np.full((4, 2), 0.5)),
        *(np.full((4, 2), 2**63, np.uint64), np.full((4, 2), -1), np.ones((4, 2), complex)),
        *(np.array(["a", "b"]), np.array([b"a"]), np.zeros((4, 2), "M8[D]")),
        *(np.zeros((4, 2), "i4,f4"), np.zeros((4, 0)), np.zeros((0, 8)), np.ones((4, 2), bool)),
        *(np.arange(8).reshape(4, 2), np.arange(8, dtype=np.float16), np.ones((4, 1, 8), np.int8)),
    ]
