"""``stepgen talk``: text from a model, character by character."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import grouped
from stepgen.cli.lanes_option import LANES_OPTION
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

    Run = Callable[[list[int], int], dict[str, npt.NDArray[np.generic]]]
    """Gives the outputs for ids, and for so many more that the circuit itself chooses."""

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
    per_run : int
        Characters that a run writes; 1 where the host chooses each.
    quiet : bool
        Whether no progress is shown.
    """

    lanes: Lanes
    bus: Bus
    board: str
    clock: str | None
    port: str | None
    per_run: int
    quiet: bool


@dataclass
class Runs:
    """The runs of a text so far.

    Attributes
    ----------
    tokens : list of int
        How many each run took.
    cycles, predicted : list of int
        By run, of a circuit.
    moved : list of int
        Bytes on the link by run, of a board.
    hz : float or None
        Clock of the board.
    seconds : list of float
        That each run took here.
    prediction : Prediction or None
        Of the last run, of a circuit.
    """

    tokens: list[int] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    predicted: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
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
    "--per-run",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Characters that the circuit writes by itself in each run, always the likeliest ones; "
    "with 1 this computer chooses each.",
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
    help="Draw when each unit is busy, starved and full in the last run, of a board or rtl.",
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
    per_run: int,
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
    if lanes is not None and machine == "golden":
        raise StepError("--lanes can't be given with --machine golden, which has no circuit")
    if top_k is not None and temperature == 0:
        raise StepError("--top-k is for drawing: give a --temperature above 0, or leave it out")
    if per_run > 1 and machine == "golden":
        raise StepError(
            "--per-run can't be given with --machine golden, which has no circuit that chooses"
        )
    if per_run > 1 and temperature > 0:
        raise StepError(
            f"--per-run {per_run} writes the likeliest characters: leave --temperature out, or "
            f"let this computer draw each with --per-run 1"
        )
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
    how = Machine(asked, bus, board or BOARD, clock, port, per_run, quiet=json)
    with machines[machine](loaded, how, runs) as run:
        pieces = (
            _chosen(loaded, ids, tokens, run, sampler, runs)
            if per_run == 1
            else _written(ids, tokens, per_run, run, runs)
        )
        text = _shown(loaded, ids, pieces, shown=not json)
    if timeline is not None and runs.prediction is not None:
        _draw(timeline, loaded.name, runs.prediction)
    if json:
        console.show_json(
            {
                "timeline": None if timeline is None else str(timeline),
                "text": text,
                "machine": machine,
                "tokens": runs.tokens,
                "cycles": runs.cycles,
                "predicted": runs.predicted,
                "moved": runs.moved,
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


def _shown(model: Model, ids: list[int], pieces: Iterator[list[int]], *, shown: bool) -> str:
    """The prompt and what follows, printed as it comes."""
    text = ""
    for piece in chain([ids], pieces):
        characters = "".join(model.characters[n] for n in piece)
        text += characters
        if shown:
            print(characters, end="", flush=True)
    if shown:
        print("\n")
    return text


def _chosen(
    model: Model, ids: list[int], tokens: int, run: Run, sampler: Sampler, runs: Runs
) -> Iterator[list[int]]:
    """What follows, chosen here of the outputs for each token."""
    token = ids[0]
    for place in range(len(ids) + tokens - 1):
        found = _timed(run, [token], 0, runs)[model.outputs[0]][-1]
        if place + 1 < len(ids):
            token = ids[place + 1]
            continue
        # A model may have more ids than characters.
        token = sampler.choose(found[: len(model.characters)])
        yield [token]


def _written(
    ids: list[int], tokens: int, per_run: int, run: Run, runs: Runs
) -> Iterator[list[int]]:
    """What follows, so much in each run as the circuit chooses by itself."""
    given, left = ids, tokens
    while left:
        count = min(per_run, left)
        piece = _timed(run, given, count - 1, runs)["written"][-count:].tolist()
        yield piece
        given, left = piece[-1:], left - count


def _timed(run: Run, given: list[int], more: int, runs: Runs) -> dict[str, npt.NDArray[np.generic]]:
    begun = monotonic()
    outputs = run(given, more)
    runs.seconds.append(monotonic() - begun)
    runs.tokens.append(len(given) + more)
    return outputs


@contextmanager
def _golden(model: Model, how: Machine, runs: Runs) -> Iterator[Run]:
    from stepgen.frontend.state import State

    state = State(model.tokens[1])
    yield lambda ids, more: model.run({"ids": ids}, state=state)


@contextmanager
def _reference(model: Model, how: Machine, runs: Runs) -> Iterator[Run]:
    made = _decoder(model, how)
    yield lambda ids, more: made.run({"ids": ids}, more)


@contextmanager
def _rtl(model: Model, how: Machine, runs: Runs) -> Iterator[Run]:
    """As ``stepgen test`` does it: each run begins with the memory that the last one left."""
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    from stepgen.cosim.builds import built
    from stepgen.cosim.experiment import Experiment, simulate
    from stepgen.cosim.outputs import nested
    from stepgen.ir.errors import StepError
    from stepgen.tools import waiting

    made = _decoder(model, how)
    _introduce(model, how, "Verilator")
    with waiting.progress(quiet=how.quiet) as progress:
        first = Experiment(made.graph, {}, lanes=how.lanes, bus=how.bus)
        simulation = built(first.design, progress=progress)
    with TemporaryDirectory(prefix="stepgen.") as folder:

        def run(ids: list[int], more: int) -> dict[str, Any]:
            one = replace(first, inputs=made.inputs({"ids": ids}, more), built=first.design)
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
            return made.took(outputs, len(ids) + more)

        yield run


@contextmanager
def _board(model: Model, how: Machine, runs: Runs) -> Iterator[Run]:
    from stepgen.board.device import VIRTUAL, Device
    from stepgen.commands.place import OnBoard
    from stepgen.ir.errors import StepError
    from stepgen.tools import waiting

    if how.clock == "auto":
        raise StepError("--clock takes the MHz that the design on the board was built for")
    board, _ = OnBoard(board=how.board, clock=how.clock).find(simulated=True)
    where = how.board if how.board.startswith(VIRTUAL) else board
    made = _decoder(model, how)
    _introduce(model, how, how.board)
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

        def run(ids: list[int], more: int) -> dict[str, Any]:
            outputs = device.step(made.streams({"ids": ids}, more), check="all")
            assert device.last.predicted is not None  # checked, as is each step
            runs.moved.append(device.last.sent + device.last.received)
            runs.cycles.append(device.last.cycles)
            runs.predicted.append(device.last.predicted)
            runs.prediction = device.last.prediction
            return made.took(outputs, len(ids) + more)

        yield run


def _decoder(model: Model, how: Machine) -> Decoder:
    from stepgen.frontend.decoding import Decoder

    return Decoder(model, cache=model.tokens[1], writes=how.per_run > 1, lanes=how.lanes)


def _introduce(model: Model, how: Machine, where: str) -> None:
    """Say what is going to compute, once it is known to be there."""
    from stepgen.report import console

    if not how.quiet:
        console.show(_introduction(model, where, how.per_run))


def _introduction(model: Model, where: str, per_run: int) -> str:
    """What is going to compute, of a circuit."""
    found = _experts(model)
    what = "a mixture of experts" if found else "a language model"
    chosen = ""
    if found:
        chosen = (
            f"For each character the circuit itself chooses {found[0]} of {found[1]} experts in "
            f"each layer, and reads the weights of these alone. "
        )
    compared = (
        "Each character below is what it computed; its scores are compared with the reference, "
        "and its cycles with the prediction."
        if per_run == 1
        else f"It chooses the characters, too: up to {per_run} in a run, without this computer. "
        "They are compared with the reference, and the cycles of each run with the prediction."
    )
    return (
        f"{model.name}: {what} of {model.parameters:,} parameters as one circuit, on {where}. "
        f"{chosen}{compared}"
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
    count, took = sum(runs.tokens), sum(runs.seconds)
    yield f"{count} tokens in {took:,.1f} s on this computer, {took / count:.2g} s each"
    if not runs.cycles:
        return
    least, most = min(runs.cycles), max(runs.cycles)
    met = sum(a == b for a, b in zip(runs.cycles, runs.predicted, strict=True))
    if _experts(model):
        lines = costs(model, 0)
        read, whole = (sum(line.whole[n] for line in lines) for n in (2, 1))
        yield f"each token read {read:,} of {whole:,} bytes of weights: of experts those chosen"
    if count == len(runs.cycles):
        what, compared = f"{count} tokens of", "all logits equal the reference"
    else:
        what = f"{len(runs.cycles)} runs of {min(runs.tokens)} to {max(runs.tokens)} tokens, of"
        compared = "all that was written equals the reference"
    yield f"{what} {least:,} to {most:,} cycles, {met} of them as predicted; {compared}"
    if runs.moved:
        yield (
            f"{round(sum(runs.moved) / count):,} bytes went over the link for each token, in "
            f"{len(runs.moved)} runs"
        )
    if runs.hz:
        rate = runs.hz * count / sum(runs.cycles)
        yield (
            f"{rate:,.0f} tokens a second at {runs.hz / 1e6:g} MHz, where the design meets this "
            f"clock on a real board: stepgen build says so"
        )
