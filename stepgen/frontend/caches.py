"""Caches of keys and values in off-chip memory, and where a token's rows go in them.

The caches of an attention are one tensor of keys and one of values. They have a place for each
layer, request and head of keys, one behind the other, of whole tiles. A run puts rows into the last
tile of places; its inputs say which tiles of a place they see, and where the rows go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepgen.frontend.kinds.attention import Attention
from stepgen.frontend.model import Model, Op
from stepgen.frontend.state import check_room
from stepgen.frontend.weight import Array
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.semantics.numbers import DTYPES

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
        Most tokens of a request.
    tile : int
        Rows of a tile.
    requests : int
        Texts that have places of their own.
    chunk : int or None
        Most tokens that a run takes, all of one request; None for one token of each request.
    last : bool
        Whether only the last one of a chunk goes on behind the layers.
    apart : bool
        Whether requests are elements of streams, one after the other, not rows of a tile.
    writes : bool
        Whether a run takes any number of tokens, one behind the other, and makes those that are not
        given.
    """

    rows: int
    tile: int
    requests: int = 1
    chunk: int | None = None
    last: bool = False
    apart: bool = False
    writes: bool = False

    @property
    def tiles(self) -> int:
        """Of a place."""
        return -(-self.rows // self.tile)

    @property
    def tokens(self) -> int:
        """Of a run."""
        return self.chunk or self.requests


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
        """Number of places of a request."""
        return len(self.windows) * self.heads

    def inputs(self, caches: Caches, filled: Array, which: Array) -> dict[str, Array]:
        """The streams of tokens behind others.

        ``span`` is the range of tiles that they see, ``place`` the row of the first one in the last
        tile, ``position`` its row in the tensor. With windows, ``bound`` is where a window of a
        whole cache ends that begins with the first row that it sees.

        Parameters
        ----------
        caches : Caches
        filled : array
            By request, the tokens that are there.
        which : array
            The numbers of these requests.
        """
        filled, which = filled[:, None], which[:, None]
        layer = np.arange(len(self.windows))[:, None, None]
        rows = caches.rows
        window = np.array([min(w or rows, rows) for w in self.windows])[:, None, None]
        number = (layer * caches.requests + which) * self.heads + np.arange(self.heads)
        low, last = np.maximum(filled + 1 - window, 0) // caches.tile, filled // caches.tile
        start = number * caches.tiles + low
        position = number * caches.tiles * caches.tile + filled
        found = {
            "span": np.stack(np.broadcast_arrays(start, last - low + 1), -1),
            "place": np.broadcast_to(filled % caches.tile, number.shape),
            "position": position,
        }
        if any(self.windows):
            found["bound"] = position + caches.rows - window
        layers = () if self.layers is None else (self.layers,)
        shape = (1, *layers, *(n for n in number.shape[1:] if n > 1))
        if caches.apart:
            shape = (len(which), *(n for n in number.shape[2:] if n > 1))
        return {
            f"{self.name}_{what}": numbers.reshape(*shape, 1, -1) for what, numbers in found.items()
        }

    def of_tokens(self, caches: Caches, filled: Array) -> dict[str, Array]:
        """The streams of tokens of one request behind each other, of a run that writes.

        Without windows a circuit counts places itself, and is given ``length``, the tiles that a
        token sees, and ``place``.

        Parameters
        ----------
        caches : Caches
        filled : array
            By token, those before it.
        """
        if any(self.windows):
            parts = [self.inputs(caches, np.array([n]), np.array([0])) for n in filled]
            return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}
        counts = {"length": filled // caches.tile + 1, "place": filled % caches.tile}
        return {f"{self.name}_{what}": n.reshape(-1, 1, 1) for what, n in counts.items()}


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


def behind(model: Model) -> int:
    """The number of operations up to the last one in which tokens see each other."""
    names = {op.name for op, *_ in _attentions(model)}
    loops = [op.kind.loop() for op in model.ops]
    inside = [
        op.name in names or (loop is not None and any(one.name in names for one in loop.body))
        for op, loop in zip(model.ops, loops, strict=True)
    ]
    return len(inside) - inside[::-1].index(True) if any(inside) else 0


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


def fed(
    model: Model, caches: Caches, filled: Array, which: Array, count: int = 1
) -> dict[str, Array]:
    """The streams of all places for tokens behind others.

    Parameters
    ----------
    model : Model
    caches : Caches
    filled : array
        By request, the tokens that are there.
    which : array
        The numbers of these requests.
    count : int
        Tokens of each.

    Raises
    ------
    StepError
        If the caches are full, or a chunk has rows in two tiles.
    """
    for rows in filled:
        check_room(caches.rows, int(rows), count, model.name)
        if rows % (caches.chunk or 1):
            raise StepError(
                f"{model.name}: a chunk of {caches.chunk} begins behind a multiple of "
                f"{caches.chunk} tokens, not behind {rows}"
            )
    found: dict[str, Array] = {}
    for place in places(model).values():
        found |= place.inputs(caches, filled, which)
    if caches.last:
        found["last"] = np.array([[[count - 1]]])
    return found


def sized(
    model: Model,
    rows: int | None = None,
    tile: int | None = None,
    *,
    requests: int = 1,
    chunk: int | None = None,
    last: bool = False,
    apart: bool = False,
    writes: bool = False,
) -> Caches:
    """Caches of given sizes, or of those that suit the model.

    Raises
    ------
    StepError
        If the model takes fewer tokens, or tiles are not whole chunks.
    """
    most = model.tokens[1]
    if rows is not None and rows > most:
        raise StepError(
            f"{model.name} takes {most} tokens at most, so its cache has no {rows} rows"
        )
    rows = min(ROWS, most) if rows is None else rows
    tile = min(TILE, rows) if tile is None else tile
    if tile % (chunk or 1):
        assert chunk is not None
        raise StepError(
            f"{model.name}: tiles of {tile} rows of a cache are not whole chunks of {chunk} "
            f"tokens: make rows {math.gcd(tile, chunk)}, or tile {-(-tile // chunk) * chunk}"
        )
    return Caches(rows, tile, requests, chunk, last, apart, writes)


def drawn(graph: Graph, caches: Caches, filled: int | Sequence[int], seed: int) -> dict[str, Array]:
    """Tensors of caches with random rows in each place, by name; all others are 0.

    Parameters
    ----------
    graph : Graph
        A program that decodes.
    caches : Caches
    filled : int or sequence of int
        Tokens that are there, those of each request: as many rows as the longest has are drawn.
    seed : int
    """
    rng, found, most = np.random.default_rng(seed), {}, int(np.max(filled))
    for node in graph.nodes:
        if node.face.writes != "tensor":
            continue
        tensor = graph.tensors[node.attrs["tensor"]]
        rows, cols = tensor.shape
        made = np.zeros((rows, cols), DTYPES[tensor.element.name])
        every = made.reshape(-1, caches.tiles * caches.tile, cols)
        every[:, :most] = rng.normal(size=(len(every), most, cols))
        found[tensor.name] = made
    return found
