"""Local alignment of sequences (Smith-Waterman): how well queries fit into targets.

Dynamic programming over a table with a row for each letter of the query and a column for each
letter of the target. Each row is computed from the row above it, in a loop: the first row of a
query is an input, the others come from the feedback edge, and the last one is the result. Queries
of any length pass the loop one after the other; all targets are aligned at once, one per row of a
tile. The scores of a letter of the query against all letters of the targets are fetched by the
letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import stepgen as sg


def alignment(
    queries: Sequence[Sequence[int]] | None = None,
    targets: npt.NDArray[np.int64] | None = None,
    batch: int = 6,
    longest: int = 12,
    count: int = 4,
    columns: int = 16,
    letters: int = 4,
    match: int = 3,
    mismatch: int = -2,
    gap: int = 2,
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the alignment and its inputs.

    Parameters
    ----------
    queries : sequence of sequences of int, optional
        Letters by number, at least 1 per query; drawn if not given.
    targets : int array of shape [count, columns], optional
        Letters of the targets; drawn if not given.
    batch, longest : int
        For drawing: how many queries, and of how many letters at most.
    count, columns : int
        For drawing: how many targets, and of how many letters.
    letters : int
        Size of the alphabet.
    match, mismatch : int
        Score of two letters that are the same, or not.
    gap : int
        Penalty of a letter without a partner.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Ranges of the queries, their letters and the score profile of the targets, by name. The
        tensor ``best`` gets the best score for each query and target, and ``ending`` that of the
        alignments that contain the last letter of the query.
    """
    if min(batch, longest, count, columns, letters) < 1:
        raise sg.StepError(
            f"alignment needs positive sizes, not batch={batch}, longest={longest}, "
            f"count={count}, columns={columns}, letters={letters}"
        )
    rng = np.random.default_rng(seed)
    if queries is None:
        queries = [
            rng.integers(0, letters, rng.integers(1, longest + 1)).tolist() for _ in range(batch)
        ]
    if targets is None:
        targets = rng.integers(0, letters, (count, columns))
    text = np.array([letter for query in queries for letter in query], np.int64)
    if not len(queries) or any(not len(query) for query in queries):
        raise sg.StepError("alignment needs queries of at least 1 letter")
    for what, found in (("queries", text), ("targets", targets)):
        if found.min() < 0 or found.max() >= letters:
            raise sg.StepError(f"alignment has the letters 0 to {letters - 1}, not those of {what}")
    lengths = np.array([len(query) for query in queries])
    batch, (count, columns) = len(queries), targets.shape

    g = sg.Graph("alignment")
    tile = (count, columns)
    written = g.tensor("letters", (len(text), 1), sg.address)
    profile = g.tensor("profile", (letters * count, columns), sg.int32)
    zero = g.tensor("zero", tile, sg.int32)
    best, ending = (g.tensor(n, (batch * count, 1), sg.int32) for n in ("best", "ending"))
    ranges = g.input("ranges", sg.address[1, 2], (batch,))

    places = ranges.flat_map(sg.fn.span(), rank=1)
    is_first, is_last = (
        ranges.flat_map(fn, rank=1) for fn in (sg.fn.span_first(), sg.fn.span_last())
    )
    letter = sg.random_offchip_load(places, written, tile=(1, 1), name="letters")
    scores = sg.random_offchip_load(letter, profile, tile=tile, name="profile")
    start = sg.linear_offchip_load(zero, tile=tile, shape=(1,), stride=(0,), ref=ranges)
    back = g.feedback(sg.int32[tile], (is_first.count(1),), "back")
    above = sg.reassemble([start.flatten(0, 1), back], is_first, rank=0).flatten(0, 1)
    paired = scores.map(sg.fn.add(), above.map(sg.fn.shift_cols()))
    skipped = above.map(sg.fn.offset(-gap))
    row = paired.map(sg.fn.maximum(), skipped).map(sg.fn.at_least(0)).map(sg.fn.running_max(gap))
    last, others = sg.partition(row, is_last, rank=0)
    back.connect(others)
    sg.linear_offchip_store(last.map(sg.fn.row_max()), ending, name="ending")
    highest = row.map(sg.fn.row_max()).accum(sg.fn.maximum(), rank=1)
    sg.linear_offchip_store(highest, best, name="best")

    same = np.arange(letters)[:, None, None] == targets
    return g, {
        "ranges": np.stack([np.cumsum(lengths) - lengths, lengths], axis=1).reshape(batch, 1, 2),
        "letters": text.reshape(-1, 1),
        "profile": np.where(same, match, mismatch).reshape(-1, columns),
        "zero": np.zeros(tile, np.int32),
    }
