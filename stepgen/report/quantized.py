"""What quantization of a model costs, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from stepgen.frontend.kind import shape_text
from stepgen.frontend.quantizing.quantize import Quantized
from stepgen.frontend.quantizing.scaling import Rounded
from stepgen.frontend.show import head
from stepgen.report.console import table


def tables(found: Quantized) -> Iterator[RenderableType]:
    """A line about the model, errors of its values, and its losses."""
    yield head(found.model)
    if found.weights:
        yield _weights(found)
        if found.steps:
            yield _steps(found)
    else:
        rows = (
            (
                error.name,
                " ".join(map(str, error.layer)),
                str(error.value),
                f"{error.cosine:.5f}",
                f"{error.sqnr:.1f}",
            )
            for error in found.errors
        )
        yield table(
            "Errors, with those of all values before",
            *("value", "layer", "type", "cosine", "SQNR dB"),
            rows=rows,
            left=3,
        )
        first, *_, last = found.distances
        yield (
            f"distance from the model's distributions: {first:.5f} nats by the largest numbers, "
            f"{last:.5f} after {len(found.distances) - 1} passes"
        )
    if found.losses is not None:
        before, after = found.losses
        yield (
            f"loss on {found.evaluated:,} tokens: {before:.4f} nats before, {after:.4f} after "
            f"({after - before:+.4f})"
        )


def _weights(found: Quantized) -> RenderableType:
    """Weights with scales or places: their bytes, as in memory, and errors."""
    rows = []
    for name, one in found.weights.items():
        by = one.rows if isinstance(one, Rounded) else one.places
        numbers = (shape_text(one.weight.shape), by, 2 * one.weight.size, one.bytes)
        rows.append((name, *numbers, f"{one.sqnr:.1f}"))
    scales = isinstance(one, Rounded)  # all of them, or none
    heads = (
        *("operation", "weight", "rows of a scale" if scales else "places"),
        *("bytes in bf16", "after", "SQNR dB"),
    )
    return table(f"Weights with {'scales' if scales else 'places'}", *heads, rows=rows, left=2)


def _steps(found: Quantized) -> RenderableType:
    """Values in int8 by what reads them, and the errors of what it makes of them."""
    errors = {(error.name, error.layer): error for error in found.errors}
    rows = []
    for name, ranges in found.steps.items():
        for one in ranges:
            error = errors.get((name, one.layer))  # what experts compute inside has none
            made = (f"{error.cosine:.5f}", f"{error.sqnr:.1f}") if error else ("", "")
            numbers = (f"{one.largest:.4g}", f"{one.step:.4g}", f"{100 * one.cut:.2f}")
            rows.append((name, " ".join(map(str, one.layer)), *numbers, *made))
    heads = ("read by", "layer", "largest", "step", "cut off %", "result's cosine", "SQNR dB")
    return table(
        "Values in steps of int8, and errors of results with those of all values before",
        *heads,
        rows=rows,
        left=2,
    )


def document(found: Quantized) -> dict[str, Any]:
    """The same as JSON."""
    before, after = found.losses or (None, None)
    return {
        "scheme": found.scheme,
        "calibration_tokens": found.tokens,
        "distances": list(found.distances),
        "loss": {"tokens": found.evaluated, "before": before, "after": after},
        "weights": [
            {
                "operation": name,
                "shape": list(one.weight.shape),
                "bits": one.bits,
                "rows": one.rows if isinstance(one, Rounded) else None,
                "places": None if isinstance(one, Rounded) else one.places,
                "sqnr_db": one.sqnr if math.isfinite(one.sqnr) else None,
            }
            for name, one in found.weights.items()
        ],
        "steps": [
            {
                "read_by": name,
                "layer": list(one.layer),
                "largest": one.largest,
                "step": one.step,
                "cut": one.cut,
            }
            for name, ranges in found.steps.items()
            for one in ranges
        ],
        "bytes": sum(weight.bytes for weight in found.model.weights.values()),
        "values": [
            {
                "name": error.name,
                "layer": list(error.layer),
                "element": error.value.element,
                "places": error.value.places,
                "cosine": error.cosine,
                "sqnr_db": error.sqnr if math.isfinite(error.sqnr) else None,
            }
            for error in found.errors
        ],
    }
