"""Layout of a design in the state array of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from stepgen.hw.design.registers import detail_of, number_of
from stepgen.hw.design.restop import levels_of
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import DONE, KIND_MASK, VALUE, Beats, narrowed
from stepgen.timing import kernel as k
from stepgen.timing.layout import Actor, Layout, structure


@dataclass(frozen=True)
class FaultMessage:
    """The fault of an actor: its unit, the cause, and a message made from the detail."""

    unit: str
    cause: int
    say: Callable[[int], str]


@dataclass(frozen=True)
class Run:
    """What may differ between the runs of a design.

    Parameters
    ----------
    inputs : mapping of str to Beats
        Input streams by source; what units make of data by unit.
    stalls : Stalls
        Stalls of ports and memory.
    memory : MemoryTiming or SdramTiming
        Timing of the off-chip memory.
    early : collection of str
        Sources whose first beat is offered before the start.
    """

    inputs: Mapping[str, Beats]
    stalls: Stalls = field(default_factory=Stalls)
    memory: MemoryTiming | SdramTiming = field(default_factory=MemoryTiming)
    early: Collection[str] = ()


@dataclass
class DesignLayout(Layout):
    """A design as actors and channels in the state array; its units' models add them.

    Units that are the same in all runs are laid out once, the others by `of_run`.

    Parameters
    ----------
    design : Design
        The table to lay out.
    logged : "nothing", "channels" or "all"
        Of which FIFOs the beats are logged: of none, of channels, or also of those inside units.
    """

    design: Design
    logged: Literal["nothing", "channels", "all"] = "channels"
    notes: list[tuple[str, int]] = field(default_factory=list)
    faults: dict[int, FaultMessage] = field(default_factory=dict)
    """Messages of actors that may see input that their program excludes."""

    control = 1
    waits_are_events = True

    def __post_init__(self) -> None:
        super().__init__(f"design {self.design.name}")
        self._run: Run | None = None
        self._channels: dict[str, int] = {}
        self._places: dict[int, int] = {}  # by actor the number of its unit
        self._now = ""  # the unit that is being laid out
        rewritten = self._rewritten()
        for index, c in enumerate(self.design.channels):
            number, levels = -1 if self.logged == "nothing" else index, rewritten.get(c.name, 0)
            self._channels[c.name] = self.new_channel(
                c.name, c.depth, c.latency, number, restop=levels
            )
        self._lay_out(per_run=False)
        self.settle()

    def of_run(self, run: Run) -> Self:
        """The layout of a run; this one stays as it is, for others.

        Raises
        ------
        StepError
            If an input is missing.
        """
        made = self.copied()
        made.notes, made.faults = [*self.notes], {**self.faults}
        made._places = {**self._places}
        made._run = run
        made._lay_out(per_run=True)
        # The order in which actors are reported, and stepped within a cycle.
        made.actors.sort(key=lambda actor: made._places[actor.address])
        return made

    @property
    def run(self) -> Run:
        """The run, for models of units that say `UnitParams.per_run`.

        Raises
        ------
        StepError
            For other units, which are laid out before.
        """
        if self._run is None:
            raise StepError(
                f"design {self.design.name}: the cycle model of {self._now} reads layout.run, so "
                f"its parameters must say per_run = True"
            )
        return self._run

    def _lay_out(self, *, per_run: bool) -> None:
        """Add the units that differ from run to run, or the others."""
        design = self.design
        for number, unit in enumerate(design.units):
            if unit.params.per_run != per_run:
                continue
            self.design, self._now = design.seen_by(unit), f"{unit.kind} {unit.name}"
            model = unit.params.cycle_model()
            if model is None:
                raise StepError(
                    f"the cycles of design {self.design.name} can't be predicted: {self._now} "
                    f"has no cycle model"
                )
            before = len(self.actors)
            model(unit, unit.params, self)
            added = self.actors[before:]
            self._places |= {actor.address: number for actor in added}
            self._check_model(unit, added)
        self.design = design

    def _rewritten(self) -> dict[str, int]:
        """By channel before which levels are rewritten, the address of what becomes of them."""
        found = {}
        for unit in self.design.units:
            for port in {restop.port for restop in unit.restops}:
                made = levels_of([restop for restop in unit.restops if restop.port == port])
                padding = [0] * (k.LEVEL_MASK + 1 - len(made.stops))
                words = [*made.stops, *padding, *made.empty, *padding]
                found[unit.outputs[port]] = self.reserve(words)
        return found

    def _check_model(self, unit: Unit, actors: Sequence[Actor]) -> None:
        """Check that the actors of a unit, which may be a user's, serve all its streams.

        Raises
        ------
        StepError
            If a port has no actor, or none has the name of the main one.
        """
        subject = f"the cycle model of {unit.kind} {unit.name}"
        main, known = unit.params.main, [actor.name for actor in actors]
        for ports, served, verb in (
            (unit.inputs, {c for actor in actors for c in actor.reads}, "reads"),
            (unit.outputs, {c for actor in actors for c in actor.writes}, "writes"),
        ):
            for port, name in ports.items():
                raw = self.design.channel[name].rank is None
                if not raw and self._channels[name] not in served:
                    raise StepError(
                        f"{subject} has no actor that {verb} {port}: name the channel in "
                        f"{verb}=[...] of layout.actor"
                    )
        if main and main not in known:
            raise StepError(
                f"{subject} has the actors {', '.join(known)}, but main of "
                f"{type(unit.params).__name__} names {main}"
            )

    def channel(self, name: str) -> int:
        """Address of a channel of the design."""
        return self._channels[name]

    def entered(self, M: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """By channel, in the order of the design, the beats that have entered its FIFO."""
        pushed: npt.NDArray[np.int64] = M[np.array([*self._channels.values()], int) + k.PUSHED]
        return pushed

    def reports(
        self, actor: int, unit: Unit, say: Callable[[int], str] | None = None, *, cause: int = 0
    ) -> None:
        """Register the message of an actor's fault.

        Parameters
        ----------
        actor : int
        unit : Unit
        say : function of int, optional
            The message from the detail; by default that of the unit for the cause.
        cause : int
            One of `stepgen.hw.design.registers`.
        """
        known = unit.params.errors(unit, self.design)[cause]

        def message(number: int) -> str:
            return known.format(number_of(detail_of(cause, number)))

        self.faults[actor] = FaultMessage(unit.name, cause, say or message)

    def internal(self, name: str, depth: int, latency: int = 1) -> int:
        """A new FIFO inside a unit, with the same rules."""
        number = self.note(name, 0) if self.logged == "all" else -1
        return self.new_channel(name, depth, latency, number)

    def stimulus(self, unit: Unit) -> npt.NDArray[np.int64]:
        """The input beats of a source up to the first ``DONE``, as words of the kernel.

        Beats after it belong to the next run. A mask of several bits (a selector), and a row of
        several addresses, are stored as the address of a word for each; one flag or address is
        stored as it is.
        """
        if unit.name not in self.run.inputs:
            raise StepError(f"input {unit.name} of design {self.design.name} was given no stream")
        beats = self.run.inputs[unit.name]
        ends = np.flatnonzero(beats.kind == DONE)
        taken = int(ends[0]) + 1 if ends.size else len(beats)
        words = structure(beats)
        data = beats.data
        if data.dtype == np.uint64:
            made = unit.outputs[unit.params.decides or unit.params.outputs[0]]
            data = narrowed(data, self.design.channel[made].bits)
        if data.dtype in (np.bool_, np.uint64):
            items = data.astype(np.int64)
            width = items.shape[1]
            aux = items[:, 0]
            if width > 1:
                aux = self.reserve(items.reshape(-1)) + width * np.arange(len(beats))
            words |= np.where(beats.kind == VALUE, aux, 0) << k.AUX_SHIFT
        return words[:taken]

    def decided(self, unit: Unit) -> int:
        """Address of the contents of what a unit makes of data, a word for each beat.

        Raises
        ------
        StepError
            If they are not among the inputs, by the name of the unit.
        """
        if unit.name not in self.run.inputs:
            raise StepError(
                f"the cycles of design {self.design.name} follow from what {unit.name} makes of "
                f"data: it must be given beside the inputs"
            )
        words = self.stimulus(unit)
        return self.reserve(words[(words & KIND_MASK) == VALUE] >> k.AUX_SHIFT)

    def note(self, unit: str, index: int) -> int:
        """An id under which a step logs that a merge in order of arrival took input `index`."""
        self.notes.append((unit, index))
        return len(self.design.channels) + len(self.notes) - 1
