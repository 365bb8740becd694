"""Decode attention: one new token per request against all keys and values in its cache.

Figures 14, 15, 16 and 21 of the paper: requests of different lengths, one key-value head of `width`
columns with `rows` query rows, caches read and written in tiles of `tile` rows. The new key and
value are placed in the last tile of their cache, which is then written back.

The softmax is either the published one, ``exp(s) / sum(exp(s))`` over whole tiles, which overflows
for large scores and includes the empty rows of the last tile, which must hold 0; or a safe one:
scores are scaled and masked, and kept on chip until their maximum is known. Then the empty rows may
hold anything.

In int8, queries, keys and values stand for ``q * 2**-PLACES``. Scores are int32, and f32 from their
scaling on; the exponential of a score minus the maximum becomes an integer of 0 to 127, so products
with values, and the sum of a row by which they are divided, are exact in int32.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import stepgen as sg
from stepgen.program import traces

AHEAD = 16
"""Requests whose counts may be ahead of their tiles: depth of a FIFO."""

WRITE_BACK = 4
"""Tiles that may wait to be written back: depth of a FIFO."""

PLACES = 5
"""Binary places of queries, keys and values in int8."""

MOST = 127
"""The weight in int8 of the largest score."""

NOTHING = -3e38
"""Score of an empty row: below all others, and finite, since infinity minus itself is NaN."""


class Requests(NamedTuple):
    """Streams ``[B]`` that describe the requests.

    Attributes
    ----------
    spans : Stream
        Number of the first tile of its cache, and how many tiles it has with the new row.
    places : Stream
        Row of the last tile where the new key and value go.
    filled : Stream or None
        How many rows of the last tile are valid then; for the safe softmax.
    most : int
        Tiles of the longest cache.
    """

    spans: sg.Stream
    places: sg.Stream
    filled: sg.Stream | None
    most: int


def attention(
    lengths: list[int] | npt.NDArray[np.int64] | None = None,
    batch: int = 8,
    mean: float = 48,
    stdev: float = 32,
    rows: int = 8,
    width: int = 64,
    tile: int = 32,
    softmax: str = "safe",
    element: Literal["bf16", "f32", "int8"] = "bf16",
    seed: int = 0,
    data: bool = True,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build attention of one key-value head and its inputs.

    Parameters
    ----------
    lengths : sequence of int, optional
        Rows in the cache of each request, without the new one.
    batch, mean, stdev : int, float, float
        Without `lengths`: number of requests to draw, and statistics of their lengths; none is
        longer than the mean plus four standard deviations.
    rows : int
        Query rows per key-value head.
    width : int
        Columns of queries, keys and values.
    tile : int
        Rows of a tile of the caches.
    softmax : {"safe", "published"}
        How scores become weights; of int8 the safe way.
    element : {"bf16", "f32", "int8"}
        Element type of queries, keys and values; the result is f32.
    seed : int
        Seed of everything drawn.
    data : bool
        Whether to draw queries and caches; without them the program can be costed and timed.

    Returns
    -------
    graph : Graph
    inputs : dict
        Streams that describe the requests, and, with `data`, tensors, by name.
    """
    if softmax not in ("safe", "published"):
        raise sg.StepError(f'attention needs softmax "safe" or "published", not {softmax!r}')
    if element not in ("f32", "bf16", "int8"):
        raise sg.StepError(f"attention works on f32, bf16 or int8, not on {element}")
    if element == "int8" and softmax != "safe":
        raise sg.StepError(f'attention in int8 needs softmax "safe", not {softmax!r}')
    if tile < 1:
        raise sg.StepError(f"attention needs cache tiles of at least 1 row, not {tile}")
    lengths = lengths_of("attention", lengths, batch, mean, stdev, seed)
    batch, capacity = len(lengths), int(tiles_of(lengths, tile).max())
    g = sg.Graph(f"attention_{softmax}")
    requests = declare(g, batch, softmax, capacity)
    shapes = {"query": (batch * rows, width), "key": (batch, width), "value": (batch, width)}
    shapes |= dict.fromkeys(("keys", "values"), (batch * capacity * tile, width))
    tensors = {name: g.tensor(name, shape, element) for name, shape in shapes.items()}
    y = g.tensor("y", (batch * rows, width), sg.f32)
    number = g.input("request", sg.address[1, 1], (batch,))
    query, key, value = (
        sg.linear_offchip_load(tensors[n], tile=(r, width), shape=(batch, 1), stride=(1, 1), name=n)
        for n, r in (("query", rows), ("key", 1), ("value", 1))
    )
    caches = tensors["keys"], tensors["values"]
    result = attend(query, key, value, requests, caches, tile=tile, softmax=softmax)
    sg.random_offchip_store(number.fifo(AHEAD), result, y, tile=(rows, width), name="y")
    inputs: dict[str, Any] = describe(lengths, tile, softmax)
    inputs["request"] = np.arange(batch).reshape(batch, 1, 1)
    if data:
        rng = np.random.default_rng(seed)
        inputs |= {n: rng.normal(size=shapes[n]) for n in ("query", "key", "value")}
        filled = valid_rows(lengths, capacity * tile).ravel()[:, None]
        inputs |= {n: filled * rng.normal(size=shapes[n]) for n in ("keys", "values")}
        if element == "int8":
            inputs |= {n: _rounded(inputs[n]) for n in shapes}
    return g, inputs


