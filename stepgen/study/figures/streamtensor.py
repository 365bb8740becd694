"""StreamTensor's evaluation: language models of full size on an FPGA with HBM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any

from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.program import models, program
from stepgen.study import published
from stepgen.study.claims import fold, table
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.mirror import mirrored
from stepgen.study.plots import bars, legend
from stepgen.study.point import FAIR, PUBLISHED, Point, Value
from stepgen.study.report import signed
from stepgen.study.traces import Traces
from stepgen.timing.tiles.machines import U55C

MODELS = {
    "gpt2": "GPT-2 medium",
    "qwen": "Qwen2 0.5B",
    "llama": "TinyLlama 1.1B",
    "gemma": "Gemma 3 1B",
}
SMALL = {"gpt2": "GPT-2, small", "llama": "Llama, small"}
LENGTHS, SMALL_LENGTHS = (32, 64, 128, 256), (8, 16)
"""Tokens of a prompt, and as many that follow."""

HZ = 250e6
"""Cycles a second, there as here."""

NARROW = 4
"""Weights of 4 bits in the place of one of bf16."""

MULTIPLIERS = 9024
"""Of the board, all of them in an array that the matrix operators share."""

ARRAYS = ("split", "shared")

DIFFERS = (
    "As published, weights have 4 bits as there (W4A8), so that memory brings four times as many "
    "in a cycle, and caches too, which have 8 bits there; fair, everything is bf16 and each byte "
    "that the program moves is counted. Both run at 250 MHz with the memory and the "
    "multipliers of the described U55C: split evenly over the matrix operators, or an array that "
    "all of them share without waiting for each other. Tiles move from operator to operator in a "
    "cycle, so that a circuit takes longer; the published numbers are measured on a board."
)


def _rows(traces: Traces, view: str) -> list[Row]:
    rows = []
    for model, title in (SMALL if traces.small else MODELS).items():
        for length in SMALL_LENGTHS if traces.small else LENGTHS:
            for arrays in ARRAYS:
                labels = {"model": title, "tokens": f"{length}:{length}", "arrays": arrays}
                known = published.STREAMTENSOR.get((model, length), {}) if arrays == "split" else {}
                for lowering in _phases(length):
                    rows.append(Row(labels, _point(traces, view, model, arrays, lowering), known))
    return rows


def _phases(length: int) -> list[dict[str, Value]]:
    """A prompt in one chunk, and a token in the middle of those that follow."""
    prompt: dict[str, Value] = {
        "phase": "prefill",
        "rows": length,
        "tile": length,
        "last": True,
        "filled": 0,
    }
    token: dict[str, Value] = {
        "phase": "decode",
        "tile": min(length, 32),
        "filled": length + length // 2,
    }
    return [{"cache": 2 * length, **phase} for phase in (prompt, token)]


def _point(traces: Traces, view: str, model: str, arrays: str, lowering: dict[str, Value]) -> Point:
    changes: dict[str, Value] = {}
    if view == PUBLISHED:
        memory: Any = U55C.memory
        changes["memory.channels"] = NARROW * memory.channels
        changes["memory.requests_per_cycle"] = NARROW * memory.requests_per_cycle
    if arrays == "shared":
        for function in U55C.compute.of_functions:
            changes[f"compute.of_functions.{function}"] = 2 * MULTIPLIERS
    workload = f"{'models' if traces.small else 'language_models'}:{model}"
    return Point(workload, {}, machine="u55c", changes=changes, view=view, lowering=lowering)


def with_latency(results: list[FigureResult]) -> list[FigureResult]:
    """Of each prompt and the token behind it: times, tokens a second, and the memory's bound."""
    made = []
    for prompt, token in zip(results[::2], results[1::2], strict=True):
        output = int(str(token["tokens"]).partition(":")[2])
        first, each = (1e3 * r["cycles"] / HZ for r in (prompt, token))
        bound = 1e3 / each / token["bandwidth_utilization"]
        numbers = {
            **token.numbers,
            "prompt_cycles": prompt["cycles"],
            "latency_ms": first + output * each,
            "first_ms": first,
            "tokens_per_second": 1e3 / each,
            "roofline": bound,
        }
        made.append(FigureResult(token.row, numbers))
    return made


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    models = list(dict.fromkeys(r["model"] for r in results))
    panels = part.subplots(1, len(models), squeeze=False)[0]
    for axes, model in zip(panels, models, strict=True):
        own = [r for r in results if r["model"] == model]
        by = {name: [r for r in own if r["arrays"] == name] for name in ARRAYS}
        series = {name: [r["tokens_per_second"] / 1e3 for r in rs] for name, rs in by.items()}
        series["bound of the memory"] = [r["roofline"] / 1e3 for r in by["split"]]
        known = {"split": [_thousands(r.published("tokens_per_second")) for r in by["split"]]}
        bars(axes, [str(r["tokens"]) for r in by["split"]], series, published=known)
        axes.set_xlabel(model)
    panels[0].set_ylabel("thousand tokens a second")
    legend(part, panels, columns=4)


