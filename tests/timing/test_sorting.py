"""Entries of a log are sorted by key the same way by compiled code and by numpy."""

from __future__ import annotations

import numpy as np
import pytest

from stepgen.timing.kernel import KEY, KEY_BITS, sort
from stepgen.timing.sorting import split
from stepgen.timing.stepping import Engine, using


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize(("keys", "count"), [(1, 5), (3, 0), (7, 1000), (1 << 17, 100)])
def test_cycles_of_a_key_keep_their_order(engine: Engine, keys: int, count: int) -> None:
    rng = np.random.default_rng(keys)
    entries = rng.integers(0, 1 << 40, count) << KEY_BITS | rng.integers(0, keys, count)
    every_other = entries.repeat(2)[::2]
    with using(engine):
        found = split(every_other, keys)
    assert len(found) == keys
    for key in {*rng.integers(0, keys, 20), *(entries & KEY)}:
        np.testing.assert_array_equal(found[key], entries[entries & KEY == key] >> KEY_BITS)


def test_what_is_compiled_is_right_where_python_runs_it() -> None:
    entries = [5 << KEY_BITS | 2, 6 << KEY_BITS, 7 << KEY_BITS | 2, 9 << KEY_BITS | 1]
    M = [0] * 3 + [-1] * 4
    sort(entries, M, 3, 4)
    assert M == [4, 5, 7, 6, 9, 5, 7]
