"""Arrays that are used again are nobody else's, and entries of a log stay as they were added."""

from __future__ import annotations

from weakref import ref

import numpy as np

from stepgen.timing.scratch import ARRAYS, MOST, Entries, scratch


def test_an_array_is_used_again_once_nothing_refers_to_it() -> None:
    first = scratch(1000)
    part = first[10:20]
    first[:] = 1
    del first
    others = [scratch(1000) for _ in range(2 * ARRAYS)]
    for other in others:
        other[:] = 2
    assert part.tolist() == 10 * [1]
    last = ref(others[-1].base)
    del part, others, other
    again = [scratch(500) for _ in range(ARRAYS)]
    assert any(each.base is last() for each in again)


def test_large_arrays_are_not_kept() -> None:
    held = scratch(MOST + 1)
    whole = ref(held.base)
    del held
    assert whole() is None


def test_entries_are_those_that_were_added() -> None:
    parts = [np.arange(n, dtype=np.int64) for n in (5, 0, 1, 7, 1000)]
    entries = Entries()
    for part in parts:
        entries.add(part)
    found = entries.all()
    np.testing.assert_array_equal(found, np.concatenate(parts))
    entries.add(np.full(5000, 9))
    scratch(10_000)[:] = 8
    np.testing.assert_array_equal(found, np.concatenate(parts))
