"""Parts of models as programs, with the experts and lengths of traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontend.decoders import VOCABULARY, Sizes, decoder
from stepgen.compile.transforms import parallelize
from stepgen.frontend import lower
from stepgen.frontend.caches import drawn, sized
from stepgen.frontend.lowering import fed
from stepgen.frontend.passes.blocks import block
from stepgen.ir.errors import StepError
from stepgen.program.made import of_model
from stepgen.program.traces import draw_routing
from stepgen.semantics import executor

MODEL = decoder(Sizes(layers=3, experts=3), element=np.float32)
ROUTING = draw_routing(7, 3, 2, spread=1, seed=2)
TILINGS = ("address", "static", "dynamic")


@pytest.mark.parametrize("layer", range(3))
@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("experts", "second_norm", "experts"),
        ("second_norm", "add", "second_norm"),
        ("model.layers", None, "add_1"),
    ],
)
def test_a_block_computes_what_it_does_inside(
    layer: int, name: str, first: str | None, last: str
) -> None:
    every: dict[Any, Any] = {}
    ids = np.random.default_rng(layer).integers(0, VOCABULARY, 6)
    MODEL.run({"ids": ids}, every=every)
    inside = {key[0].rpartition("*.")[2]: made for key, made in every.items() if key[1] == (layer,)}
    if first is None:
        previous = [m for k, m in every.items() if k[1] == (layer - 1,) and k[0].endswith("add_1")]
        given = previous[0] if previous else every["scale", ()]
    else:
        given = inside[first]
    part = block(MODEL, name, layer)
    (found,) = part.run({"x": given}).values()
    assert np.allclose(found, inside[last], rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def experts() -> Any:
    return block(MODEL, "experts", 1)


def test_experts_give_the_same_bits_by_address_and_by_tiles(experts: Any) -> None:
    x = np.random.default_rng(0).normal(size=(7, experts.inputs["x"].width))
    made = []
    for tiling in TILINGS:
        graph, weights = lower(experts, tiling=tiling, expert_rows=2)
        found = executor.run(graph, weights | fed(experts, {"x": x}))
        made.append(np.array(found.nested("experts")).reshape(7, -1))
    assert all(np.array_equal(made[0], one) for one in made[1:])
    (want,) = experts.run({"x": x}).values()
    assert np.allclose(made[0], want, rtol=0, atol=0.03 * np.abs(want).max())


def test_a_trace_decides_what_is_read(experts: Any) -> None:
    """An expert reads its weights for each token, each tile, or once."""
    counts = np.bincount(ROUTING.ravel(), minlength=3)
    reads = {"address": counts, "static": -(-counts // 2), "dynamic": np.minimum(counts, 1)}
    each = 3 * 2 * experts.weights[experts.ops[0].weights["gate"]].size // 3
    outputs = []
    for tiling in TILINGS:
        settings = {"tiling": tiling, "expert_rows": "2"}
        program = of_model(experts, "m", settings, routing=ROUTING)
        found = executor.run(program.graph, program.inputs)
        loads = [n for n in program.graph.nodes if n.op.endswith("_load")]
        tiles = sum(
            int(n.outputs[0].type.dtype.elements)
            * 2
            * len([t for t in found.streams[n.outputs[0].name] if t.kind == 0])
            for n in loads
        )
        assert tiles == each * reads[tiling].sum()
        outputs.append(np.array(found.nested("experts")))
    assert all(np.array_equal(outputs[0], one) for one in outputs[1:])


def test_what_is_no_block(experts: Any) -> None:
    with pytest.raises(StepError, match=r"has no block 'mlp', it has .*experts, .*model\.layers"):
        block(MODEL, "mlp")
    with pytest.raises(StepError, match="layers 0 to 2, so layer can't be 3"):
        block(MODEL, "experts", 3)
    with pytest.raises(StepError, match="those of its layers would share"):
        lower(MODEL, tiling="dynamic")
    with pytest.raises(StepError, match="tiling must be address, static or dynamic, not 'any'"):
        lower(experts, tiling="any")
    with pytest.raises(StepError, match="one by one, without caches"):
        lower(experts, routed=4, rows=2)


def test_requests_are_spread_over_regions() -> None:
    """Requests as rows of a tile, as elements of streams, and on regions give the same."""
    part = block(MODEL, "attention")
    filled, rng = [1, 9, 4], np.random.default_rng(0)
    sizes = sized(part, 12, 4, requests=3, apart=True)
    given = {name: rng.normal(size=(3, *value.shape[1:])) for name, value in part.inputs.items()}
    graph, tensors = lower(part, phase="decode", cache=12, tile=4, batch=3, apart=True)
    inputs = tensors | fed(part, given, sizes, filled) | drawn(graph, sizes, filled, seed=1)
    (out,) = graph.outputs
    want = np.array(executor.run(graph, inputs).nested(out), np.float64)
    alone, _ = lower(part, phase="decode", cache=12, tile=4)
    for number, rows in enumerate(filled):
        one = sized(part, 12, 4)
        mine = {name: array[number : number + 1] for name, array in given.items()}
        held = {
            name: array.reshape(3, -1, array.shape[-1])[number]
            for name, array in drawn(graph, sizes, filled, seed=1).items()
        }
        found = executor.run(alone, fed(part, mine, one, rows) | held).nested(out)
        assert np.array_equal(np.array(found, np.float64)[0], want[number])
    for how in ("coarse", "interleaved", "dynamic"):
        spread = parallelize(graph, regions=2, how=how)  # type: ignore[arg-type]
        found = executor.run(spread.graph, spread.inputs(inputs)).nested(out)
        assert np.array_equal(np.array(found, np.float64), want)


def test_where_requests_can_not_be_apart() -> None:
    with pytest.raises(StepError, match="apart is for phase=decode without a loop of layers: take"):
        lower(MODEL, phase="decode", apart=True)
    part = block(MODEL, "attention")
    with pytest.raises(StepError, match="heads go in with one token in a tile: leave rows and b"):
        lower(part, phase="decode", batch=2)
