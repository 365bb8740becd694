"""(p) Lanes of functions, chosen by exact cycles and estimates of LUTs."""

from __future__ import annotations

from time import process_time
from typing import Any

from benchmarks.table import Table
from stepgen.commands.lanes import chosen
from stepgen.commands.named import Named
from stepgen.commands.options import Circuit, Goal, Timing
from stepgen.tools.shipped import shipped
from stepgen.tools.waiting import quiet

TALK = str(shipped("examples") / "talk" / "talk.stepgen")

MLP = {"block": "mlp", "phase": "prefill", "rows": "4"}
"""Of a GPT-2-shaped model: 4 tokens through the two linears of a layer and the GELU between."""

SEARCHES: list[tuple[str, str, dict[str, str], int, dict[str, Any]]] = [
    ("demo, dynamic tiles", "moe", {}, 8, {"slower": 5}),
    ("demo, by operator", "moe", {}, 8, {"slower": 5, "operators": True}),
    ("GPT-2-shaped, MLP", "models:gpt2", MLP, 8, {"slower": 5}),
    ("GPT-2-shaped, MLP", "models:gpt2", MLP, 8, {"fit": 40_000}),
    ("model that talks", TALK, {}, 4, {"slower": 5}),
]
"""What is shown, the program, its settings, the most lanes, and what the circuit has to be."""


def measure() -> Table:
    """Searches; no circuit is synthesized."""
    return Table(
        "p. Lanes of functions, chosen",
        "`stepgen lanes PROGRAM --no-counters` on drawn inputs: cycles and LUTs of an ECP5, "
        "estimated, with the most lanes throughout and with the chosen ones. Seconds of CPU "
        "depend on what the cache knows of the circuits.",
        (
            *("program", "lanes", "goal", "cycles", "chosen", "longer"),
            *("LUT", "chosen", "saved", "chosen lanes", "circuits", "CPU s"),
        ),
        [_row(*search) for search in SEARCHES],
    )


def _row(
    name: str, program: str, settings: dict[str, str], lanes: int, goal: dict[str, Any]
) -> tuple[str, ...]:
    begun = process_time()
    source = Named(program=program, settings=settings)
    circuit = Circuit(lanes=lanes, counters="none")
    loaded = source.load(tensors=False)
    found = chosen(source, loaded, circuit, Timing(), Goal(**goal), quiet)
    before, after = found.start.cost, found.used["lut"]
    aim = f"fits {goal['fit']:,} LUT" if "fit" in goal else f"at most {goal['slower']} % longer"
    return (
        *(name, str(lanes), aim, f"{before.cycles:,}", f"{found.cycles:,}"),
        f"{found.cycles / before.cycles - 1:+.1%}",
        *(f"{before.luts:,}", f"{after:,}", f"{1 - after / before.luts:.1%}"),
        *(f"`{found.text}`", str(len(found.search.measured)), f"{process_time() - begun:.0f}"),
    )
