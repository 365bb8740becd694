"""A program on a board, real or simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from ..compile.budget import Budget
from ..cosim.experiment import UNPREDICTED_CYCLES, Experiment
from ..cosim.payload import unpack
from ..cosim.scoreboard import Outcome
from ..emit.elaborate import interface
from ..emit.windows import Windows
from ..hw.design.table import Bus, Design
from ..ir.arguments import checked
from ..ir.dtypes import address
from ..ir.errors import StepError
from ..ir.graph import Graph
from ..ir.wire import LANES, check_numbers
from ..program import design_folder
from ..semantics.decoding import from_beats
from ..semantics.memory import from_image, layouts
from ..semantics.numbers import DTYPES, Array
from ..semantics.tokens import Token, decode
from ..tools.waiting import Progress, quiet
from . import virtual
from .description import Board, named
from .link import Link, Wire
from .serial_port import SerialWire, find
from .session import Session

VIRTUAL = "virtual:"


@dataclass(frozen=True)
class Report:
    """A run on a board.

    Attributes
    ----------
    outcome : Outcome
        What came, and what differs from reference and prediction.
    experiment : Experiment
        What was run.
    exact : bool
        Whether all beats were on the board when the run began and had room there, so that its
        cycles are those predicted.
    hz : int
        Clock of the design.
    read_bytes : int
        Bytes of memory that are read back where the run ends.
    """

    outcome: Outcome
    experiment: Experiment
    exact: bool
    hz: int
    read_bytes: int

    @property
    def good(self) -> bool:
        """Whether nothing differs."""
        return self.outcome.good

    @property
    def compared(self) -> dict[str, int]:
        """Numbers of values, bytes and counters that are compared."""
        if self.outcome.status != "done":  # nothing else was read back
            return {"values": sum(map(len, self.outcome.outputs.values()))}
        compared = self.outcome.case.compared(predicted=self.exact)
        compared.pop("cycles", None)  # of single beats, which nothing on a board records
        return {
            what: min(count, self.read_bytes) if what == "memory" else count
            for what, count in compared.items()
        }


class Device:
    """A program on a board. Use it in a ``with`` block, or call `close`.

    Several threads may use it: their runs take turns.

    Parameters
    ----------
    where : str or Board
        A board, or its name; ``virtual:`` and the name of one that is simulated.
    program : Graph or Path
        A program, or a folder that ``stepgen verilog`` wrote.
    lanes : int
        Lanes of a beat, of a program.
    bus, depths, fuse, onchip
        Of its circuit, too, as for `stepgen.cosim.experiment.Experiment`: `onchip` is in KiB.
    built : Design, optional
        Of the program that was lowered before: it says all of these.
    counters : bool, optional
        Whether the cycles of each channel are counted and compared; by default what the board's
        file says.
    port : str, optional
        Serial port of a real board; by default the one that is found.
    seed : int
        Of what a simulated board holds at power-up.
    preload : bool
        Whether tensors are written past the link, which only a simulated board with an SDRAM can.
    progress : Progress

    Raises
    ------
    StepError
        If there is no such board or program, the design does not fit, the board does not answer or
        holds something else, or a serial port is given for one that is simulated.
    """

    @checked
    def __init__(
        self,
        where: str | Board,
        program: Graph | Path | str,
        *,
        lanes: int = LANES,
        bus: Bus | None = None,
        depths: Mapping[str, int] | None = None,
        fuse: bool = True,
        onchip: float | Budget | None = None,
        built: Design | None = None,
        counters: bool | None = None,
        port: str | None = None,
        seed: int = 0,
        preload: bool = False,
        progress: Progress = quiet,
    ) -> None:
        check_port(where, port)
        self.board, simulated = _board(where)
        if counters is not None:
            self.board = replace(self.board, counters=counters)
        if preload:
            check_preload(self.board, simulated=simulated)
        if isinstance(program, Graph):
            self._graph = program
            self.design = Experiment(
                program,
                {},
                lanes=lanes,
                bus=bus or Bus(),
                depths=depths or {},
                fuse=fuse,
                onchip=onchip,
                built=built,
            ).design
        else:
            folder = design_folder.read(Path(program))
            self._graph, self.design = folder.graph, folder.manifest.design
        self.around = self.board.around(self.design)
        self._alone = Lock()  # a run has the link for itself
        self._open, self._closed = ExitStack(), False
        with ExitStack() as opened:
            wire = opened.enter_context(self._wire(simulated, port, seed, progress))
            progress("greeting the board", 0.0)
            self.link = Link(wire)
            past = wire.preload if preload and isinstance(wire, virtual.VirtualWire) else None
            known = interface(self.design)
            self.session = Session(self.link, self.design, self.around, known, past)
            self._open = opened.pop_all()

    @contextmanager
    def _wire(
        self, simulated: bool, port: str | None, seed: int, progress: Progress
    ) -> Iterator[Wire]:
        if simulated:
            program = virtual.build(self.design, self.around, progress=progress)
            with virtual.switched_on(program, self.around, seed=seed) as wire:
                yield wire
            return
        baud = self.around.clock // self.around.bit_cycles
        real = SerialWire(port or find(self.board.name, self.board.link.usb), baud)
        try:
            yield real
        finally:
            real.close()

    def test(self, inputs: Mapping[str, Any], *, progress: Progress = quiet) -> Report:
        """Run once; compare values, memory, cycles and counters with reference and prediction.

        Parameters
        ----------
        inputs : mapping
            Contents of all input streams and tensors.
        progress : Progress
        """
        self._check_open()
        experiment = Experiment(
            self._graph,
            inputs,
            built=self.design,
            memory=self.around.memory,
            sdram=self.around.sdram,
            early=tuple(self._graph.inputs),
        )
        progress("predicting", 0.0)
        case = experiment.case()
        exact = self.session.exact(case)
        if not exact:
            experiment.unpredicted = "the beats of a port do not all fit its buffer"
            case = replace(experiment.case(), limit=max(UNPREDICTED_CYCLES, case.limit))
        if not self.around.counters:
            case = replace(case, counters=None)
        with self._alone:
            self._check_open()  # another thread may have closed it meanwhile
            outcome = self.session.perform(case, progress=progress)
        return Report(outcome, experiment, exact, self.around.clock, self.session.read_bytes)

    def run(self, **inputs: Any) -> dict[str, Any]:
        """Run once.

        Parameters
        ----------
        **inputs
            Contents of all input streams and tensors, by name.

        Returns
        -------
        dict
            Output streams as nested lists of tiles, and matrices of the tensors that the program
            writes, by name.

        Raises
        ------
        StepError
            If the run does not end, the design reports an error, or what it gives is not what the
            reference gives; `test` tells more.
        """
        report = self.test(inputs)
        results = self.results(report)
        if not report.good:
            raise StepError(f"{self.design.name} on {self.board.name}: {report.outcome.faults[0]}")
        return results

    def results(self, report: Report) -> dict[str, Any]:
        """What a run has given, as `run` returns it.

        Raises
        ------
        StepError
            If the run did not end.
        """
        streams = {
            name: decode(tokens, rank, name)
            for name, (tokens, rank) in self.streams(report).items()
        }
        return {**streams, **self.tensors(report)}

    def streams(self, report: Report) -> dict[str, tuple[list[Token], int]]:
        """Tokens and ranks of the output streams of a run, by name."""
        outcome = report.outcome
        if outcome.status != "done":
            raise StepError(f"{self.design.name} on {self.board.name}: {outcome.faults[0]}")
        found = {}
        for port in self.session.interface.sinks:
            type = self._graph.outputs[port.name].type
            beats = unpack(outcome.outputs[port.name], port)
            if port.element == address.name:
                check_numbers(f"output {port.name}", beats.data, port.bits)
            tokens = from_beats(beats, type)
            found[port.name] = (tokens, type.rank)
        return found

    def tensors(self, report: Report) -> dict[str, Array]:
        """Matrices that the program has written in a run, by name."""
        image, memory = report.outcome.memory, self.session.interface.memory
        if image is None or memory is None:
            return {}
        windows, layout, found = Windows(memory.windows), layouts(self._graph), {}
        for name in report.experiment.reference.stored:
            region, tensor = self.design.regions[name], self._graph.tensors[name]
            place = windows.place(region.base, region.end - region.base)
            assert place is not None
            data = image[place : place + region.end - region.base].copy()
            elements = data.view(DTYPES[tensor.element.name])
            found[name] = from_image(elements, tensor.shape, layout[name])
        return found

    def close(self) -> None:
        """Leave the board; a simulated one ends."""
        self.__exit__(None, None, None)

    def _check_open(self) -> None:
        if self._closed:
            raise StepError(f"the device with {self.design.name} on {self.board.name} is closed")

    def __enter__(self) -> Device:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        self._open.__exit__(kind, error, trace)


def check_port(where: str | Board, port: str | None) -> None:
    """Refuse a serial port for a simulated board.

    Raises
    ------
    StepError
        Which port, and which board.
    """
    if port is not None and isinstance(where, str) and where.startswith(VIRTUAL):
        raise StepError(f"{where} is simulated and has no serial port: leave --port {port} out")


def check_preload(board: Board, *, simulated: bool) -> None:
    """Refuse to write tensors past the link where that can't be.

    Raises
    ------
    StepError
        Which board.
    """
    if not simulated or board.sdram is None:
        raise StepError(
            f"only a simulated board with an SDRAM can be preloaded, not {board.name}: leave "
            f"--preload out"
        )


def _board(where: str | Board) -> tuple[Board, bool]:
    if isinstance(where, Board):
        return where, False
    simulated = where.startswith(VIRTUAL)
    return named(where.removeprefix(VIRTUAL)), simulated
