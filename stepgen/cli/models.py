"""What commands do with a model, a file that ``stepgen import`` wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.config import show_json
from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
    from stepgen.cosim.experiment import Experiment
    from stepgen.frontend import Decoder
    from stepgen.frontend.model import Model
    from stepgen.ir.graph import Graph
    from stepgen.ir.lanes import Lanes
    from stepgen.program.program import Program
    from stepgen.semantics.executor import Result

more_option = click.option(
    "--more",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Tokens that follow those of --ids, each the most likely one.",
)


def is_model(program: ProgramOptions) -> bool:
    """Whether a program is a file with a model."""
    from stepgen.program.models import is_model as named

    return named(program.program)


def show(program: ProgramOptions, model: Model, settings: Mapping[str, str], *, json: bool) -> None:
    """Print the layers of a model."""
    from stepgen.report import console, models

    rows = _settings(program, settings, cache=model.tokens[1])["cache"]
    if json:
        show_json(models.document(model, rows))
    else:
        console.show(*models.tables(model, rows))


def compiled(program: ProgramOptions, hardware: HardwareOptions, *, json: bool) -> None:
    """Print what each operation of a model becomes as a circuit."""
    from stepgen.program import models as programs
    from stepgen.program.program import Program
    from stepgen.report import console, models
    from stepgen.tools.waiting import progress as shown_progress

    no_program(program, "--compiled")
    model, settings = opened(program, "--compiled is")
    circuit = hardware.circuit()
    with shown_progress(quiet=json) as progress:
        progress("compiling", 0.0)
        log = programs.compiled(
            model,
            program.program,
            settings,
            lambda graph: circuit.experiment(Program(graph)).design,
        )
        fusion = programs.fusion(model, program.program, settings)
    if json:
        show_json(models.compiled_document(log, fusion))
    else:
        console.show(*models.compiled(log), *models.groups(fusion))


def run(
    program: ProgramOptions,
    ids: Path | None,
    more: int,
    out: Path | None,
    save_inputs: Path | None,
    *,
    json: bool,
) -> None:
    """Run the operations of a model, and print its outputs."""
    import numpy as np

    from stepgen.frontend.drawing import drawn
    from stepgen.frontend.state import State, check_room
    from stepgen.frontend.text import likeliest
    from stepgen.tools.atomic import atomic_file
    from stepgen.tools.waiting import progress as shown_progress

    model, left = opened(program)
    _none_left(program, left)
    text, given = text_of(ids, more), _given(program, model, ids)
    if text is not None and more:
        text.check(model)
        check_room(model.tokens[1], len(given["ids"]), more, model.name, most=model.tokens[1])
    random = drawn(model, given, program.seed)
    state, generated = State(model.tokens[1]), []
    with shown_progress(quiet=json) as progress:
        progress("running", 0.1)
        parts = [model.run({**given, **random}, state=state)]
        for _ in range(more):
            generated.append(likeliest(model, parts[-1][model.outputs[0]][-1]))
            parts.append(model.run({"ids": generated[-1:]}, state=state))
    found = {name: np.concatenate([part[name] for part in parts]) for name in model.outputs}
    for path, arrays in ((out, found), (save_inputs, {**given, **random})):
        if path is not None:
            with atomic_file(path) as partial:
                named: dict[str, Any] = {**arrays}
                np.savez(partial, **named)
    _print(model, found, sorted(random), program.seed, out, json=json, generated=generated)


def decode(
    program: ProgramOptions, text: Text, lanes: Lanes, out: Path | None, *, json: bool
) -> None:
    """Run the programs of a model on a text, by the reference, and print its outputs."""
    import numpy as np

    from stepgen.semantics import executor
    from stepgen.tools.atomic import atomic_file
    from stepgen.tools.waiting import progress as shown_progress

    with shown_progress(quiet=json) as progress:
        progress("building the program", 0.0)
        made = decoder(program, lanes)
        progress("running", 0.1)
        parts = [
            made.after(executor.run(graph, inputs, lanes=lanes), count)
            for graph, inputs, count in text.runs(program, made)
        ]
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if out is not None:
        with atomic_file(out) as partial:
            named: dict[str, Any] = {**found}
            np.savez(partial, **named)
    _print(made.model, found, [], program.seed, out, json=json, generated=text.generated)


@dataclass
class Text:
    """The tokens that a model runs on.

    Attributes
    ----------
    ids : Path
        A file with the first ones.
    more : int
        How many follow, each the one with the largest output behind the others.
    generated : list of int
        Those that followed.
    """

    ids: Path
    more: int
    generated: list[int] = field(default_factory=list)

    def runs(
        self, program: ProgramOptions, made: Decoder
    ) -> Iterator[tuple[Graph, dict[str, Any], int]]:
        """By run, the program, its inputs and the number of its tokens.

        After each, `made` must go on with its memory.
        """
        for given, more, count in self.tokens(program, made):
            yield made.program(count), made.inputs(given, more), count

    def tokens(
        self, program: ProgramOptions, made: Decoder
    ) -> Iterator[tuple[dict[str, Any], int, int]]:
        """By run, the model's inputs, how many tokens it makes, and all of its tokens.

        Raises
        ------
        StepError
            At once, if the model takes no such text or its caches have no room for it.
        """
        from stepgen.frontend.state import check_room

        given = _given(program, made.model, self.ids)
        if self.more:
            self.check(made.model)
            model = made.model
            check_room(
                made.sizes.rows, len(given["ids"]), self.more, model.name, most=model.tokens[1]
            )
        return (self._written if made.sizes.writes else self._tokens)(made, made.tokens(given))

    def check(self, model: Model) -> None:
        """Check that a model can go on behind a text.

        Raises
        ------
        StepError
            If it takes something else than ids.
        """
        from stepgen.ir.errors import StepError

        if set(model.inputs) - {"positions"} != {"ids"}:
            raise StepError(
                f"--more is for models of ids, and the inputs of {model.name} are "
                f"{', '.join(model.inputs)}"
            )

    def _written(
        self, made: Decoder, given: Iterable[dict[str, Any]]
    ) -> Iterator[tuple[dict[str, Any], int, int]]:
        """One run, whose circuit chooses what follows."""
        (one,) = given
        count = len(one["ids"])
        yield one, self.more, count + self.more
        self.generated += made.outputs["written"][count - 1 :][: self.more].tolist()

    def _tokens(
        self, made: Decoder, given: Iterable[dict[str, Any]]
    ) -> Iterator[tuple[dict[str, Any], int, int]]:
        from stepgen.frontend.text import likeliest

        for one in given:
            yield one, 0, len(next(iter(one.values())))
        for _ in range(self.more):
            token = likeliest(made.model, made.outputs[made.model.outputs[0]][-1])
            self.generated.append(token)
            yield {"ids": [token]}, 0, 1


def opened(
    program: ProgramOptions, what: str = "--ids and --golden are"
) -> tuple[Model, dict[str, str]]:
    """The model that is asked for, and what --set says of its program."""
    from stepgen.program.program import model_of
    from stepgen.program.settings import pairs

    settings = pairs(program.settings, "--set")
    return model_of(program.program, settings, seed=program.seed, what=what)


def no_program(program: ProgramOptions, what: str) -> None:
    """Refuse options that change a program, where a model's own are made."""
    from stepgen.ir.errors import StepError

    for option, given in (("--transform", program.transforms), ("--dim", program.dims)):
        if given:
            raise StepError(f"{option} can't be given with {what}")


