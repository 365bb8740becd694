"""Caches of keys and values in off-chip memory, and where a token's rows go in them.

The caches of an attention are one tensor of keys and one of values. They have a place for each
layer and head of keys, one behind the other, of whole tiles. A program decodes one token in a run,
so each place gets one row; the run's inputs say which tiles of a place a token sees, and where its
row goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..ir.errors import StepError
from ..ir.graph import Graph
from ..semantics.numbers import DTYPES
from .kinds.attention import Attention
from .model import Model, Op
from .state import check_room
from .weight import Array

ROWS: Final = 256
"""Rows of a cache that is given no size, at most."""

TILE: Final = 16
"""Rows of a tile of a cache that is given none, at most."""


@dataclass(frozen=True)
class Caches:
    """Sizes of all caches.

    Attributes
    ----------
    rows : int
        Most tokens.
    tile : int
        Rows of a tile.
    """

    rows: int
    tile: int

    @property
    def tiles(self) -> int:
        """Of a place."""
        return -(-self.rows // self.tile)


@dataclass(frozen=True)
class Places:
    """Those of attentions whose layers, heads and windows are alike.

    Attributes
    ----------
    name : str
        What the names of their input streams begin with.
    layers : int or None
        Layers of the loop that they are in.
    heads : int
        Heads of keys.
    windows : tuple of int
        By layer, how many tokens one sees; 0 for all.
    """

    name: str
    layers: int | None
    heads: int
    windows: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.windows) * self.heads

    @property
    def shape(self) -> tuple[int, ...]:
        """Dims of the streams: a token, its layers, and its heads if there are several."""
        layers = () if self.layers is None else (self.layers,)
        return (1, *layers, *((self.heads,) if self.heads > 1 else ()))

    def inputs(self, caches: Caches, filled: int) -> dict[str, Array]:
        """The streams of a token behind `filled` others.

        ``span`` is the range of tiles that it sees, ``place`` its row in the last one, ``filled``
        the rows of this tile with it. With windows, ``first`` is the position of the first row of
        the first tile, and ``until`` the end of a window over a whole cache which begins at the
        first row that it sees.
        """
        window = np.repeat([w or caches.rows for w in self.windows], self.heads)
        least = np.maximum(filled + 1 - window, 0)
        low, last = least // caches.tile, filled // caches.tile
        start = np.arange(self.count) * caches.tiles + low
        place = np.full(self.count, filled % caches.tile)
        found = {"span": np.stack([start, last - low + 1], 1), "place": place, "filled": place + 1}
        if any(self.windows):
            found |= {"first": low * caches.tile, "until": least + caches.rows - 1}
        return {
            f"{self.name}_{what}": numbers.reshape(*self.shape, 1, -1)
            for what, numbers in found.items()
        }


def places(model: Model) -> dict[str, Places]:
    """The places of every attention with a cache, by its name; alike ones share their streams."""
    found: dict[str, Places] = {}
    for op, layers, shared in _attentions(model):
        windows = _windows(model, op, layers, shared)
        keys = model.types[op.inputs[1]]
        alike = (layers, int(keys.shape[1]), windows)
        same = (p for p in found.values() if (p.layers, p.heads, p.windows) == alike)
        name = f"cache{len({p.name for p in found.values()}) or ''}"
        found[op.name] = next(same, None) or Places(name, *alike)
    return found


def _attentions(model: Model) -> Iterator[tuple[Op, int | None, tuple[str, ...]]]:
    """Attentions with a cache, the layers of the loop around each, and what these share."""
    for outer in model.ops:
        loop = outer.kind.loop()
        for op in (outer,) if loop is None else loop.body:
            if isinstance(op.kind, Attention) and op.kind.causal:
                yield (op, None, ()) if loop is None else (op, loop.trips, loop.shared)


def _windows(model: Model, op: Op, layers: int | None, shared: tuple[str, ...]) -> tuple[int, ...]:
    count = layers or 1
    if "window" not in op.weights:
        return (0,) * count
    numbers = model.weights[op.weights["window"]].array.reshape(-1)
    if op.weights["window"] in shared:
        numbers = np.repeat(numbers, count)
    return tuple(int(n) for n in numbers)


def fed(model: Model, caches: Caches, filled: int) -> dict[str, Array]:
    """The streams of all places for a token behind `filled` others.

    Raises
    ------
    StepError
        If the caches are full.
    """
    check_room(caches.rows, filled, 1, model.name)
    found: dict[str, Array] = {}
    for place in places(model).values():
        found |= place.inputs(caches, filled)
    return found


def sized(model: Model, rows: int | None, tile: int | None) -> Caches:
    """Caches of given sizes, or of those that suit the model.

    Raises
    ------
    StepError
        If the model takes fewer tokens.
    """
    most = model.tokens[1]
    if rows is not None and rows > most:
        raise StepError(
            f"{model.name} takes {most} tokens at most, so its cache has no {rows} rows"
        )
    rows = min(ROWS, most) if rows is None else rows
    return Caches(rows, min(TILE, rows) if tile is None else tile)


def drawn(graph: Graph, caches: Caches, filled: int, seed: int) -> dict[str, Array]:
    """Tensors of caches with `filled` random rows in each place, by name; all others are 0.

    Parameters
    ----------
    graph : Graph
        A program that decodes.
    caches : Caches
    filled : int
    seed : int
    """
    rng, found = np.random.default_rng(seed), {}
    for node in graph.nodes:
        if node.face.writes != "tensor":
            continue
        tensor = graph.tensors[node.attrs["tensor"]]
        rows, cols = tensor.shape
        made = np.zeros((rows, cols), DTYPES[tensor.element.name])
        every = made.reshape(-1, caches.tiles * caches.tile, cols)
        every[:, :filled] = rng.normal(size=(len(every), filled, cols))
        found[tensor.name] = made
    return found
