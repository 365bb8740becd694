from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantics.drawn import nested
from stepgen.ir.errors import StepError
from stepgen.semantics.tokens import END, Token, bare, decode, encode, validate, value

leaves = st.integers(0, 9)
ranked = st.integers(0, 4).flatmap(lambda r: st.tuples(st.just(r), nested(r, leaves)))
stray = st.one_of(
    st.builds(value, leaves, st.integers(-1, 4)),
    st.builds(bare, st.integers(0, 4), st.integers(0, 4)),
    st.just(END),
)


@given(ranked)
def test_decode_undoes_encode(drawn: tuple[int, list[Any]]) -> None:
    rank, lists = drawn
    tokens = encode(lists, rank)
    validate(tokens, rank)
    assert decode(tokens, rank) == lists


@given(st.integers(0, 3), st.lists(stray, max_size=6))
def test_whatever_is_accepted_is_canonical(rank: int, tokens: list[Token]) -> None:
    """Nothing but an encoding passes: if decode accepts, encode gives the very tokens back."""
    try:
        lists = decode(tokens, rank)
    except StepError:
        return
    assert encode(lists, rank) == tokens


@given(ranked, ranked)
def test_encodings_differ_where_lists_differ(
    a: tuple[int, list[Any]], b: tuple[int, list[Any]]
) -> None:
    if a[0] == b[0]:
        assert (encode(a[1], a[0]) == encode(b[1], b[0])) == (a[1] == b[1])


@pytest.mark.parametrize(
    ("lists", "rank", "tokens"),
    [
        ([], 2, [END]),
        ([[]], 2, [bare(2, 2), END]),
        ([[[]]], 2, [bare(1, 2), END]),
        ([[[1, 2], []]], 2, [value(1), value(2, 1), bare(1, 2), END]),
        (
            [[[1, 2], [3]], [[4], [5, 6, 7]]],
            2,
            [value(1), value(2, 1), value(3, 2), value(4, 1), value(5), value(6), value(7, 2), END],
        ),
        ([1, 2], 0, [value(1), value(2), END]),
    ],
)
def test_written_examples(lists: list[Any], rank: int, tokens: list[Token]) -> None:
    assert encode(lists, rank) == tokens


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([value(1), bare(1, 2), END], "would close a level-1 group that is not empty"),
        ([value(1, 1), bare(2, 2), END], "would close a level-2 group that is not empty"),
        ([value(1, 3), END], "stop level 3 is not within 0..2"),
        ([bare(0, 2), END], "does not keep 1 <= low <= stop"),
        ([bare(2, 1), END], "does not keep 1 <= low <= stop"),
        ([value(1, 1), END], "DONE comes while level 2 is still open"),
        ([value(1, 2)], "ends without DONE"),
        ([END, value(1, 2)], "token 1: (1, S2) follows DONE"),
    ],
)
def test_what_is_not_canonical_is_refused(tokens: list[Token], message: str) -> None:
    with pytest.raises(StepError) as caught:
        decode(tokens, 2, "rows")
    assert message in str(caught.value)
    assert "rows" in str(caught.value)


def test_lists_that_are_not_deep_enough() -> None:
    with pytest.raises(StepError, match=r"nested 3 deep, but \[1\]\[0\] at depth 2 is a int"):
        encode([[[1]], [2]], 2)


def test_values_compare_bit_for_bit() -> None:
    zero, minus = np.zeros((1, 1), np.float32), -np.zeros((1, 1), np.float32)
    assert value(zero) != value(minus)
    assert value(zero) != value(np.zeros((1, 1), np.int32))
    assert value((zero, minus)) == value((zero.copy(), minus.copy()))