def decoder(program: ProgramOptions, lanes: Lanes) -> Decoder:
    """The programs of a model for a text; options that a text does not take are refused."""
    from stepgen.program import models

    no_program(program, "--ids")
    model, settings = opened(program)
    return models.decoder(model, program.program, settings, lanes)


def experiments(
    program: ProgramOptions, hardware: HardwareOptions, when: RunOptions, text: Text
) -> tuple[Program, list[list[Experiment]]]:
    """Runs of the programs of a model on a text, each on the memory that the last one left.

    Returns
    -------
    program : Program
        The first one, with the inputs of its first run.
    experiments : list of list of Experiment
        Those on one design together.
    """
    made = decoder(program, hardware.circuit().lanes or LANES)
    runs = (
        (graph, inputs, lambda result, count=count: made.after(result, count))
        for graph, inputs, count in text.runs(program, made)
    )
    return on_designs(program, hardware, when, runs)


def on_designs(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    runs: Iterable[tuple[Graph, dict[str, Any], Callable[[Result], object]]],
) -> tuple[Program, list[list[Experiment]]]:
    """Runs one after the other, as `experiments`: each has its result taken before the next."""
    from dataclasses import replace

    from stepgen.program import program as programs

    name = Path(program.program).name
    loaded, found = None, {}
    for graph, inputs, took in runs:
        if id(graph) not in found:
            one = programs.Program(graph, inputs, name, frozenset(inputs))
            loaded = loaded or one
            found[id(graph)] = [
                when.timing().experiment(one, hardware.circuit(), seed=program.seed)
            ]
        else:
            first = found[id(graph)][0]
            found[id(graph)].append(replace(first, inputs=inputs, built=first.design))
        took(found[id(graph)][-1].reference)
    assert loaded is not None  # a text has a token
    return loaded, [*found.values()]


