"""Each pass gives a model that computes the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

from frontend.decoders import VOCABULARY, Sizes, decoder, drawn, logits
from stepgen.frontend import Builder, Model
from stepgen.frontend.passes.constants import fold_constants
from stepgen.frontend.passes.dead import drop_dead
from stepgen.frontend.passes.linears import merge_linears, split_linears
from stepgen.frontend.passes.norms import fold_norms
from stepgen.frontend.passes.rotary import pair_columns
from stepgen.ir.fn import fn

Pass = Callable[[Model], Model]

PASSES: list[Pass] = [
    *(drop_dead, split_linears, merge_linears, fold_norms, pair_columns, fold_constants)
]


def kinds(model: Model) -> list[str]:
    return [placed.op.kind.name for placed in model.placed]


def same(model: Model, other: Model, seed: int = 0) -> bool:
    """Whether two models give the same numbers, up to rounding of doubles."""
    ids = np.random.default_rng(seed).integers(0, VOCABULARY, 12)
    a, b = logits(model, ids), logits(other, ids, cuts=(5, 6))
    return float(np.abs(a - b).max()) <= 1e-12 * float(np.abs(a).max())


@pytest.mark.parametrize("seed", some_slow(range(16), 8))
def test_passes_in_any_order_change_no_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = made = decoder(drawn(rng), seed, fold=bool(rng.integers(2)))
    for index in rng.permutation(2 * len(PASSES)):
        made = PASSES[index % len(PASSES)](made)
        assert same(model, made, seed), PASSES[index % len(PASSES)].__name__


def test_a_linear_behind_which_columns_are_split_is_several() -> None:
    model = decoder(Sizes(joined=True))
    made = split_linears(model)
    assert kinds(model).count("split") == 3
    assert "split" not in kinds(made)
    assert same(model, made)
    assert kinds(merge_linears(made)) == kinds(model)
    assert same(model, merge_linears(made))


@pytest.mark.parametrize("layer_norm", [False, True])
def test_weights_of_norms_go_into_linears(layer_norm: bool) -> None:
    model = decoder(Sizes(layer_norm=layer_norm))
    made = fold_norms(model)
    assert any("norm.weight" in name for name in model.weights)
    assert not any("norm.weight" in name or "norm.bias" in name for name in made.weights)
    assert same(model, made)


def test_weights_of_norms_go_into_experts_but_not_into_a_tied_head() -> None:
    model = decoder(Sizes(experts=3, tied=True))
    made = fold_norms(model)
    left = [name for name in made.weights if "norm" in name]
    assert left == ["last_norm.weight"]
    assert same(model, made)


def test_weights_of_norms_of_heads_stay() -> None:
    made = fold_norms(decoder(Sizes(head_norm=True)))
    left = {name for name in made.weights if "norm" in name}
    assert left == {"model.layers.*.q_norm.weight", "model.layers.*.k_norm.weight"}


@pytest.mark.parametrize("head_norm", [False, True])
def test_columns_that_turn_together_become_neighbours(head_norm: bool) -> None:
    model = decoder(Sizes(head_norm=head_norm, each=6))
    made = pair_columns(model)
    turns = [placed.op.kind for placed in made.placed if placed.op.kind.name == "rope"]
    assert [turn.attributes()["pairs"] for turn in turns] == ["neighbours"] * 2
    assert same(model, made)


def test_columns_of_a_joined_linear_are_paired_once_it_is_split() -> None:
    model = decoder(Sizes(joined=True))
    assert pair_columns(model) == model
    assert pair_columns(split_linears(model)) != split_linears(model)


@pytest.mark.parametrize("tied", [False, True])
def test_factors_go_into_weights_that_nothing_else_has(tied: bool) -> None:
    model = decoder(Sizes(scale=0.5, tied=tied))
    made = fold_constants(model)
    assert kinds(model).count("map") - kinds(made).count("map") == (not tied)
    assert same(model, made)


def test_weights_that_change_nothing_are_left_out() -> None:
    b = Builder("m")
    x = b.linear(b.norm(b.input("x", 4), np.ones(4), np.zeros(4), how="layer"), np.eye(4))
    y = b.linear(b.map(fn.scale(2.0), b.map(fn.scale(1.5), x)), np.ones((4, 2)), np.zeros(2))
    model = b.model(y)
    made = fold_constants(model)
    assert kinds(made) == ["norm", "linear", "linear"]
    assert len(made.weights) == 2
    rows: Any = {"x": np.random.default_rng(0).normal(size=(3, 4))}
    got, want = (m.run(rows)[m.outputs[0]] for m in (made, model))
    assert np.allclose(got, want, rtol=0, atol=1e-12)


def test_what_no_output_needs_is_left_out() -> None:
    b = Builder("m")
    x = b.input("x", 4)
    y = b.linear(x, np.eye(4))
    b.linear(y, np.eye(4))
    model = b.model(y, fold=False)
    assert len(model.ops) == len(model.weights) == 2
    made = drop_dead(model)
    assert len(made.ops) == len(made.weights) == 1
