"""``stepgen deploy --resident``: tokens of a model one by one, on weights that stay on a board."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from stepgen.board.device import Device
    from stepgen.board.resident import Check, Step
    from stepgen.cli.models import Text
    from stepgen.cli.options import HardwareOptions, ProgramOptions
    from stepgen.frontend import Decoder
    from stepgen.program.program import Program
    from stepgen.tools.waiting import Progress

PATIENCE = 60.0
"""Seconds in which a board whose link was lost has to come back."""

PAUSE = 1.0
"""Seconds between looks for it."""


def load(program: ProgramOptions, hardware: HardwareOptions) -> tuple[Decoder, Program]:
    """A model's program for one token, and it with its tensors alone.

    Raises
    ------
    StepError
        If it is not a model, or takes chunks of a prompt, which is a program of its own.
    """
    from pathlib import Path

    from stepgen.cli import models
    from stepgen.ir.errors import StepError
    from stepgen.ir.wire import LANES
    from stepgen.program import program as programs

    if not models.is_model(program):
        raise StepError(
            f"--resident is for a model, and {program.program} is not one: "
            f"sg.Device has write and step for other programs"
        )
    made = models.decoder(program, hardware.circuit().lanes or LANES)
    if made.prefill is not None:
        raise StepError(
            f"--resident runs one program on the board, and {program.program} has another one for "
            f"chunks: leave --set phase=prefill out"
        )
    name = Path(program.program).name
    return made, programs.Program(made.graph, made.memory, name, frozenset(made.memory))


@dataclass
class Resident:
    """Tokens that ran on a board.

    Attributes
    ----------
    steps : list of Step
    tokens : list of int
        How many each step took.
    parts : list of dict of str to array
        Outputs of the model, by step.
    lost : int
        How often the link was lost, and found again.
    written : int
        Bytes that the link took for tensors.
    """

    steps: list[Step] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    lost: int = 0
    written: int = 0

    def run(
        self,
        device: Device,
        made: Decoder,
        tokens: Iterator[tuple[dict[str, Any], int, int]],
        check: Check,
        progress: Progress,
    ) -> None:
        """Write the tensors, then run token after token.

        Raises
        ------
        StepError
            If something differs, or the board is not found again or holds something else.
        """
        before = device.link.traffic.sent
        device.write(made.memory, progress=progress)
        self.written = device.link.traffic.sent - before
        for given, more, count in tokens:
            progress(f"running (token {len(self.steps) + 1})", 0.0)
            outputs = self._step(device, made.streams(given, more), check, progress)
            self.steps.append(device.last)
            self.tokens.append(count)
            self.parts.append(made.took(outputs, count))

    def _step(
        self, device: Device, streams: Mapping[str, Any], check: Check, progress: Progress
    ) -> Mapping[str, Any]:
        """A step, which goes on where a lost link is found again."""
        from stepgen.board.link import LinkError, OtherBoard

        outputs: Mapping[str, Any] | None = None
        try:
            return device.step(streams, check=check)
        except OtherBoard:
            raise
        except LinkError as error:
            outputs = self._found(device, error, progress)
        # The step had not begun if there is no result of it.
        return self._step(device, streams, check, progress) if outputs is None else outputs

    def _found(
        self, device: Device, error: Exception, progress: Progress
    ) -> Mapping[str, Any] | None:
        """Wait for a board whose link was lost; the result of the step that was under way."""
        from stepgen.board.link import OtherBoard
        from stepgen.ir.errors import StepError

        begun = time.monotonic()
        while (waited := time.monotonic() - begun) < PATIENCE:
            progress(f"waiting for the board: {error}", waited / PATIENCE)
            try:
                outputs = device.resume()
            except OtherBoard:
                raise
            except StepError:
                time.sleep(PAUSE)
            else:
                self.lost += 1
                return outputs
        raise error

    def document(self, device: Device, board: str, text: Text) -> dict[str, Any]:
        """What ran, for ``--json``."""
        each = [
            {
                "count": tokens,
                "cycles": {"predicted": one.predicted, "board": one.cycles},
                "sent": one.sent,
                "received": one.received,
                "seconds": round(one.seconds, 3),
            }
            for one, tokens in zip(self.steps, self.tokens, strict=True)
        ]
        return {
            "good": True,  # a difference ends the text
            "board": board,
            "tokens": each,
            "generated": text.generated,
            "hz": device.board.hz,
            "written": self.written,
            "past_link": device.session.moved_past,
            "lost": self.lost,
        }

    def outputs(self) -> dict[str, Any]:
        """Outputs of the model for all tokens."""
        import numpy as np

        return {name: np.concatenate([p[name] for p in self.parts]) for name in self.parts[0]}


def lines(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What `Resident.document` says, for people."""
    from stepgen.cli.deploy import way_past
    from stepgen.report import console

    cycles = [one["cycles"]["board"] for one in data["tokens"]]
    compared = sum(one["cycles"]["predicted"] is not None for one in data["tokens"])
    later = [one["sent"] + one["received"] for one in data["tokens"][1:]]
    count = sum(one["count"] for one in data["tokens"])
    rate = data["hz"] * count / sum(cycles)
    each, number = "each token", f"{count}"
    if count > len(cycles):  # the circuit chose some of them
        each, number = "each run", f"{count} in {len(cycles)} runs"
    facts = {
        "tokens": f"{number}, of {min(cycles):,} to {max(cycles):,} cycles",
        "compared": f"{compared} of {len(cycles)} with reference and prediction",
        "at": f"{data['hz'] / 1e6:g} MHz: {rate:,.0f} tokens a second",
        "tensors": f"written once, {data['written']:,} bytes over the link"
        + (f"; {way_past(data)}" if data["past_link"] else ""),
        each: f"at most {max(later):,} bytes on the link, from the second one on"
        if later
        else "the first one alone",
        "link lost": f"{data['lost']} times",
    }
    if data["generated"]:
        facts["generated"] = ", ".join(map(str, data["generated"]))
    yield console.pairs_table(facts)
    yield console.verdict(data["good"])
