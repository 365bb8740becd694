"""(m) Language models: one token of full-size ones on tiles, of small ones in exact cycles."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from examples import models
from stepgen.compile.lower import lower as design_of
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Model, caches, from_config, lower, quantize
from stepgen.frontend.drawing import drawn
from stepgen.frontend.lowering import fed
from stepgen.frontend.quantizing.preparing import prepared
from stepgen.frontend.quantizing.ranges import Range, Ranges
from stepgen.frontend.quantizing.scaling import Scaled
from stepgen.frontend.quantizing.schemes import Schemes
from stepgen.ir.wire import LANES
from stepgen.program.tiles import simulate
from stepgen.synth.estimate import estimate
from stepgen.timing.tiles.machines import U55C

from .apart import apart
from .table import Table

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
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "GPT-2 medium": (GPT2, {}),
    "the same, 12 layers": (GPT2 | {"n_layer": 12}, {}),
    "Qwen2 0.5B": (QWEN, {}),
    "GPT-2 medium, w8": (GPT2, {"scheme": "w8"}),
    "GPT-2 medium, w4": (GPT2, {"scheme": "w4", "group": 128}),
    "Qwen2 0.5B, w4": (QWEN, {"scheme": "w4", "group": 128}),
    "GPT-2 medium, w8a8": (GPT2, {"scheme": "w8a8"}),
    "GPT-2 medium, w4a8": (GPT2, {"scheme": "w4a8", "group": 128}),
}
"""Configs, and how they are quantized."""

NARROWED = ("gpt2", "llama", "mixtral")
SCHEMES = ("bf16", "w8", "w8a8")
"""Small models, and how they are quantized."""

TEXT = (np.arange(60) * 7 + np.arange(60) ** 2) % 64
"""Ids on which steps of small models are calibrated."""


def measure() -> list[Table]:
    """All tables."""
    return [large(), small(), narrow()]


class Unseen(Ranges):
    """Steps of 1, for models whose numbers are never read.

    Parameters
    ----------
    layers : int
    """

    def __init__(self, layers: int) -> None:
        super().__init__("minmax")
        self.layers = layers

    def of(self, name: str) -> list[Range]:
        """Those of a value in each layer."""
        return [Range((), 127.0, 1.0, 0.0)] * (self.layers if "*" in name else 1)


def large() -> Table:
    """Programs of whole models with random weights, which are never read."""
    lines = []
    for name, (config, bits) in MODELS.items():
        (cells, last), megabytes = apart(_measured, config, bits)
        lines.append((name, *cells, f"{megabytes:,.0f}", *last))
    return Table(
        "m1. Language models of full size",
        f"One token in bf16 behind {FILLED} others, a program whose layers are a loop. From a "
        "config to the program, to the design table with 4 lanes, and the timing on tiles on the "
        "machine u55c, which the first one compiles; w8 and w4 are weights of 8 and 4 bits with "
        "scales, of 4 bits for 128 rows, a8 values of 8 bits. The share is that of the memory's "
        f"bandwidth, tokens a second are at {HZ / 1e6:.0f} MHz.",
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


def narrow() -> Table:
    """Small models of fewer bits: what a token moves and takes, and what the circuit takes."""
    lines = []
    for name in NARROWED:
        exact = getattr(models, name)()
        for scheme in SCHEMES:
            model = exact if scheme == "bf16" else quantize(exact, TEXT, scheme=scheme)  # type: ignore[arg-type]
            graph, known = lower(model, phase="decode", cache=32)
            sizes = caches.sized(model, 32, None)
            given = fed(model, drawn(model, {}, tokens=1), sizes, 9)
            inputs = {**known, **given, **caches.drawn(graph, sizes, 9, seed=0)}
            runs = [Experiment(graph, inputs, lanes=lanes) for lanes in (LANES, 2 * LANES)]
            used = estimate(design_of(graph, lanes=LANES)).total
            cycles = (f"{one.prediction.cycles:,}" for one in runs)
            moved = f"{sum(runs[0].traffic):,}"
            lines.append(
                (name, scheme, moved, *cycles, f"{used['lut']:,}", str(used["multiplier"]))
            )
    return Table(
        "m3. A token of small language models with fewer bits",
        f"Of 2 layers, 32 columns and 64 ids, behind 9 others: bytes over the bus, exact cycles "
        f"with {LANES} and {2 * LANES} lanes, and what the circuit with {LANES} lanes takes, "
        "estimated without synthesis. w8 are weights of 8 bits with scales, w8a8 values of 8 bits, "
        "too; what is between linears has real numbers in all of them.",
        (
            *("model", "scheme", "bytes", f"cycles, {LANES} lanes", f"{2 * LANES} lanes"),
            *("LUT", "multipliers"),
        ),
        lines,
    )


def _quantized(model: Model, scheme: str, group: int | None = None) -> Model:
    """A model of full size with fewer bits, whose numbers are never read."""
    layers = max(placed.trips for placed in model.placed)
    return Scaled(prepared(model), Schemes(scheme), group, Unseen(layers)).made


def _measured(
    config: dict[str, Any], bits: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    start = perf_counter()
    model = from_config(config)
    model = _quantized(model, **bits) if bits else model
    graph, known = lower(model, phase="decode", cache=ROOM, data=False)
    built = perf_counter()
    design_of(graph, lanes=4)
    table = perf_counter()
    given = fed(model, drawn(model, {}, tokens=1), caches.sized(model, ROOM, None), FILLED)
    run = simulate(graph, {**known, **given}, U55C)
    end = perf_counter()
    memory = U55C.memory
    share = float(run.traffic) / (memory.channels * memory.request_bytes) / run.cycles  # type: ignore[union-attr]
    head = f"{model.parameters / 1e6:,.0f} M", f"{len(graph.nodes)}", f"{built - start:.2f}"
    last = f"{end - table:.1f}", f"{run.cycles:,}", f"{100 * share:.1f} %", f"{HZ / run.cycles:.0f}"
    return (*head, f"{table - built:.1f}"), last
