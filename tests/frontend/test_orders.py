"""Linears by tiles that a user chose, and the converters between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from frontend.decoders import Sizes, decoder, integers
from frontend.gpt2 import CHUNK, WIDTH, small
from stepgen.compile.cost import unit_bits
from stepgen.compile.lower import lower
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Model, State, compile_log
from stepgen.frontend.compiled import log_of
from stepgen.frontend.fusing import activations
from stepgen.frontend.lowering import fed, lowered, sizes_of
from stepgen.semantics.executor import run

CONVERTERS = ("pmu", "expand", "retile_col", "cut_tile")
AGAINST: dict[str, Any] = {"tile_rows": 4, "tile_cols": 6}


@pytest.fixture(scope="module")
def gpt2() -> Model:
    return small()


@pytest.mark.parametrize("tile", [(None, 4), (4, None), (4, 6), (6, 4)])
@pytest.mark.parametrize("settings", [{"phase": "decode", "cache": 8, "tile": 2}, CHUNK])
def test_tiles_of_linears_change_no_result(
    gpt2: Model, tile: tuple[int | None, int | None], settings: dict[str, Any]
) -> None:
    made = lowered(gpt2, element="f32", **settings, tile_rows=tile[0], tile_cols=tile[1])
    sizes = sizes_of(gpt2, settings["phase"], settings.get("rows"), 8, 2)
    assert sizes is not None
    ids = {"ids": np.arange(sizes.tokens) + 7}
    want = gpt2.run(ids, State(capacity=8))["logits"]
    result = run(made.graph, made.weights | fed(gpt2, ids, sizes, 0))
    found = np.array(result.nested("logits"), np.float64).reshape(want.shape)
    assert np.abs(found - want).max() <= 2e-6 * np.abs(want).max()
    assert any(joint.way == "buffer" for joint in made.joints)


def test_no_converter_where_linears_alternate(gpt2: Model) -> None:
    log = compile_log(gpt2, cache=8, tile=2)
    assert {joint.way for joint in log.joints} == {"repeat"}
    assert "values are read in the order in which they are made, through a FIFO; " in str(log)


def test_activations_of_a_layer(gpt2: Model) -> None:
    """Ten values of a row and two of four; queries, keys and values repeat what they read."""
    before, after = activations(gpt2, **CHUNK)
    assert before == 2 * 2 * WIDTH * (10 + 2 * 4)
    assert after == 2 * 2 * 2 * WIDTH * 3


def test_the_log_has_converters_and_their_memory(gpt2: Model) -> None:
    mlp = sg.frontend.block(gpt2, "mlp")
    made = lowered(mlp, phase="prefill", rows=2, tile_rows=4, tile_cols=4, data=False)
    log = log_of(mlp, made, design := lower(made.graph))
    held = sum(unit_bits(unit, design) for unit in design.units if unit.kind in CONVERTERS)
    promised = sum(joint.bits for joint in log.joints)
    assert promised <= held <= 1.05 * promised
    loops = [str(joint.read).partition("iter_space ")[2] for joint in log.joints]
    found = [(j.value, j.reader, j.way, read) for j, read in zip(log.joints, loops, strict=True)]
    c_fc, c_proj, act, add = (f"mlp.{name}" for name in ("c_fc", "c_proj", "gelu_tanh", "add"))
    assert found == [
        ("x", c_fc, "buffer", "[12, 3]*[1, 4], iter_map (d0, d1) -> (0, d1)>"),
        (act, c_proj, "buffer", "[3, 12]*[1, 4], iter_map (d0, d1) -> (0, d1)>"),
        (c_proj, add, "new tiles", "[]*[], iter_map () -> (0, 0)>"),
    ]


def test_queries_keys_and_values_share_a_buffer(gpt2: Model) -> None:
    made = lowered(gpt2, **AGAINST, **CHUNK, data=False)
    of_norm = [joint for joint in made.joints if joint.value.endswith("ln_1")]
    assert [joint.way for joint in of_norm] == ["buffer", "shared buffer", "shared buffer"]
    assert [joint.bits > 0 for joint in of_norm] == [True, False, False]


def test_integers_by_tiles() -> None:
    small = integers(decoder(Sizes(layers=2, each=2, hidden=4)))
    want = lowered(small, **CHUNK)
    made = lowered(small, **CHUNK, **AGAINST)
    sizes = sizes_of(small, "prefill", 2, 8, 2)
    assert sizes is not None
    inputs = fed(small, {"ids": np.array([3, 5])}, sizes, 0)
    a, b = (run(one.graph, one.weights | inputs).nested("logits") for one in (want, made))
    assert np.array_equal(np.array(a), np.array(b))
    assert any(joint.way == "buffer" for joint in made.joints)


@pytest.mark.parametrize("given", [{"tile_rows": 0}, {"tile_cols": 2.5}])
def test_a_tile_of_nothing(gpt2: Model, given: dict[str, Any]) -> None:
    ((name, number),) = given.items()
    with pytest.raises(sg.StepError, match=f"gpt2: {name} must be an integer of at .*{number}"):
        lowered(gpt2, **given)


@pytest.mark.slow
def test_a_block_against_the_grain_as_a_circuit(gpt2: Model, tmp_path: Path) -> None:
    block = sg.frontend.block(gpt2, "h")
    made = lowered(block, **CHUNK, **AGAINST)
    sizes = sizes_of(block, "prefill", 2, 8, 2)
    assert sizes is not None
    x = np.random.default_rng(0).normal(size=(2, WIDTH)).astype(np.float32)
    inputs = fed(block, {name: x for name in block.inputs}, sizes, 0)
    run = Experiment(made.graph, made.weights | inputs)
    verdict = run.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
    assert sum(joint.way == "buffer" for joint in made.joints) >= 4
