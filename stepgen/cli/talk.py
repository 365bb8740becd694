"""``stepgen talk``: text from a model, character by character."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import grouped
from stepgen.cli.lanes import LANES_OPTION
from stepgen.cli.options import json_option
from stepgen.cli.outputs import NAME, Output

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from stepgen.frontend.decoding import Decoder
    from stepgen.frontend.model import Model
    from stepgen.frontend.text import Sampler
    from stepgen.hw.design.bus import Bus
    from stepgen.ir.lanes import Lanes
    from stepgen.timing.model import Prediction

    Logits = Callable[[int], npt.NDArray[np.generic]]
    """Makes the next token's logits of a token."""

BOARD = "virtual:ulx3s-85f-sdram"
LANES, BUS_BITS = 2, 32
"""Of a circuit that fits the real board, whose SDRAM has words of 16 bits."""


@dataclass(frozen=True)
class Machine:
    """What computes, and how it is shown.

    Attributes
    ----------
    lanes : int or mapping of str to int
    bus : Bus
        Of the circuit, as the lanes are.
    board : str
    clock : str or None
        In MHz, of a real board.
    port : str or None
        Serial port of a real board.
    quiet : bool
        Whether no progress is shown.
    """

    lanes: Lanes
    bus: Bus
    board: str
    clock: str | None
    port: str | None
    quiet: bool


@dataclass
class Runs:
    """The runs of a text so far.

    Attributes
    ----------
    cycles, predicted : list of int
        By token, of a circuit.
    hz : float or None
        Clock of the board.
    seconds : list of float
        That each token took here.
    prediction : Prediction or None
        Of the last token, of a circuit.
    """

    cycles: list[int] = field(default_factory=list)
    predicted: list[int] = field(default_factory=list)
    hz: float | None = None
    seconds: list[float] = field(default_factory=list)
    prediction: Prediction | None = None


@grouped
@click.argument("model", type=NAME, required=False)
@click.option("--prompt", default="The ", show_default=True, help="The text that goes on.")
@click.option(
    "--tokens",
    type=click.IntRange(1),
    default=24,
    show_default=True,
    help="Characters to write.",
)
@click.option(
    "--machine",
    type=click.Choice(["board", "rtl", "reference", "golden"]),
    default="board",
    show_default=True,
    help="What computes: a board, the Verilog alone under Verilator, the reference of the program, "
    "or the operations of the model.",
)
@click.option(
    "--board",
    type=NAME,
    metavar="BOARD",
    help=f"A board that stepgen board lists, or virtual: and its name.  [default: {BOARD}]",
)
@click.option(
    "--clock",
    metavar="MHZ",
    help="Clock that the design on a real board was built for.  [default: the board's]",
)
@click.option("--port", metavar="PORT", help="Serial port of the board, if several may be it.")
@click.option("--lanes", **LANES_OPTION | {"show_default": str(LANES)})
@click.option(
    "--bus-bits",
    type=int,
    help="Data width of the memory port.",
    show_default=str(BUS_BITS),
)
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="0 takes the likeliest character; the larger, the more others.",
)
@click.option("--top-k", type=click.IntRange(1), help="Draw among so many of the likeliest.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of drawing.")
@click.option(
    "--timeline",
    type=Output(".png", ".pdf", ".svg"),
    metavar="FILE.png",
    help="Draw when each unit is busy, starved and full in the last token, of a board or rtl.",
)
@json_option
def command(
    *,
    model: str | None,
    prompt: str,
    tokens: int,
    machine: str,
    board: str | None,
    clock: str | None,
    port: str | None,
    lanes: int | str | None,
    bus_bits: int | None,
    temperature: float,
    top_k: int | None,
    seed: int,
    timeline: Path | None,
    json: bool,
) -> None:
    """Write text with a model, character by character.

    MODEL is a .stepgen file whose ids stand for characters; by default the mixture of experts of
    integers that comes with stepgen. Its circuit is simulated on a virtual board: weights are
    written once, experts are chosen on chip, and the cycles of each character are those predicted.
    """
    import os

    from stepgen.frontend import files
    from stepgen.frontend.text import Sampler, ids_of
    from stepgen.hw.design.bus import Bus
    from stepgen.ir.errors import StepError
    from stepgen.ir.lanes import lanes_from
    from stepgen.report import console
    from stepgen.tools.shipped import shipped

    for option, given in (("board", board), ("clock", clock), ("port", port)):
        if given is not None and machine != "board":
            raise StepError(f"--{option} can't be given with --machine {machine}, which needs none")
    if bus_bits is not None and machine in ("golden", "reference"):
        raise StepError(f"--bus-bits can't be given with --machine {machine}, which has no circuit")
    if top_k is not None and temperature == 0:
        raise StepError("--top-k is for drawing: give a --temperature above 0, or leave it out")
    if timeline is not None and machine in ("golden", "reference"):
        raise StepError(
            f"--timeline can't be given with --machine {machine}, which has no cycles: board and "
            f"rtl have"
        )
    path = os.fspath(shipped("examples") / "talk" / "talk.stepgen") if model is None else model
    loaded = files.load(path)
    ids, sampler = [int(n) for n in ids_of(loaded, prompt)], Sampler(temperature, top_k, seed)
    _check_room(loaded, len(ids), tokens)
    runs = Runs()
    machines = {"golden": _golden, "reference": _reference, "rtl": _rtl, "board": _board}
    asked = LANES if lanes is None else lanes_from(str(lanes))
    bus = Bus(BUS_BITS if bus_bits is None else bus_bits)
    how = Machine(asked, bus, board or BOARD, clock, port, quiet=json)
    if machine in ("board", "rtl") and not json:
        console.show(_introduction(loaded, how.board if machine == "board" else "Verilator"))
    with machines[machine](loaded, how, runs) as logits:
        text = _text(loaded, ids, tokens, logits, sampler, runs, shown=not json)
    if timeline is not None and runs.prediction is not None:
        _draw(timeline, loaded.name, runs.prediction)
    if json:
        console.show_json(
            {
                "timeline": None if timeline is None else str(timeline),
                "text": text,
                "machine": machine,
                "cycles": runs.cycles,
                "predicted": runs.predicted,
                "hz": runs.hz,
                "seconds": [round(one, 3) for one in runs.seconds],
            }
        )
        return
    console.show(*_summary(loaded, path, runs))
    if timeline is not None:
        console.show(f"written to {timeline}")