def _rounded(x: npt.NDArray[np.float64]) -> npt.NDArray[np.int8]:
    return np.clip(np.rint(x * 2.0**PLACES), -128, 127).astype(np.int8)


def lengths_of(
    program: str,
    lengths: list[int] | npt.NDArray[np.int64] | None,
    batch: int,
    mean: float,
    stdev: float,
    seed: int,
) -> npt.NDArray[np.int64]:
    """The given lengths, or drawn ones; a single request has the mean."""
    if lengths is None:
        if batch < 1 or not (np.isfinite(mean) and 0 <= stdev < np.inf):
            raise sg.StepError(
                f"{program} needs at least 1 request, and lengths of a finite mean and standard "
                f"deviation, not {batch}, {mean} and {stdev}"
            )
        stdev = 0 if batch == 1 else stdev
        lengths = traces.draw_lengths(batch, mean, stdev, most=int(mean + 4 * stdev), seed=seed)
    found = np.asarray(lengths)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu" or found.min() < 0:
        raise sg.StepError(
            f"{program} needs a list of integer lengths of at least 0, not {lengths}"
        )
    return found.astype(np.int64)


def tiles_of(lengths: npt.NDArray[np.int64], tile: int) -> npt.NDArray[np.int64]:
    """Number of tiles of each cache with the new row."""
    return (lengths + tile) // tile


def declare(g: sg.Graph, batch: int, softmax: str, most: int) -> Requests:
    """Inputs of a program with the addresses and lengths of the requests' caches."""
    spans = g.input("span", sg.address[1, 2], (batch,))
    places = g.input("place", sg.address[1, 1], (batch,))
    filled = g.input("filled", sg.address[1, 1], (batch,)) if softmax == "safe" else None
    return Requests(spans, places, filled, most)


def describe(lengths: npt.NDArray[np.int64], tile: int, softmax: str) -> dict[str, Any]:
    """Contents of the inputs that `declare` made; caches lie at equal distances."""
    count, batch = tiles_of(lengths, tile), len(lengths)
    spans = np.stack([np.arange(batch) * count.max(), count], axis=1)
    places = (lengths % tile).reshape(batch, 1, 1)
    found = {"span": spans.reshape(batch, 1, 2), "place": places}
    return found | {"filled": places + 1} if softmax == "safe" else found


