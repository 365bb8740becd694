"""Tensors that stay on a board, and runs on them that move nothing but streams."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from stepgen.board.link import OtherBoard
from stepgen.board.running import Running
from stepgen.board.session import SHARE, Session, Share
from stepgen.cosim.case import Case
from stepgen.cosim.experiment import UNPREDICTED_CYCLES, Experiment
from stepgen.cosim.payload import Rows, pack
from stepgen.hw.board.protocol import WORD, Space
from stepgen.hw.design.registers import RUNNING, STOPPING
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.semantics.memory import as_bytes, as_matrix, from_bytes, from_image, layouts, to_image
from stepgen.semantics.numbers import Array
from stepgen.timing.model import Prediction
from stepgen.tools.waiting import Progress, quiet

Check = Literal["none", "first", "all"]
"""Which runs are compared with reference and prediction."""

MARK_WORDS = 8
"""Of the mark at the end of a memory, which says what it holds."""


@dataclass(frozen=True)
class Step:
    """What is known of a run on what a board holds.

    Attributes
    ----------
    cycles : int
    predicted : int or None
        Cycles that were predicted, and so compared.
    seconds : float
        That the host waited for its end.
    sent, received : int
        Bytes on the link.
    prediction : Prediction or None
        Of a step that was compared: the cycle of every beat.
    """

    cycles: int
    predicted: int | None
    seconds: float
    sent: int
    received: int
    prediction: Prediction | None = None


@dataclass(frozen=True)
class _Asked:
    """A run that was asked for: its result may still be on the board."""

    run: Running
    case: Case
    experiment: Experiment | None  # of one that is compared
    traffic: tuple[int, int]  # before it


class Resident:
    """The tensors that a board holds, and runs on them.

    A mark at the end of the board's memory names the tensors that no run changes: they are not
    written where they are already, and a board that has lost them is found out.

    Parameters
    ----------
    session : Session
    graph : Graph
        The program.
    where : str
        Program and board, for messages.
    experiment, case : callable
        Make an experiment of inputs, and of it a case, with whether its cycles are those predicted.
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        where: str,
        experiment: Callable[[Mapping[str, Any]], Experiment],
        case: Callable[[Experiment], tuple[Case, bool]],
    ) -> None:
        self.session, self.graph, self.where = session, graph, where
        self._experiment, self._case = experiment, case
        uses = [(node, node.attrs["tensor"]) for node in graph.nodes if "tensor" in node.attrs]
        self.stored = {name for node, name in uses if node.face.writes == "tensor"}
        self._loaded = {name for node, name in uses if node.face.writes != "tensor"}
        self._layouts = layouts(graph)
        self._held: dict[str, Array | None] = {}  # None: a run has changed it
        self._asked: _Asked | None = None
        self._steps = 0
        self._alike: Case | None = None  # the last step, with the outputs that it gave
        self._unmarked = False
        self.last: Step | None = None

    def forget(self) -> None:
        """Give up what the board holds: its memory is to be used in another way."""
        self._held.clear()
        self._asked = None
        if not self._unmarked:
            self.session.reset()
            self._write_mark(bytes(WORD * MARK_WORDS))

    def write(self, tensors: Mapping[str, Any], progress: Progress = quiet) -> None:
        """Write tensors; see `Device.write`."""
        found = {}
        for name, contents in tensors.items():
            if name not in self.graph.tensors:
                has = ", ".join(self.graph.tensors) or "none"
                raise StepError(f"{self.graph.name} has no tensor {name!r}, it has {has}")
            # A copy: the array is the user's, to change as well.
            found[name] = as_matrix(self.graph.tensors[name], contents).copy()
        progress("loading tensors", 0.0)
        self._asked, self._steps = None, 0
        self.session.reset()
        fixed = {n for n in found if n not in self.stored}
        kept = {n: m for n, m in self._held.items() if n not in self.stored}
        mark = self._mark({**kept, **{n: found[n] for n in fixed}})
        moved = {n: m for n, m in found.items() if n in self.stored}
        if fixed and self._marked() != mark:
            moved = found
            self._write_mark(bytes(WORD * MARK_WORDS))
        for name in moved:
            self._held.pop(name, None)  # until it is there
        self._write(moved, progress)
        if moved is found and fixed:
            self._write_mark(mark)
        self._held |= found

    def read(self, name: str, progress: Progress = quiet) -> Array:
        """Read a tensor; see `Device.read`."""
        if name not in self._held:
            raise StepError(f"{self.where}: tensor {name!r} was not written to the board")
        tensor, region = self.graph.tensors[name], self.session.design.regions[name]
        size = region.end - region.base
        words = np.zeros(-(-size // WORD), np.uint32)
        self.session.read_words(list(_shares(region.base, len(words), 0)), words, progress)
        elements = from_bytes(words.view(np.uint8)[:size], tensor.element)
        return from_image(elements, tensor.shape, self._layouts[name]).copy()

    def step(
        self, streams: Mapping[str, Any], check: Check, progress: Progress = quiet
    ) -> dict[str, Rows]:
        """Run; payloads of outputs. See `Device.step`."""
        if check not in get_args(Check):
            raise StepError(f"check must be {', '.join(get_args(Check))}, not {shown(check)}")
        for name in streams:
            if name not in self.graph.inputs:
                reason = "is a tensor: write it" if name in self.graph.tensors else "is unknown"
                raise StepError(f"{self.where}: a step takes input streams, and {name!r} {reason}")
        for name in self.graph.tensors:
            if name in self._loaded and name not in self._held:
                raise StepError(f"{self.where}: tensor {name!r} was not written to the board")
        experiment = None
        if check == "all" or (check == "first" and not self._steps):
            known = {n: self.read(n) if m is None else m for n, m in self._held.items()}
            experiment = self._experiment({**known, **streams})
            case = replace(self._case(experiment)[0], memory=None, memory_after=None)
        else:
            case = self._unchecked(streams)
        traffic = self.session.link.traffic
        moved = traffic.sent, traffic.received
        self._held |= dict.fromkeys(self.stored)
        run = self.session.running(case)
        if run.about is None and self._alike is not None and self.session.exact(self._alike):
            run.about = self.last.cycles if self.last is not None else None
        self._asked = _Asked(run, case, experiment, moved)
        return self._finish(progress)

    def resume(self, progress: Progress = quiet) -> dict[str, Rows] | None:
        """Go on behind a link that was lost; see `Device.resume`."""
        if not self.session.status() & (RUNNING.mask | STOPPING.mask):
            fixed = {n: m for n, m in self._held.items() if n not in self.stored}
            if fixed and self._marked() != self._mark(fixed):
                self._held.clear()
                self._asked = None
                raise OtherBoard(
                    f"the board at {self.session.link.wire.name} no longer holds the tensors of "
                    f"{self.graph.name} that were written, since it was switched off or another "
                    f"program used it: write them again"
                )
        return None if self._asked is None else self._finish(progress)

    def _unchecked(self, streams: Mapping[str, Any]) -> Case:
        """A run of which nothing is expected but that it ends."""
        beats, ports = self._experiment(streams).beats, self.session.interface.sources
        sources = {port.name: pack(beats[port.name], port) for port in ports}
        return Case(self.graph.name, sources, limit=UNPREDICTED_CYCLES)

    def _finish(self, progress: Progress) -> dict[str, Rows]:
        """The end of the run that was asked for."""
        asked = self._asked
        assert asked is not None
        status = asked.run.end(progress)
        outcome = self.session.outcome(asked.run, status, asked.case, memory=None)
        self._asked = None
        self._steps += 1
        self._alike = replace(asked.case, expected=outcome.outputs)
        experiment = asked.experiment
        traffic, (sent, received) = self.session.link.traffic, asked.traffic
        self.last = Step(
            outcome.cycles,
            asked.run.cycles,
            outcome.seconds,
            traffic.sent - sent,
            traffic.received - received,
            None if asked.run.cycles is None or experiment is None else experiment.prediction,
        )
        if outcome.faults:
            raise StepError(f"{self.where}: {outcome.faults[0]}")
        if experiment is not None:
            tensors = experiment.reference.tensors
            self._held |= {name: tensors[name] for name in self.stored}
        return outcome.outputs

    def _write(self, tensors: Mapping[str, Array], progress: Progress) -> None:
        """Write matrices, as they lie in memory."""
        shares: list[Share] = []
        parts: list[npt.NDArray[np.uint8]] = []
        place = 0
        for name, matrix in tensors.items():
            region, element = self.session.design.regions[name], self.graph.tensors[name].element
            data = as_bytes(to_image(matrix, self._layouts[name]), element)
            parts.append(np.pad(data, (0, -data.size % WORD)))
            count = parts[-1].size // WORD
            shares += _shares(region.base, count, place)
            place += count
        if parts:
            self.session.write_words(shares, np.concatenate(parts).view(np.uint32), progress)

    def _mark(self, tensors: Mapping[str, Array | None]) -> bytes:
        """The mark of tensors of this design."""
        found = hashlib.sha256(self.session.around.digest(self.session.design))
        for name in sorted(tensors):
            matrix = tensors[name]
            assert matrix is not None
            found.update(f"{name} {matrix.shape}".encode())
            found.update(np.ascontiguousarray(matrix).view(np.uint8).tobytes())
        return found.digest()

    def _mark_at(self) -> int | None:
        """Word of the memory where the mark is; None where tensors take all of it."""
        words = self.session.memory_words
        end = max((region.end for region in self.session.design.regions.values()), default=0)
        return words - MARK_WORDS if WORD * (words - MARK_WORDS) >= end else None

    def _marked(self) -> bytes | None:
        """The mark of what the board holds."""
        place = self._mark_at()
        if place is None:
            return None
        words = self.session.link.read(Space.MEMORY, place, MARK_WORDS)
        return b"".join(word.to_bytes(WORD, "little") for word in words)

    def _write_mark(self, mark: bytes) -> None:
        place = self._mark_at()
        self._unmarked = not any(mark)
        if place is not None:
            words = np.frombuffer(mark, "<u4").tolist()
            self.session.link.write(Space.MEMORY, place, words)


def _shares(base: int, count: int, place: int) -> Iterable[Share]:
    """Pieces of words that lie at an address, and at a place of an image."""
    for first in range(0, count, SHARE):
        yield base // WORD + first, place + first, min(SHARE, count - first)