def _check_room(model: Model, prompt: int, tokens: int) -> None:
    """Check that a text fits the model's context."""
    from stepgen.ir.errors import StepError

    room = model.tokens[1] - prompt
    if tokens > room:
        remedy = f"give --tokens {room} at most" if room > 0 else "give a shorter --prompt"
        raise StepError(
            f"{model.name} has a context of {model.tokens[1]} characters, and {prompt} of the "
            f"prompt and {tokens} more do not fit: {remedy}"
        )


def _draw(place: Path, name: str, prediction: Prediction) -> None:
    """The timeline of a token."""
    from stepgen.report import timeline
    from stepgen.tools.atomic import atomic_file

    with atomic_file(place) as partial:
        timeline.draw(partial, [timeline.of_prediction(name, prediction, every=False)])


def _text(
    model: Model,
    ids: list[int],
    tokens: int,
    logits: Logits,
    sampler: Sampler,
    runs: Runs,
    *,
    shown: bool,
) -> str:
    """The prompt and what follows, printed as it comes."""
    made = list(ids)
    if shown:
        print("".join(model.characters[n] for n in ids), end="", flush=True)
    for place in range(len(ids) + tokens - 1):
        begun = monotonic()
        found = logits(made[place])
        runs.seconds.append(monotonic() - begun)
        if place + 1 < len(ids):
            continue
        # A model may have more ids than characters.
        made.append(sampler.choose(found[: len(model.characters)]))
        if shown:
            print(model.characters[made[-1]], end="", flush=True)
    if shown:
        print("\n")
    return "".join(model.characters[n] for n in made)


@contextmanager
def _golden(model: Model, how: Machine, runs: Runs) -> Iterator[Logits]:
    from stepgen.frontend.state import State

    state = State(model.tokens[1])
    yield lambda token: model.run({"ids": [token]}, state=state)[model.outputs[0]][-1]


@contextmanager
def _reference(model: Model, how: Machine, runs: Runs) -> Iterator[Logits]:
    made = _decoder(model, how.lanes)
    yield lambda token: made.run({"ids": [token]})[model.outputs[0]][-1]


