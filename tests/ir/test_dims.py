"""Dims: products, absorption, bounds, names."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepgen as sg
from stepgen.ir import dims
from stepgen.ir.dims import Dim, Symbols
from stepgen.ir.expr import ceiling, min_of

E = sg.dynamic("E", bound=64)
P = sg.dynamic("P", bound=8, positive=True)
K = sg.ragged("K", bound=5)


def _join(*parts: Dim) -> Dim:
    return dims.product(parts, Symbols())


def test_a_dim_prints_as_people_read_it() -> None:
    chunks = dims.ceil_div(E, 4, Symbols())
    assert [str(d) for d in (sg.static(4), E, chunks)] == ["4", "E", "ceil(E/4)"]
    assert str(dims.nonempty(E)) == "min(1, E)"
    assert str(dims.nonempty(chunks)) == "min(1, E)"


def test_regular_dims_multiply_and_keep_their_bounds() -> None:
    both = _join(E, P)
    assert (str(both), both.kind, both.bound) == ("E*P", "dynamic", 512)
    assert _join(sg.static(3), sg.static(4)) == 12
    assert _join() == 1


def test_a_ragged_dim_absorbs() -> None:
    joined = _join(sg.static(2), K)
    assert (str(joined), joined.kind, joined.bound) == ("K_0", "ragged", 10)
    assert _join(sg.static(1), K) == K
    assert _join(sg.static(0), K) == 0
    symbols = Symbols()
    again = [dims.product([sg.static(2), d], symbols) for d in (K, K, joined)]
    assert [str(d) for d in again] == ["K_0", "K_1", "K_2"]


def test_what_is_empty_together_multiplies_to_itself() -> None:
    one_or_none = dims.nonempty(E)
    assert one_or_none.bound == 1
    assert _join(one_or_none, E) == E
    assert _join(one_or_none, E).bound == 64
    assert _join(one_or_none, one_or_none) == one_or_none
    chunks = dims.ceil_div(E, 4, Symbols())
    assert _join(one_or_none, chunks, sg.static(4)).expr == 4 * ceiling(E.expr / 4)
    assert _join(one_or_none, P).expr == min_of(1, E.expr) * P.expr
    assert dims.nonempty(P) == 1


def test_emptiness_is_known_where_the_type_knows_it() -> None:
    empty = [d.may_be_empty for d in (sg.static(0), sg.static(3), E, P, K)]
    assert empty == [True, False, True, False, True]
    assert not dims.ceil_div(P, 4, Symbols()).may_be_empty
    assert dims.product([P, sg.ragged("L", positive=True)], Symbols()).may_be_empty is False


def test_chunks_of_a_dim() -> None:
    assert dims.ceil_div(sg.static(10), 4, Symbols()) == 3
    assert dims.ceil_div(E, 1, Symbols()) == E
    assert dims.ceil_div(E, 7, Symbols()).bound == 10
    chunks = dims.ceil_div(K, 4, Symbols())
    assert (chunks.kind, chunks.bound) == ("ragged", 2)


def test_same_sees_through_the_order_of_a_sum() -> None:
    a, b = E.expr, P.expr
    assert dims.regular((a + b) * b, None).same(dims.regular(a * b + b**2, None))
    assert not E.same(P)
    assert not sg.static(2).same(sg.static(3))


def test_fresh_names_avoid_those_of_the_user() -> None:
    symbols = Symbols()
    symbols.claim(sg.dynamic("E1"))
    names = [str(symbols.fresh("E", "dynamic")) for _ in range(3)]
    assert names == ["E0", "E2", "E3"]


@pytest.mark.parametrize("other", [sg.dynamic("E"), sg.ragged("E", bound=64)])
def test_one_name_is_one_dim(other: Dim) -> None:
    symbols = Symbols()
    symbols.claim(E)
    symbols.claim(sg.dynamic("E", bound=64))
    with pytest.raises(sg.StepError, match=r"the dim E at .* is .*, but before it was"):
        symbols.claim(other)


def test_a_dim_that_the_graph_named_may_have_a_bound_elsewhere() -> None:
    symbols = Symbols()
    total = symbols.fresh("sum", "dynamic")
    symbols.claim(dims.regular(total.expr, 0))
    with pytest.raises(sg.StepError, match=r"ragged of at most 0, .* before it was dynamic"):
        symbols.claim(Dim(total.expr, "ragged", 0))


@pytest.mark.parametrize("extent", [-1, True, 2.5])
def test_extents_are_natural_numbers(extent: object) -> None:
    with pytest.raises(sg.StepError, match=r"at test_dims.py:\d+.* must be an integer.*, not"):
        sg.static(extent)  # type: ignore[arg-type]


def test_extents_have_at_most_63_bits() -> None:
    assert sg.int8[2**63 - 1, 4].rows == 2**63 - 1
    for make in (sg.static, lambda extent: sg.int8[extent, 4], lambda extent: sg.int8[1, extent]):
        with pytest.raises(sg.StepError, match=r"an integer of at most 63 bits.*, not"):
            make(2**63)


def test_names_are_identifiers() -> None:
    with pytest.raises(
        sg.StepError, match=r"a dim at test_dims.py:\d+ must be an ASCII.*not 'a b'"
    ):
        sg.dynamic("a b")


@given(st.lists(st.sampled_from(["E", "F", "1E", "E/4", "2", "1F"]), max_size=5), st.data())
def test_products_have_the_value_of_their_factors(parts: list[str], data: st.DataObject) -> None:
    f = sg.dynamic("F", bound=9)
    known = {
        "E": E,
        "F": f,
        "2": sg.static(2),
        "1E": dims.nonempty(E),
        "1F": dims.nonempty(f),
        "E/4": dims.ceil_div(E, 4, Symbols()),
    }
    factors = [known[p] for p in parts]
    values = {E.expr: data.draw(st.integers(0, 64)), f.expr: data.draw(st.integers(0, 9))}
    joined = _join(*factors)
    expected = math.prod(int(d.expr.subs(values)) for d in factors)
    assert joined.expr.subs(values) == expected
    assert joined.bound is not None
    assert expected <= joined.bound
