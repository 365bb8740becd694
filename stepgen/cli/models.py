"""What commands do with a model, a file that ``stepgen import`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
    from stepgen.cosim.experiment import Experiment
    from stepgen.frontend.model import Model
    from stepgen.program.program import Program


def is_model(program: ProgramOptions) -> bool:
    """Whether a program is a file with a model."""
    from stepgen.program.models import is_model as named

    return named(program.program)


def is_lowered(program: ProgramOptions) -> bool:
    """Whether --set has parameters of the program of a model, not only those of its layers."""
    from stepgen.program.settings import pairs

    return not {*pairs(program.settings, "--set")} <= {"cache"}


def show(program: ProgramOptions, *, json: bool) -> None:
    """Print the layers of a model."""
    from stepgen.program.models import load
    from stepgen.report import console, models

    model = load(program.program)
    rows = _settings(program, cache=model.tokens[1])["cache"]
    if json:
        console.show_json(models.document(model, rows))
    else:
        console.show(*models.tables(model, rows))


def run(
    program: ProgramOptions,
    ids: Path | None,
    out: Path | None,
    save_inputs: Path | None,
    *,
    json: bool,
) -> None:
    """Run the operations of a model, and print its outputs."""
    import numpy as np

    from stepgen.frontend.drawing import drawn
    from stepgen.program.models import load
    from stepgen.tools.atomic import atomic_file
    from stepgen.tools.waiting import progress as shown_progress

    model = load(program.program)
    _settings(program)
    given = _given(program, model, ids)
    random = drawn(model, given, program.seed)
    with shown_progress(quiet=json) as progress:
        progress("running", 0.1)
        found = model.run({**given, **random})
    for path, arrays in ((out, found), (save_inputs, {**given, **random})):
        if path is not None:
            with atomic_file(path) as partial:
                named: dict[str, Any] = {**arrays}
                np.savez(partial, **named)
    _tell(model, found, sorted(random), program.seed, out, json=json)


def decode(program: ProgramOptions, ids: Path, lanes: int, out: Path | None, *, json: bool) -> None:
    """Run the program of a model token by token, by the reference, and print its outputs."""
    import numpy as np

    from stepgen.program.models import decoder
    from stepgen.tools.atomic import atomic_file
    from stepgen.tools.waiting import progress as shown_progress

    with shown_progress(quiet=json) as progress:
        progress("building the program", 0.0)
        made = decoder(program.program, settings_of(program), lanes)
        given = _given(program, made.model, ids)
        progress("running", 0.1)
        found = made.run(given)
    if out is not None:
        with atomic_file(out) as partial:
            named: dict[str, Any] = {**found}
            np.savez(partial, **named)
    _tell(made.model, found, [], program.seed, out, json=json)


def settings_of(program: ProgramOptions) -> dict[str, str]:
    """What --set says; options that a text does not take are refused.

    Raises
    ------
    StepError
        If one is given.
    """
    from stepgen.ir.errors import StepError
    from stepgen.program.settings import pairs

    for option, given in (("--transform", program.transforms), ("--dim", program.dims)):
        if given:
            raise StepError(f"{option} can't be given with --ids")
    return pairs(program.settings, "--set")


def experiments(
    program: ProgramOptions, hardware: HardwareOptions, when: RunOptions, ids: Path
) -> tuple[Program, list[Experiment]]:
    """Runs of the program of a model, one for each token, on the memory that the last one left.

    Returns
    -------
    program : Program
        With the inputs of the first token.
    experiments : list of Experiment
        On one design.
    """
    from dataclasses import replace

    from stepgen.program import program as programs
    from stepgen.program.models import decoder

    lanes = hardware.lanes if hardware.lanes is not None else LANES
    made = decoder(program.program, settings_of(program), lanes)
    name = Path(program.program).name
    loaded, found = None, []
    for given in made.tokens(_given(program, made.model, ids)):
        inputs = made.inputs(given)
        if loaded is None:
            loaded = programs.Program(made.graph, inputs, name, frozenset(inputs))
            found.append(when.experiment(loaded, hardware, seed=program.seed))
        else:
            found.append(replace(found[0], inputs=inputs, built=found[0].design))
        made.after(found[-1].reference)
    assert loaded is not None  # a text has a token
    return loaded, found


def _tell(
    model: Model,
    found: dict[str, Any],
    drawn: list[str],
    seed: int,
    out: Path | None,
    *,
    json: bool,
) -> None:
    import numpy as np

    from stepgen.report import console

    if json:
        shapes = {name: list(array.shape) for name, array in found.items()}
        place = None if out is None else str(out)
        console.show_json({"outputs": shapes, "drawn": drawn, "out": place})
        return
    if drawn:
        console.show(f"drawn: {', '.join(drawn)} (seed {seed})")
    for name, array in found.items():
        console.show(f"{name}: {model.types[name]}, T = {len(array)}")
        console.show("  " + np.array2string(array, threshold=8, prefix="  "))
        last = array[-1].reshape(-1)
        best = int(last.argmax())
        console.show(f"  largest of the last row: {last[best]:.6g} at {best}")
    if out is not None:
        console.show(f"written to {out}")


def check_unused(program: ProgramOptions, ids: Path | None, *, golden: bool) -> None:
    """Check that options of models are not given for another program.

    Raises
    ------
    StepError
        If one is.
    """
    from stepgen.ir.errors import StepError

    for option, given in (("--ids", ids is not None), ("--golden", golden)):
        if given and not is_model(program):
            raise StepError(
                f"{option} is for models, files that stepgen import writes, not for "
                f"{program.program}"
            )


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


def ids_of(path: Path) -> Any:
    """The ids in a file, at least one.

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
    if table.ndim != 1 or not table.size:
        raise StepError(
            f"{path} is no list of ids: it must have the shape [tokens], not {list(table.shape)}"
        )
    return routing.integers(table, f"{path} is no list of ids: they must be integers")


def _settings(program: ProgramOptions, **known: int) -> dict[str, int]:
    """What --set says of a model, by name; `known` has the names, and numbers by default."""
    from stepgen.ir.errors import StepError
    from stepgen.program.settings import pairs

    found = dict(known)
    for name, text in pairs(program.settings, "--set").items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none here"
            raise StepError(f"{program.program} has no parameter {name!r}, {has}")
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
            raise StepError(
                f"{program.program} needs {name} to be an integer of at least 1, not {text!r}"
            )
        found[name] = int(text)
    return found