@contextmanager
def _rtl(model: Model, how: Machine, runs: Runs) -> Iterator[Logits]:
    """As ``stepgen test`` does it: each run begins with the memory that the last one left."""
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    from stepgen.cosim.builds import built
    from stepgen.cosim.experiment import Experiment, simulate
    from stepgen.cosim.outputs import nested
    from stepgen.ir.errors import StepError
    from stepgen.tools import waiting

    made = _decoder(model, how.lanes)
    with waiting.progress(quiet=how.quiet) as progress:
        first = Experiment(made.graph, {}, lanes=how.lanes, bus=how.bus)
        simulation = built(first.design, progress=progress)
    with TemporaryDirectory(prefix="stepgen.") as folder:

        def logits(token: int) -> Any:
            one = replace(first, inputs=made.inputs({"ids": [token]}), built=first.design)
            (verdict,) = simulate([one], Path(folder), driver="cpp", simulation=simulation)
            outcome, prediction = verdict.outcome, verdict.prediction
            if not verdict.good:
                raise StepError(f"{made.graph.name} under Verilator: {outcome.faults[0]}")
            assert prediction is not None  # compared with it
            runs.cycles.append(outcome.cycles)
            runs.predicted.append(prediction.cycles)
            runs.prediction = prediction
            made.keep(made.graph, one.reference)  # that of the RTL: each byte was compared
            outputs = nested(made.graph, simulation.interface.sinks, outcome.outputs)
            return made.took(outputs)[model.outputs[0]][-1]

        yield logits


@contextmanager
def _board(model: Model, how: Machine, runs: Runs) -> Iterator[Logits]:
    from stepgen.board.device import VIRTUAL, Device
    from stepgen.commands.place import OnBoard
    from stepgen.ir.errors import StepError
    from stepgen.tools import waiting

    if how.clock == "auto":
        raise StepError("--clock takes the MHz that the design on the board was built for")
    board, _ = OnBoard(board=how.board, clock=how.clock).find(simulated=True)
    where = how.board if how.board.startswith(VIRTUAL) else board
    made = _decoder(model, how.lanes)
    with waiting.progress(quiet=how.quiet) as progress:
        device = Device(
            where,
            made.graph,
            lanes=how.lanes,
            bus=how.bus,
            counters=False,
            port=how.port,
            progress=progress,
        )
    with device:
        with waiting.progress(quiet=how.quiet) as progress:
            device.write(made.memory, progress=progress)
        runs.hz = device.board.hz

        def logits(token: int) -> Any:
            outputs = device.step(made.streams({"ids": [token]}), check="all")
            assert device.last.predicted is not None  # checked, as is each step
            runs.cycles.append(device.last.cycles)
            runs.predicted.append(device.last.predicted)
            runs.prediction = device.last.prediction
            return made.took(outputs)[model.outputs[0]][-1]

        yield logits


def _decoder(model: Model, lanes: Lanes) -> Decoder:
    from stepgen.frontend.decoding import Decoder

    return Decoder(model, cache=model.tokens[1], lanes=lanes)


def _introduction(model: Model, where: str) -> str:
    """What is going to compute, of a circuit."""
    found = _experts(model)
    what = "a mixture of experts" if found else "a language model"
    chosen = ""
    if found:
        chosen = (
            f"For each character the circuit itself chooses {found[0]} of {found[1]} experts in "
            f"each layer, and reads the weights of these alone. "
        )
    return (
        f"{model.name}: {what} of {model.parameters:,} parameters as one circuit, on {where}. "
        f"{chosen}Each character below is what it computed; its scores are compared with the "
        f"reference, and its cycles with the prediction."
    )


def _experts(model: Model) -> tuple[int, int] | None:
    """How many experts a token goes to, and of how many, of a model that has some."""
    from stepgen.frontend.kinds.experts import Experts

    for placed in model.placed:
        if isinstance(placed.op.kind, Experts):
            return placed.op.kind.top, placed.given.weights["router"][-1]
    return None


def _summary(model: Model, path: str, runs: Runs) -> Iterator[str]:
    """What it took."""
    from stepgen.frontend.show import costs

    yield f"{model.name}, {model.parameters:,} parameters in {path}"
    count, took = len(runs.seconds), sum(runs.seconds)
    yield f"{count} tokens in {took:,.1f} s on this computer, {took / count:.2g} s each"
    if not runs.cycles:
        return
    least, most = min(runs.cycles), max(runs.cycles)
    met = sum(a == b for a, b in zip(runs.cycles, runs.predicted, strict=True))
    if _experts(model):
        lines = costs(model, 0)
        read, whole = (sum(line.whole[n] for line in lines) for n in (2, 1))
        yield f"each token read {read:,} of {whole:,} bytes of weights: of experts those chosen"
    yield (
        f"{count} tokens of {least:,} to {most:,} cycles, {met} of them as predicted; "
        f"all logits equal the reference"
    )
    if runs.hz:
        rate = runs.hz * len(runs.cycles) / sum(runs.cycles)
        yield (
            f"{rate:,.0f} tokens a second at {runs.hz / 1e6:g} MHz, where the design meets this "
            f"clock on a real board: stepgen build says so"
        )