def _thousands(value: float | None) -> float | None:
    return None if value is None else value / 1e3


def _claims(views: Views) -> Iterator[str]:
    yield from table(
        (
            *("model", "tokens", "arrays", "view", "latency ms", "first token ms", "tokens/s"),
            *("published", "error", "of the memory's bound"),
        ),
        (
            (
                *r.row.labels.values(),
                "as published" if view == PUBLISHED else "fair",
                *(f"{r[name]:,.2f}" for name in ("latency_ms", "first_ms", "tokens_per_second")),
                _known(r),
                signed(r.error("tokens_per_second")),
                f"{100 * r['bandwidth_utilization']:.1f} %",
            )
            for view, results in views.items()
            for r in results
        ),
    )
    yield ""
    for r in views[PUBLISHED]:
        if r.published("latency_ms") is not None:
            latency, first, rate = (
                fold(r[name] / r.row.known[name])
                for name in ("latency_ms", "first_ms", "tokens_per_second")
            )
            yield (
                f"- {r['model']}, {r['tokens']}, beside the measurement: {latency} of the latency, "
                f"{first} of the time to the first token, {rate} of the tokens a second."
            )
    for view in (PUBLISHED, FAIR):
        pairs = list(zip(views[view][::2], views[view][1::2], strict=True))
        gain = max(b["tokens_per_second"] / a["tokens_per_second"] for a, b in pairs)
        first = fold(min(b["first_ms"] / a["first_ms"] for a, b in pairs))
        name = "as published" if view == PUBLISHED else "fair"
        yield (
            f"- Shared arrays beside split ones, {name}: up to {fold(gain)} of the tokens a "
            f"second, and down to {first} of the time to the first token."
        )
    small = views[FAIR][0]["model"] in SMALL.values()
    yield from _activations(small)
    yield from _seconds(small)
    if not small:
        yield from _exact()


def _activations(small: bool) -> Iterator[str]:
    """What values of a layer take in memory, and what the converters between operations take."""
    length = SMALL_LENGTHS[0] if small else LENGTHS[0]
    settings = {"phase": "prefill", "rows": length, "tile": length, "cache": 2 * length}
    known = " to ".join(f"{share:.1f}" for share in published.ACTIVATIONS)
    for key, title in (SMALL if small else MODELS).items():
        model = program.find(f"{'models' if small else 'language_models'}:{key}")()
        before, after = models.activations(model, **settings)
        yield (
            f"- {title}, a prompt of {length}: values of a layer take {before:,} bytes as tensors "
            f"of bf16; fused, converters take {after:,} bytes, {100 * after / before:.1f} %; "
            f"published {known} %."
        )


def _seconds(small: bool) -> Iterator[str]:
    """How long a model takes to become a design table, beside the compiler of the publication."""
    least, most = published.COMPILE_SECONDS
    settings = {"phase": "decode", "cache": str(2 * (SMALL_LENGTHS if small else LENGTHS)[0])}
    for key, title in (SMALL if small else MODELS).items():
        begun = process_time()
        name = f"{'models' if small else 'language_models'}:{key}"
        loaded = program.load(name, settings, draw=False, tensors=False)
        design = lower(loaded.graph)
        yield (
            f"- {title}, from the model to the design table of a token, {len(design.units):,} "
            f"units with the depths of their FIFOs: {process_time() - begun:.1f} s of one CPU; "
            f"published, to what the vendor's tools take, {least} to {most} s."
        )


def _exact() -> Iterator[str]:
    """A small layer by the exact model of its circuit, and by the timing on tiles."""
    chunk = {"phase": "prefill", "rows": "4"}
    for what, phase in (("A token", {"phase": "decode"}), ("4 tokens", chunk)):
        loaded = program.load("models:gpt2", {**phase, "block": "h", "tile": "4", "cache": "8"})
        circuit = Experiment(loaded.graph, loaded.inputs)
        exact, tiles = circuit.prediction.cycles, mirrored(circuit).cycles
        yield (
            f"- {what} through a layer of a small GPT-2: {exact:,} cycles by the exact model of "
            f"its circuit, {tiles:,} by the timing on tiles of a machine like it, "
            f"{signed(tiles / exact - 1)}."
        )


def _known(result: FigureResult) -> str | None:
    known = result.published("tokens_per_second")
    return None if known is None else f"{known:,.2f}"


FIGURE = Figure(
    "streamtensor",
    "Language models on a described U55C: time to the first token, and tokens a second",
    DIFFERS,
    _rows,
    _draw,
    shown=("latency_ms", "first_ms", "tokens_per_second", "roofline", "bandwidth_utilization"),
    derive=with_latency,
    claims=_claims,
    by="model",
    size=(13.0, 3.8),
    group="streamtensor",
)
