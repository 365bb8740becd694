"""Circuits of the shipped layers: values bit for bit and every cycle, under stalls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unwritten import KINDS, behind, filled

from stepgen.compile.cost import hardware
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.program.program import load
from stepgen.program.schedule import transformed
from stepgen.semantics.shapes import measure

SHARES = (0, 0.1, 0.4)
"""Of the cycles in which each channel of the memory stalls: a run for each."""

SWIGLU = {"element": "bf16", "batch": 16, "width": 32, "inner": 64, "tile_batch": 8}
MOE = {"experts": 4, "top": 2, "width": 32, "inner": 64, "columns": 16, "tile": 4}
ROUTING = np.array([[0, 1]] * 9 + [[0, 3]] * 5 + [[1, 3]] * 2)
"""Of 16 tokens: one expert has most of them, and one has none."""

SMALL = {"tokens": 10, "experts": 4, "width": 16, "hidden": 32, "columns": 16}
SHARED = "time_multiplex:regions={}"

LENGTHS = {"attention": [0, 1, 3, 4, 37, 5], "decoder": [3, 0, 9]}
"""Rows of caches: none, one, all but one of a tile, a tile, many."""

SIZED = {"gnn", "alignment"}
"""Of what is drawn follow the sizes of tensors, so all runs of a design have the same."""

QUICK: list[tuple[str, dict[str, Any]]] = [("moe", SMALL | {"transform": SHARED.format(2)})]
SLOW: list[tuple[str, dict[str, Any]]] = [
    ("perceptron", {"rows": 16}),
    ("alignment", {}),
    ("attention", {"rows": 2, "width": 8, "tile": 4}),
    ("gnn", {}),
    ("normalize:rms_norm", {}),
    ("matmul", {"element": "int8", "m": 16}),
    ("quantized", {"width": 10, "inner": 12, "tile_inner": 6}),
    ("perceptron", {"element": "bf16"}),
    ("perceptron", {"width": 30, "inner": 50}),
    ("normalize:rms_norm", {"element": "f32", "width": 45}),
    ("normalize:layer_norm", {}),
    ("normalize:softmax", {}),
    ("normalize:softmax", {"element": "f32", "tile": 1, "width": 45}),
    ("matmul", {}),
    ("hierarchical", {}),
    ("hierarchical", {"element": "bf16", "block_n": 32}),
    ("matvec", {"element": "int8", "tile": 3}),
    ("gelu", {}),
    ("swiglu", SWIGLU | {"tile_inner": 32}),
    ("swiglu", SWIGLU | {"tile_inner": 32, "tile_width": 16}),
    ("quantized", {}),
    ("quantized", {"weights": "int4"}),
    ("moe_swiglu", MOE | {"tokens": 16, "tiling": "static"}),
    ("moe_swiglu", MOE | {"tokens": 16, "tiling": "dynamic"}),
    ("moe_swiglu", MOE | {"tokens": 16, "tiling": "static", "transform": SHARED.format(2)}),
    ("moe_swiglu", MOE | {"tokens": 16, "tiling": "dynamic", "transform": SHARED.format(1)}),
    ("moe_swiglu", MOE | {"tokens": 16, "tiling": "dynamic", "gate": "top_k"}),
    ("moe", {"tokens": 16, "tiling": "capped", "transform": SHARED.format(4)}),
    ("attention", {"rows": 3, "width": 10, "tile": 6, "softmax": "published"}),
    ("attention", {"element": "int8", "rows": 2, "width": 10, "tile": 4}),
    ("decoder", {"kv_heads": 1, "cache_tile": 4}),
    ("decoder", {"kv_heads": 1, "cache_tile": 4, "gate": "top_k"}),
    ("transformer:decode", {}),
    ("transformer:prefill", {}),
    ("alignment", {"columns": 30, "gap": 3, "count": 16, "batch": 16}),
    ("gnn", {"aggregate": "sum", "nodes": 50, "width": 30, "tile": 6}),
]


@pytest.mark.parametrize(
    ("name", "settings"),
    [*QUICK, *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_the_circuit_under_stalls(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    """Values, memory and cycles, and the bytes that the formula says."""
    routing = ROUTING if name == "moe_swiglu" else None
    lengths = np.array(LENGTHS[name]) if name in LENGTHS else None
    runs = []
    for seed, share in enumerate(SHARES):
        text = {key: str(value) for key, value in settings.items()}
        transforms = [text.pop(key) for key in ("transform",) if key in text]
        program = load(
            name, text, routing=routing, lengths=lengths, seed=0 if name in SIZED else seed
        )
        program = transformed(program, transforms)
        inputs = program.inputs
        if lengths is not None and settings.get("softmax") != "published":
            empty = behind(program.graph, lengths)
            rng = np.random.default_rng(seed)
            inputs = filled(program.graph, inputs, empty, rng, KINDS[seed])
        stalls = Stalls(seed, dict.fromkeys(MEMORY_CHANNELS, share))
        aborts = (1 << 20,) if seed else ()  # later than the end: a whole run before
        runs.append(Experiment(program.graph, inputs, stalls=stalls, aborts=aborts))
    extents = measure(runs[0].graph, runs[0].reference)
    traffic = hardware(runs[0].graph, runs[0].design).traffic
    assert traffic.subs(extents) == sum(runs[0].traffic)
    for verdict in simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults
