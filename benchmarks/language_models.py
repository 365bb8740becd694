"""(m) Language models: one token of full-size ones on tiles, of small ones in exact cycles."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from benchmarks.apart import apart
from benchmarks.table import Table
from examples import models
from stepgen.compile.lower import lower as design_of
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Model, caches, from_config, lower
from stepgen.frontend.drawing import drawn
from stepgen.frontend.lowering import fed
from stepgen.frontend.passes.blocks import block
from stepgen.frontend.quantizing.preparing import prepared
from stepgen.frontend.quantizing.ranges import Range, Ranges
from stepgen.frontend.quantizing.scaling import Scaling
from stepgen.frontend.quantizing.schemes import Schemes
from stepgen.hw.design.bus import Bus
from stepgen.ir.wire import LANES
from stepgen.program.tiles import simulate
from stepgen.study.mirror import mirrored
from stepgen.timing.tiles.machines import U55C
from stepgen.timing.tiles.variants import changed

HZ = 250e6
"""Of the machine."""
ROOM, FILLED = 256, 200
"""Tokens that the caches hold, and that are there."""

GPT2 = {
    **{"model_type": "gpt2", "vocab_size": 50257, "activation_function": "gelu_new"},
    **{"n_embd": 1024, "n_layer": 24, "n_head": 16, "n_positions": 1024},
}
QWEN = {
    **{"model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896, "hidden_act": "silu"},
    **{"intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14},
    **{"num_key_value_heads": 2, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6},
    **{"tie_word_embeddings": True, "rope_theta": 1e6},
}
EVEN: dict[str, Any] = {}
BY_WORK = {"compute.multipliers": 9024}
ARRAY = {
    **BY_WORK,
    **{"compute.of_functions.convert": 16384, "onchip_bandwidth": 8192, "tiles_in_flight": 64},
}
"""How multipliers are divided: evenly, by the work of operators, or so that linears of a layer
share an array, whose one load has the buffers and the width of ten."""

SHARED = {"array": "shared", "columns": 256}
"""Settings of programs with an array."""

W4 = {"scheme": "w4", "group": 128}

MODELS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "GPT-2 medium": (GPT2, {}, EVEN),
    "the same, 12 layers": (GPT2 | {"n_layer": 12}, {}, EVEN),
    "Qwen2 0.5B": (QWEN, {}, EVEN),
    "GPT-2 medium, w8": (GPT2, {"scheme": "w8"}, EVEN),
    "GPT-2 medium, w4": (GPT2, W4, EVEN),
    "GPT-2 medium, w4, by work": (GPT2, W4, BY_WORK),
    "GPT-2 medium, w4, an array": (GPT2, W4, ARRAY),
    "Qwen2 0.5B, w4": (QWEN, W4, EVEN),
    "Qwen2 0.5B, w4, by work": (QWEN, W4, BY_WORK),
    "Qwen2 0.5B, w4, an array": (QWEN, W4, ARRAY),
    "GPT-2 medium, w8a8": (GPT2, {"scheme": "w8a8"}, EVEN),
    "GPT-2 medium, w4a8": (GPT2, {"scheme": "w4a8", "group": 128}, EVEN),
}
"""Configs, how they are quantized, and how the machine differs."""


def measure() -> list[Table]:
    """All tables."""
    return [large(), small(), layer()]


class Unseen(Ranges):
    """Steps of 1, for models whose numbers are never read.

    Parameters
    ----------
    layers : int
    """

    def __init__(self, layers: int) -> None:
        super().__init__("minmax")
        self.layers = layers

    def of(self, name: str, *, powers: bool = False) -> list[Range]:
        """Those of a value in each layer."""
        return [Range((), 127.0, 1.0, 0.0)] * (self.layers if "*" in name else 1)


def large() -> Table:
    """Programs of whole models with random weights, which are never read."""
    lines = []
    for name, (config, bits, changes) in MODELS.items():
        (cells, last), megabytes = apart(_measured, config, bits, changes)
        lines.append((name, *cells, f"{megabytes:,.0f}", *last))
    return Table(
        "m1. Language models of full size",
        f"One token in bf16 behind {FILLED} others, a program whose layers are a loop. From a "
        "config to the program, to the design table with 4 lanes, and the timing on tiles on the "
        "machine u55c, which the first one compiles; w8 and w4 are weights of 8 and 4 bits with "
        "scales, of 4 bits for 128 rows, a8 values of 8 bits. The share is that of the memory's "
        f"bandwidth, tokens a second are at {HZ / 1e6:.0f} MHz. Multipliers are divided evenly, by "
        f"work with --change {_listed(BY_WORK)}, or most are an array that the linears of a layer "
        f"share, with --set array=shared and --change {_listed(ARRAY)}.",
        (
            *("model", "parameters", "operators", "program s", "table s", "MB"),
            *("simulate s", "cycles", "share", "tokens/s"),
        ),
        lines,
    )


def small() -> Table:
    """Exact cycles beside the words of the bus, which bound them."""
    lines = []
    for name in ("gpt2", "llama", "qwen2", "qwen3", "gemma3", "mixtral", "qwen3_moe"):
        model = getattr(models, name)(width=64, vocabulary=97)
        graph, known = lower(model, phase="decode", cache=32)
        sizes = caches.sized(model, 32, None)
        given = fed(model, drawn(model, {}, tokens=1), sizes, 9)
        held = caches.drawn(graph, sizes, 9, seed=0)
        one = Experiment(graph, {**known, **given, **held}, lanes=LANES)
        words = sum(one.traffic) // one.bus.bytes
        cycles = one.prediction.cycles
        lines.append((name, f"{cycles:,}", f"{words:,}", f"{100 * words / cycles:.1f} %"))
    return Table(
        "m2. A token of small language models",
        f"Of 2 layers, 64 columns and 97 ids, behind 9 others, in bf16 with {LANES} lanes: exact "
        "cycles, words that move over the bus, and their share of the cycles.",
        ("model", "cycles", "words", "share"),
        lines,
    )


def layer() -> Table:
    """One layer of full width by the exact model, and by the timing on tiles."""
    model = block(from_config(GPT2 | {"n_embd": 768, "n_head": 12, "n_layer": 1}), "h")
    graph, known = lower(model, phase="decode", cache=ROOM)
    sizes = caches.sized(model, ROOM, None)
    given = fed(model, drawn(model, {}, tokens=1), sizes, FILLED)
    inputs = {**known, **given, **caches.drawn(graph, sizes, FILLED, seed=0)}
    lines = []
    for lanes, width in ((LANES, 8), (4 * LANES, 64)):
        one = Experiment(graph, inputs, lanes=lanes, bus=Bus(8 * width))
        exact, tiles = one.prediction.cycles, mirrored(one).cycles
        words = sum(one.traffic) // width
        cycles = f"{exact:,}", f"{tiles:,}", f"{tiles / exact - 1:+.1%}"
        lines.append((str(lanes), f"{8 * width}", f"{words:,}", *cycles))
    return Table(
        "m4. A layer of GPT-2 by two models",
        f"A token through a layer of 768 columns in bf16, behind {FILLED} others: words that move "
        "over the bus, cycles by the exact model of the circuit, by the timing on tiles of a "
        "machine like it, and the error of that.",
        ("lanes", "bus bits", "words", "exact cycles", "cycles on tiles", "error"),
        lines,
    )


def _quantized(model: Model, scheme: str, group: int | None = None) -> Model:
    """A model of full size with fewer bits, whose numbers are never read."""
    layers = max(placed.trips for placed in model.placed)
    return Scaling(prepared(model), Schemes(scheme), Unseen(layers), group=group).made


def _listed(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def _measured(
    config: dict[str, Any], bits: dict[str, Any], changes: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    start = perf_counter()
    model = from_config(config)
    model = _quantized(model, **bits) if bits else model
    how = SHARED if changes == ARRAY else {}
    graph, known = lower(model, phase="decode", cache=ROOM, data=False, **how)
    built = perf_counter()
    design_of(graph, lanes=4)
    table = perf_counter()
    given = fed(model, drawn(model, {}, tokens=1), caches.sized(model, ROOM, None), FILLED)
    run = simulate(graph, {**known, **given}, changed(U55C, changes))
    end = perf_counter()
    memory = U55C.memory
    share = float(run.traffic) / (memory.channels * memory.request_bytes) / run.cycles  # type: ignore[union-attr]
    head = f"{model.parameters / 1e6:,.0f} M", f"{len(graph.nodes)}", f"{built - start:.2f}"
    last = f"{end - table:.1f}", f"{run.cycles:,}", f"{100 * share:.1f} %", f"{HZ / run.cycles:.0f}"
    return (*head, f"{table - built:.1f}"), last