def _print(
    model: Model,
    found: dict[str, Any],
    drawn: list[str],
    seed: int,
    out: Path | None,
    *,
    json: bool,
    generated: Sequence[int] = (),
) -> None:
    import numpy as np

    from stepgen.report import console

    if json:
        shapes = {name: list(array.shape) for name, array in found.items()}
        place = None if out is None else str(out)
        document = {"outputs": shapes, "drawn": drawn, "generated": [*generated], "out": place}
        show_json(document)
        return
    if drawn:
        console.show(f"drawn: {', '.join(drawn)} (seed {seed})")
    for name, array in found.items():
        if name not in model.types:  # ids that were written
            console.show(f"{name}: {', '.join(map(str, array))}")
            continue
        console.show(f"{name}: {model.types[name]}, T = {len(array)}")
        console.show("  " + np.array2string(array, threshold=8, prefix="  "))
        last = array[-1].reshape(-1)
        best = int(last.argmax())
        console.show(f"  largest of the last row: {last[best]:.6g} at {best}")
    if generated:
        console.show(f"generated: {', '.join(map(str, generated))}")
    if out is not None:
        console.show(f"written to {out}")


def text_of(ids: Path | None, more: int) -> Text | None:
    """The text that is given.

    Raises
    ------
    StepError
        If --more is given without --ids.
    """
    from stepgen.ir.errors import StepError

    if more and ids is None:
        raise StepError("--more goes on behind a text: give it by --ids")
    return None if ids is None else Text(ids, more)


def _given(program: ProgramOptions, model: Model, ids: Path | None) -> dict[str, Any]:
    """The inputs from --inputs and --ids."""
    from stepgen.ir.errors import StepError
    from stepgen.semantics.arrays import read

    given: dict[str, Any] = {}
    if program.inputs is not None:
        given = dict(read(program.inputs, "the inputs", f"{program.inputs} holds no arrays"))
    if ids is None:
        return given
    if "ids" not in model.inputs:
        raise StepError(f"{model.name} takes no ids, its inputs are {', '.join(model.inputs)}")
    given["ids"] = ids_of(ids)
    return given


def ids_of(path: Path, least: int = 1) -> Any:
    """The ids in a file, so many at least.

    Raises
    ------
    StepError
        If it has no list of integers.
    """
    from stepgen.ir.errors import StepError
    from stepgen.program import routing

    table = routing.table(path, "list of ids")
    if table.ndim == 2 and 1 in table.shape:
        table = table.ravel()
    if not table.size:
        raise StepError(f"{path} has no ids: give at least {least}")
    if table.ndim != 1:
        raise StepError(
            f"{path} is not a list of ids: it must have the shape [tokens], not {list(table.shape)}"
        )
    return routing.integers(table, f"{path} is not a list of ids: they must be integers")


def _none_left(program: ProgramOptions, left: dict[str, str]) -> None:
    from stepgen.ir.errors import StepError

    for name in left:
        raise StepError(f"{program.program} has no parameter {name!r}, it has none here")


def _settings(program: ProgramOptions, settings: Mapping[str, str], **known: int) -> dict[str, int]:
    """What --set says of a model, by name; `known` has the names, and numbers by default."""
    from stepgen.ir.errors import StepError

    found = dict(known)
    for name, text in settings.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none here"
            raise StepError(f"{program.program} has no parameter {name!r}, {has}")
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
            raise StepError(
                f"{program.program} needs {name} to be an integer of at least 1, not {text!r}"
            )
        found[name] = int(text)
    return found