def attend(
    query: sg.Stream,
    key: sg.Stream,
    value: sg.Stream,
    requests: Requests,
    caches: tuple[sg.Tensor, sg.Tensor],
    *,
    tile: int,
    softmax: str,
    name: str | None = None,
) -> sg.Stream:
    """Attention of one key-value head.

    Parameters
    ----------
    query, key, value : Stream
        ``[B, 1]`` of rows x width, and of the new rows 1 x width.
    requests : Requests
        Addresses and lengths of the caches.
    caches : tuple of Tensor
        Of keys and values; read, and written with the new rows.
    tile : int
        Rows of a tile of the caches.
    softmax : {"safe", "published"}
        How scores become weights.
    name : str, optional
        Name of the node that gives the result.

    Returns
    -------
    Stream
        ``[B]`` of f32 tiles of rows x width.
    """
    keys = _cache(key, requests, caches[0], tile)
    # Weights of rows that nobody wrote are 0, but in floats a product with 0 may be NaN.
    clears = softmax == "safe" and caches[1].element != sg.int8
    values = _cache(value, requests, caches[1], tile, clears=clears)
    scores = query.expand(keys).map(sg.fn.matmul(transpose=True), keys)
    factor = int(query.tile.cols) ** -0.5
    whole = values.tile.element == sg.int8
    if whole:
        scores, factor = scores.map(sg.fn.convert(sg.f32)), factor * 4.0**-PLACES
    if softmax == "safe":
        scores = _below_maximum(scores, requests, factor)
    weights = scores.map(sg.fn.exp())
    if whole:
        return _of_integers(weights, values, name)
    total = weights.accum(sg.fn.add(), rank=1).map(sg.fn.row_sum())
    if values.tile.element == sg.bf16:
        weights = weights.map(sg.fn.convert(sg.bf16))
    return weights.accum(sg.fn.matmul(), values, rank=1).map(sg.fn.div(), total, name=name)


def _of_integers(weights: sg.Stream, values: sg.Stream, name: str | None) -> sg.Stream:
    """The mean of int8 values by weights of at most 1, which are rounded to int8."""
    rounded = weights.map(sg.fn.scale(MOST)).map(sg.fn.convert(sg.int8))
    each = rounded.map(sg.fn.convert(sg.int32)).accum(sg.fn.add(), rank=1)
    total = each.map(sg.fn.row_sum()).map(sg.fn.convert(sg.f32))
    sums = rounded.accum(sg.fn.matmul(), values, rank=1).map(sg.fn.convert(sg.f32))
    return sums.map(sg.fn.scale(2.0**-PLACES)).map(sg.fn.div(), total, name=name)


def _cache(
    row: sg.Stream, requests: Requests, cache: sg.Tensor, tile: int, *, clears: bool = False
) -> sg.Stream:
    """All tiles of each request's cache ``[B, L]``, with the new row, which is written back.

    With `clears` the rows behind it, which nobody has written, become 0.
    """
    spans, shape = requests.spans.fifo(AHEAD), (tile, cache.shape[1])
    addresses = spans.flat_map(sg.fn.span(requests.most), rank=1)
    tiles = sg.random_offchip_load(addresses, cache, tile=shape, name=f"{cache.name}_read")
    is_last = spans.flat_map(sg.fn.span_last(requests.most), rank=1)
    last, others = sg.partition(tiles, is_last, rank=0)
    places, rows = requests.places.fifo(AHEAD), row.flatten(0, 1)
    if clears:
        last = last.map(sg.fn.mask_rows(0), places)
    placed = last.map(sg.fn.place_row(), rows, places)
    where = spans.map(sg.fn.span_end()).fifo(AHEAD)
    back = placed.fifo(WRITE_BACK)
    sg.random_offchip_store(where, back, cache, tile=shape, name=f"{cache.name}_write")
    return sg.reassemble([placed, others], is_last, rank=0).flatten(0, 1)


def _below_maximum(scores: sg.Stream, requests: Requests, factor: float) -> sg.Stream:
    """Scores ``[B, L]``, scaled, empty rows masked, minus their maximum.

    Only the last tile has empty rows. The maximum is known only after all tiles, so scores are
    kept on chip until then.
    """
    is_last = requests.spans.fifo(AHEAD).flat_map(sg.fn.span_last(requests.most), rank=1)
    last, others = sg.partition(scores.map(sg.fn.scale(factor)), is_last, rank=0)
    assert requests.filled is not None
    masked = last.map(sg.fn.mask_cols(NOTHING), requests.filled.fifo(AHEAD))
    valid = sg.reassemble([masked, others], is_last, rank=0).flatten(0, 1)
    highest = valid.map(sg.fn.row_max()).accum(sg.fn.maximum(), rank=1)
    kept = valid.bufferize(rank=1).streamify(highest)
    return kept.map(sg.fn.sub(), highest.promote(0).expand(kept))


def valid_rows(lengths: npt.NDArray[np.int64], capacity: int) -> npt.NDArray[np.bool_]:
    """Which rows of caches of `capacity` rows hold a key and value, ``[B, capacity]``."""
    return np.arange(capacity) < lengths[:, None]
