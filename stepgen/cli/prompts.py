"""Texts of several requests, which a model decodes in one batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.cli import models
from stepgen.cli.config import show_json
from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
    from stepgen.cosim.experiment import Experiment
    from stepgen.frontend import Batch, Request
    from stepgen.ir.lanes import Lanes
    from stepgen.program.program import Program


@dataclass
class Prompts:
    """Prompts by name, of different length.

    Attributes
    ----------
    ids : dict of str to array
    more : int
        How many tokens follow each, the most likely ones.
    outputs : dict of str to dict of str to array
        By request, what the model makes of its last token.
    generated : dict of str to list of int
        Those that followed.
    """

    ids: dict[str, Any]
    more: int
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    generated: dict[str, list[int]] = field(default_factory=dict)

    def steps(self, made: Batch) -> Iterator[dict[str, Any]]:
        """Inputs of each run until every request has its tokens; `took` goes on behind it."""
        from stepgen.frontend.state import check_room

        for name, ids in self.ids.items():
            check_room(made.sizes.rows, len(ids), self.more, f"{made.model.name}, request {name}")
        self.requests: dict[Request, str] = {}
        for name, ids in self.ids.items():
            self.requests[made.admit(ids)] = name
            self.generated[name] = []
        while made.requests:
            yield made.inputs()

    def took(self, made: Batch, found: dict[Request, dict[str, Any]]) -> None:
        """Take what a run gives: requests get a token more, or leave."""
        for request, outputs in found.items():
            name = self.requests[request]
            self.outputs[name] = outputs
            if len(self.generated[name]) == self.more:
                made.leave(request)
                continue
            token = int(outputs[made.model.outputs[0]].argmax())
            self.generated[name].append(token)
            request.append(token)


def prompts_of(ids: Path | None, more: int) -> Prompts | None:
    """The prompts of a file with several arrays; None if it has one text."""
    from stepgen.ir.errors import StepError
    from stepgen.program import routing
    from stepgen.semantics.arrays import read

    if ids is None or ids.suffix != ".npz":
        return None
    arrays = read(
        ids, "the list of ids", f"{ids} is not a list of ids: it holds no table of numbers"
    )
    if "data" in arrays or len(arrays) < 2:
        return None
    found = {}
    for name, array in arrays.items():
        if array.ndim != 1 or not array.size:
            raise StepError(
                f"{ids} is not a list of prompts: {name} must have the shape [tokens], not "
                f"{list(array.shape)}"
            )
        found[name] = routing.integers(array, f"{ids}: ids of {name} must be integers")
    return Prompts(found, more)


def _batch(program: ProgramOptions, prompts: Prompts, lanes: Lanes) -> Batch:
    from stepgen.program import models as programs

    models.no_program(program, "--ids")
    model, settings = models.opened(program)
    return programs.batch(model, program.program, settings, lanes, len(prompts.ids))


def decode(
    program: ProgramOptions, prompts: Prompts, lanes: Lanes, out: Path | None, *, json: bool
) -> None:
    """Decode all prompts by the reference, and print what the model makes of the last tokens."""
    import numpy as np

    from stepgen.report import console
    from stepgen.semantics import executor
    from stepgen.tools.atomic import atomic_file
    from stepgen.tools.waiting import progress as shown_progress

    with shown_progress(quiet=json) as progress:
        progress("building the program", 0.0)
        made = _batch(program, prompts, lanes)
        progress("running", 0.1)
        for inputs in prompts.steps(made):
            prompts.took(made, made.after(executor.run(made.graph, inputs, lanes=lanes)))
    named = {
        f"{request}/{name}": array
        for request, outputs in prompts.outputs.items()
        for name, array in outputs.items()
    }
    if out is not None:
        with atomic_file(out) as partial:
            saved: dict[str, Any] = {**named}
            np.savez(partial, **saved)
    if json:
        shapes = {name: list(array.shape) for name, array in named.items()}
        place = None if out is None else str(out)
        show_json({"outputs": shapes, "generated": prompts.generated, "out": place})
        return
    for name, array in named.items():
        flat = array.reshape(-1)
        console.show(f"{name}: largest of the last token {flat.max():.6g} at {int(flat.argmax())}")
    for name, tokens in prompts.generated.items():
        if tokens:
            console.show(f"generated for {name}: {', '.join(map(str, tokens))}")
    if out is not None:
        console.show(f"written to {out}")


def experiments(
    program: ProgramOptions, hardware: HardwareOptions, when: RunOptions, prompts: Prompts
) -> tuple[Program, list[list[Experiment]]]:
    """Runs on one memory, each a token of all requests; as `models.experiments`."""
    from dataclasses import replace

    from stepgen.ir.errors import StepError
    from stepgen.program.program import Program

    made = _batch(program, prompts, hardware.circuit().lanes or LANES)
    if made.prefill is not None:
        raise StepError("several prompts are tested token by token: leave phase=prefill out")
    loaded, found = None, []
    for inputs in prompts.steps(made):
        if loaded is None:
            loaded = Program(made.graph, inputs, Path(program.program).name, frozenset(inputs))
            one = when.timing().experiment(loaded, hardware.circuit(), seed=program.seed)
        else:
            one = replace(found[0], inputs=inputs, built=found[0].design)
        found.append(one)
        prompts.took(made, made.after(one.reference))
    assert loaded is not None  # there is a prompt
    return loaded, [found]
