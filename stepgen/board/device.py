"""A program on a board, real or simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from stepgen.board import virtual
from stepgen.board.description import Board, named
from stepgen.board.link import Link, Wire
from stepgen.board.report import Report
from stepgen.board.resident import Check, Resident, Step
from stepgen.board.serial_port import SerialWire, find
from stepgen.board.session import LEAST_PAST, Session
from stepgen.compile.budget import Budget
from stepgen.cosim.case import Case
from stepgen.cosim.experiment import UNPREDICTED_CYCLES, Experiment
from stepgen.cosim.outputs import nested, tokens_of
from stepgen.cosim.payload import Rows
from stepgen.emit.interface import interface
from stepgen.emit.windows import Windows
from stepgen.hw.design.counting import counted
from stepgen.hw.design.sharing import USUAL
from stepgen.hw.design.table import Bus, Design
from stepgen.ir.arguments import checked
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.wire import LANES
from stepgen.program import design_folder
from stepgen.semantics.memory import from_image, layouts
from stepgen.semantics.numbers import DTYPES, Array
from stepgen.semantics.tokens import Token
from stepgen.tools.waiting import Progress, quiet

VIRTUAL = "virtual:"


class Device:
    """A program on a board. Use it in a ``with`` block, or call `close`.

    Several threads may use it: their runs take turns.

    Parameters
    ----------
    where : str or Board
        A board, or its name; ``virtual:`` and the name of one that is simulated.
    program : Graph or Path
        A program, or a folder that ``stepgen verilog`` wrote.
    lanes : int or mapping of str to int
        Lanes of a beat, of a program.
    bus, depths, fuse, onchip, loaders
        Of its circuit, too, as for `stepgen.cosim.experiment.Experiment`: `onchip` is in KiB.
    built : Design, optional
        Of the program that was lowered before: it says all of these.
    counters : str or bool, optional
        Channels whose cycles are counted and compared, see `stepgen.hw.design.counting`; by default
        what the board's file says, else the design.
    port : str, optional
        Serial port of a real board; by default the one that is found.
    seed : int
        Of what a simulated board holds at power-up.
    past_link : bool, optional
        Whether tensors of a simulated board with an SDRAM are written and read past its link: all,
        none, or by default large ones.
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
        lanes: Lanes = LANES,
        bus: Bus | None = None,
        depths: Mapping[str, int] | None = None,
        fuse: bool = True,
        onchip: float | Budget | None = None,
        loaders: str = USUAL,
        built: Design | None = None,
        counters: str | bool | None = None,
        port: str | None = None,
        seed: int = 0,
        past_link: bool | None = None,
        progress: Progress = quiet,
    ) -> None:
        check_port(where, port)
        self.board, simulated = _board(where)
        self._given = port
        if past_link:
            check_past(self.board, simulated=simulated)
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
                loaders=loaders,
                built=built,
            ).design
        else:
            folder = design_folder.read(Path(program))
            self._graph, self.design = folder.graph, folder.manifest.design
        self.design = self.board.counted(self.design, counters)
        self.around = self.board.around(self.design, simulated=simulated)
        self._alone = Lock()  # a run has the link for itself
        self._open, self._closed = ExitStack(), False
        with ExitStack() as opened:
            wire = opened.enter_context(self._wire(simulated, seed, progress))
            progress("greeting the board", 0.0)
            self.link = Link(wire)
            known = interface(self.design)
            self.session = Session(self.link, self.design, self.around, known)
            if isinstance(wire, virtual.VirtualWire) and wire.past and past_link is not False:
                self.session.past = wire
                self.session.least_past = 0 if past_link else LEAST_PAST
            self._resident = Resident(
                self.session, self._graph, self._where, self._experiment, self._case
            )
            self._open = opened.pop_all()

    @contextmanager
    def _wire(self, simulated: bool, seed: int, progress: Progress) -> Iterator[Wire]:
        if simulated:
            program = virtual.build(self.design, self.around, progress=progress)
            with virtual.switched_on(program, self.around, seed=seed) as wire:
                yield wire
            return
        baud = self.around.clock // self.around.bit_cycles
        real = SerialWire(self._port(), baud)
        try:
            yield real
        finally:
            real.close()

    def _port(self) -> str:
        """The serial port of a real board."""
        return self._given or find(self.board.name, self.board.link.usb)

    def test(self, inputs: Mapping[str, Any], *, progress: Progress = quiet) -> Report:
        """Run once; compare values, memory, cycles and counters with reference and prediction.

        Parameters
        ----------
        inputs : mapping
            Contents of all input streams and tensors.
        progress : Progress
        """
        self._check_open()
        experiment = self._experiment(inputs)
        progress("predicting", 0.0)
        case, exact = self._case(experiment)
        with self._alone:
            self._check_open()  # another thread may have closed it meanwhile
            self._resident.forget()
            outcome = self.session.perform(case, progress=progress)
        return Report(outcome, experiment, exact, self.around.clock, self.session.read_bytes)

    def _experiment(self, inputs: Mapping[str, Any]) -> Experiment:
        """A run with these inputs."""
        return Experiment(
            self._graph,
            inputs,
            built=self.design,
            memory=self.around.memory,
            sdram=self.around.sdram,
            early=tuple(self._graph.inputs),
        )

    def _case(self, experiment: Experiment) -> tuple[Case, bool]:
        """What is expected of a run, and whether it takes the predicted cycles."""
        case = experiment.case()
        exact = self.session.exact(case)
        if not exact:
            experiment.unpredicted = "the beats of a port do not all fit its buffer"
            case = replace(experiment.case(), limit=max(UNPREDICTED_CYCLES, case.limit))
        if not counted(self.design):
            case = replace(case, counters=None)
        return case, exact

    @property
    def _where(self) -> str:
        return f"{self.design.name} on {self.board.name}"

    def write(self, tensors: Mapping[str, Any], *, progress: Progress = quiet) -> None:
        """Write tensors to the board, where they stay: for `step`.

        Tensors that the program never writes are not sent where the board holds them already, as
        after a lost link, or from an earlier process: a mark in its memory identifies them.

        Parameters
        ----------
        tensors : mapping of str to array
            Contents by name: of all tensors, or of some that change.
        progress : Progress

        Raises
        ------
        StepError
            If the program has no such tensor, or contents do not fit it.
        """
        with self._alone:
            self._check_open()
            self._resident.write(tensors, progress)

    def step(
        self, streams: Mapping[str, Any], *, check: Check = "none", progress: Progress = quiet
    ) -> dict[str, Any]:
        """Run once on the tensors that the board holds; nothing but streams goes over the link.

        Parameters
        ----------
        streams : mapping
            Contents of all input streams.
        check : {"none", "first", "all"}
            Whether output streams are compared with the reference, and cycles with the prediction:
            of no step, the first after `write`, or all. To compare a step behind one that was not,
            the tensors that the program writes are read.
        progress : Progress

        Returns
        -------
        dict
            Output streams as nested lists of tiles, by name. `last` says more.

        Raises
        ------
        StepError
            If inputs do not fit, a tensor was not written, the run does not end, the design reports
            an error, or something differs.
        LinkError
            If the link is lost: `resume` goes on.

        Examples
        --------
        >>> device.write({"w": w})
        >>> y = device.step({"x": x})["y"]
        """
        with self._alone:
            self._check_open()
            return self._nested(self._resident.step(streams, check, progress))

    def read(self, tensor: str, *, progress: Progress = quiet) -> Array:
        """Read a tensor from the board, as it is after the last step.

        Raises
        ------
        StepError
            If it was not written.
        """
        with self._alone:
            self._check_open()
            return self._resident.read(tensor, progress)

    def resume(self, *, progress: Progress = quiet) -> dict[str, Any] | None:
        """Find a board whose link was lost; it keeps its tensors.

        Returns
        -------
        dict or None
            The result of the step that was under way, which is carried out once.

        Raises
        ------
        StepError
            If the board is not found, or holds another design or no longer its tensors.
        """
        with self._alone:
            self._check_open()
            if isinstance(self.link.wire, SerialWire):
                virtually = isinstance(self.link.wire, virtual.VirtualWire)
                self.link.wire.reopen(self.link.wire.name if virtually else self._port())
            self.link.synchronize()
            self.session.identify()
            outputs = self._resident.resume(progress)
            return None if outputs is None else self._nested(outputs)

    @property
    def last(self) -> Step:
        """What is known of the last step.

        Raises
        ------
        StepError
            If there was none.
        """
        if self._resident.last is None:
            raise StepError(f"{self._where}: there was no step yet")
        return self._resident.last

    def _nested(self, outputs: Mapping[str, Rows]) -> dict[str, Any]:
        return nested(self._graph, self.session.interface.sinks, outputs)

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
            If the run does not end, the design reports an error, or its results differ
            from the reference; `test` reports more.
        """
        report = self.test(inputs)
        results = self.results(report)
        if not report.good:
            raise StepError(f"{self._where}: {report.outcome.faults[0]}")
        return results

    def results(self, report: Report) -> dict[str, Any]:
        """What a run has given, as `run` returns it.

        Raises
        ------
        StepError
            If the run did not end.
        """
        self._check_done(report)
        return {**self._nested(report.outcome.outputs), **self.tensors(report)}

    def streams(self, report: Report) -> dict[str, tuple[list[Token], int]]:
        """Tokens and ranks of the output streams of a run, by name."""
        self._check_done(report)
        return tokens_of(self._graph, self.session.interface.sinks, report.outcome.outputs)

    def _check_done(self, report: Report) -> None:
        if report.outcome.status != "done":
            raise StepError(f"{self._where}: {report.outcome.faults[0]}")

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


def check_past(board: Board, *, simulated: bool) -> None:
    """Refuse to move tensors past the link where that can't be.

    Raises
    ------
    StepError
        Which board.
    """
    if not simulated or board.sdram is None:
        raise StepError(
            f"only tensors of a simulated board with an SDRAM can go past its link, not those of "
            f"{board.name}: leave --past-link out"
        )


def _board(where: str | Board) -> tuple[Board, bool]:
    if isinstance(where, Board):
        return where, False
    simulated = where.startswith(VIRTUAL)
    return named(where.removeprefix(VIRTUAL)), simulated
