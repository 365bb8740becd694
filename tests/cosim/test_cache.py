"""A cache of keys to which a prompt and then each token are added, by one program."""

from pathlib import Path

import numpy as np
import pytest
from snippets import WIDTHS, holds

import stepgen as sg

TOKENS, DIM = 6, 4


def attention(window: int) -> sg.Graph:
    """Scores of new rows against the rows of the cache that they may see."""
    g = sg.Graph("step")
    count = sg.dynamic("R", bound=TOKENS, positive=True)
    new = g.input("new", sg.int8[count, DIM], (1,))
    at = g.input("at", sg.address[1, 1], (1,))
    first = g.input("first", sg.address[1, 1], (1,))
    cache = g.tensor("cache", (TOKENS, DIM), sg.int8)
    kept = sg.random_offchip_load(first, cache, tile=(TOKENS, DIM))
    placed = kept.map(sg.fn.place_rows(), new, at)
    sg.random_offchip_store(first, placed, cache, tile=(TOKENS, DIM))
    scores = new.map(sg.fn.matmul(transpose=True), placed)
    g.output(scores.map(sg.fn.mask_causal(-9999, window=window), at, first), "scores")
    return g


@pytest.mark.slow
@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_prompt_and_a_token_are_one_program(lanes: int, tmp_path: Path) -> None:
    """Each row sees itself and two rows before it."""
    rng = np.random.default_rng(lanes)
    cache = rng.integers(-9, 10, (TOKENS, DIM))
    for at, count in ((0, 4), (4, 1)):
        new = rng.integers(-9, 10, (1, count, DIM))
        after = cache.copy()
        after[at : at + count] = new[0]
        row, key = np.arange(at, at + count)[:, None], np.arange(TOKENS)
        seen = (key <= row) & (key > row - 3)
        wanted = {"scores": np.where(seen, new[0] @ after.T, -9999), "cache": after}
        inputs = {"new": new, "at": [at], "first": [0], "cache": cache}
        holds(attention(3), inputs, wanted, lanes, tmp_path / str(count))
        cache = after
