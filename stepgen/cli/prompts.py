"""Texts of several requests, which a model decodes in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.cli import models
from stepgen.cli.config import show_json
from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
    from stepgen.cosim.experiment import Experiment
    from stepgen.frontend import Batch, Request
    from stepgen.ir.graph import Graph
    from stepgen.ir.lanes import Lanes
    from stepgen.program.program import Program
    from stepgen.semantics import executor


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
    requests : dict of Request to str
        Names of those that have joined.
    """

    ids: dict[str, Any]
    more: int
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    generated: dict[str, list[int]] = field(default_factory=dict)
    requests: dict[Request, str] = field(default_factory=dict)

    def runs(
        self, made: Batch
    ) -> Iterator[tuple[Graph, dict[str, Any], Callable[[executor.Result], None]]]:
        """By run its program, its inputs, and what takes its result before the next one.

        A request joins as soon as there is a place for it, its prompt in chunks first if there is a
        program for them, and leaves with its last token.

        Raises
        ------
        StepError
            If a request does not fit into the caches.
        """
        from stepgen.frontend.state import check_room

        for name, ids in self.ids.items():
            model, most = made.model.name, made.model.tokens[1]
            check_room(made.sizes.rows, len(ids), self.more, f"{model}, request {name}", most=most)
        waiting = [*self.ids]
        while waiting or made.requests:
            while waiting and len(made.requests) < made.sizes.requests:
                name = waiting.pop(0)
                request = made.join(self.ids[name])
                self.requests[request], self.generated[name] = name, []
                while (inputs := made.filling(request)) is not None:
                    assert made.prefill is not None
                    yield made.prefill, inputs, partial(made.filled, request)
            yield made.graph, made.inputs(), partial(self._took, made)

    def _took(self, made: Batch, result: executor.Result) -> None:
        """Take what a step gives: requests get a token more, or leave."""
        from stepgen.frontend.text import likeliest

        for request, outputs in made.after(result).items():
            name = self.requests[request]
            self.outputs[name] = outputs
            if len(self.generated[name]) == self.more:
                made.leave(request)
                continue
            token = likeliest(made.model, outputs[made.model.outputs[0]])
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
        for graph, inputs, took in prompts.runs(made):
            took(executor.run(graph, inputs, lanes=lanes))
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
    """Runs on one memory, of chunks of prompts and of a token of all; as `models.experiments`."""
    made = _batch(program, prompts, hardware.circuit().lanes or LANES)
    return models.on_designs(program, hardware, when, prompts.runs(made))
