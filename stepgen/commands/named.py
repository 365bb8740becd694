"""A program by name, as the command line and a file of settings have it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.commands.source import Drawing
    from stepgen.frontend.model import Model
    from stepgen.program.config import Config
    from stepgen.program.program import Program
    from stepgen.program.routing import Routing
    from stepgen.program.traces import Lengths


@dataclass(frozen=True, kw_only=True)
class Named:
    """A program by name.

    Attributes
    ----------
    program : str
        As for `stepgen.program.program.load`.
    settings : mapping of str to str
        Parameters of the program, as texts.
    routing, lengths : Path or int array, optional
        Files, or what they hold.
    inputs : Path, optional
        A file.
    imports : sequence of Path
        Python files whose functions and operators a saved graph has.
    seed : int
        Of drawn inputs and of stalls.
    dims : mapping of str to str
        Extents of dynamic dims of drawn inputs, as texts.
    transforms : sequence of str
        Transforms to apply first.
    """

    program: str
    settings: Mapping[str, str] = field(default_factory=dict)
    routing: Path | Routing | None = None
    lengths: Path | Lengths | None = None
    inputs: Path | None = None
    imports: Sequence[Path] = ()
    seed: int = 0
    dims: Mapping[str, str] = field(default_factory=dict)
    transforms: Sequence[str] = ()

    def model(self) -> tuple[Model | None, dict[str, str], Any]:
        """The model, if this is one, and the settings of its program; and what to `load` with."""
        from stepgen.program import models, program

        if models.is_model(self.program):
            return models.load(self.program), dict(self.settings), None
        if program.folder_of(self.program) is not None or self.program.endswith(".json"):
            return None, {}, None
        made = program.called(
            self.program,
            self.settings,
            self._traces(),
            models.settings(),
            seed=self.seed,
            data=False,
        )
        return (made[0] if models.is_made(made[0]) else None), made[2], made

    def _traces(self) -> dict[str, Any]:
        from stepgen.program import traces

        return traces.given(routing=self.routing, lengths=self.lengths)

    def load(self, *, draw: bool = True, tensors: bool = True, made: Any = None) -> Program:
        """Build the program and transform it; see `stepgen.program.program.load`."""
        from stepgen.program import program
        from stepgen.program.schedule import transformed

        loaded = program.load(
            self.program,
            self.settings,
            **self._traces(),
            inputs=self.inputs,
            imports=self.imports,
            seed=self.seed,
            dims=self.dims,
            draw=draw,
            tensors=tensors,
            made=made,
        )
        if self.transforms and loaded.design is not None:
            raise StepError(
                f"--transform can't be given: the design in {self.program} is finished; "
                f"{shlex.join(['stepgen', 'show', self.program, '--json'])} prints its program, "
                f"which from a .json file can be transformed"
            )
        return transformed(loaded, self.transforms)


def of_config(config: Config, drawing: Drawing) -> Named:
    """The program of a file of settings.

    Raises
    ------
    StepError
        If it names none.
    """
    from stepgen.program.config import as_text

    values = config.values
    if "program" not in values:
        raise StepError(f"{config} has no program")
    files: dict[str, Any] = {
        what: Path(values[what]) for what in ("routing", "lengths", "inputs") if what in values
    }
    files |= {
        what: one
        for what, one in (("routing", drawing.routing), ("lengths", drawing.lengths))
        if one is not None
    }
    return Named(
        program=str(values["program"]),
        settings={name: as_text(value) for name, value in values.get("set", {}).items()},
        imports=[Path(path) for path in values.get("import", ())],
        seed=drawing.seed,
        dims={name: str(extent) for name, extent in drawing.dim.items()},
        transforms=drawing.transform,
        **files,
    )
