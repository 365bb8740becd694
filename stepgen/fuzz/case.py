"""One case: a program with its inputs and everything that its run depends on, as one file."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np

from stepgen.cosim.case import Refusals
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.simulators import Simulator
from stepgen.hw.design.sharing import USUAL
from stepgen.hw.design.table import Bus
from stepgen.ir import text
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.records import parsed, record, written
from stepgen.ir.stalls import Stalls
from stepgen.ir.versions import stamped, unstamped
from stepgen.ir.wire import LANES

FORMAT = 1
_NUMBERS = (np.int8, np.int16, np.int32, np.int64, np.float32, ml_dtypes.bfloat16, np.bool_)
MAX_CYCLES = 30_000
MOST_ABORTED = 2
"""The latest abort of a run, as a share of its length."""


@dataclass(frozen=True)
class CaseRun:
    """What the run of a program depends on beside its inputs.

    Attributes
    ----------
    lanes : int or mapping of str to int
    bus : Bus
    depths : mapping of str to int
        Depths asked for by channel; empty for the derived ones, with which nothing deadlocks.
    fuse : bool
        Whether units are fused.
    loaders : str
        Whether loads of weights share loaders, see `stepgen.hw.design.sharing`.
    onchip : float or None
        KiB of on-chip memory; None for no bound.
    memory : MemoryTiming
    stalls : Stalls
    early : tuple of str
        Input streams that offer beats before the start.
    aborts : tuple of float
        When runs before the checked one are aborted, as shares of its predicted length; from 1 on
        they come to their end.
    refused : mapping of str to float
        ``read`` and ``write``: which of the words read and of the bursts written the memory answers
        with an error, as shares of the predicted ones. Once the checked run has these answers; once
        only an aborted run before has.
    response : "SLVERR" or "DECERR"
    simulator : "verilator" or "icarus"
        Of the Verilog.
    junk : bool
        Whether empty FIFOs of the design show junk.

    Raises
    ------
    StepError
        If a share is below 0 or beyond `MOST_ABORTED`, one of `refused` is not below 1, or its name
        is another one.
    """

    lanes: Lanes = LANES
    bus: Bus = field(default_factory=Bus)
    depths: Mapping[str, int] = field(default_factory=dict)
    fuse: bool = True
    loaders: str = USUAL
    onchip: float | None = None
    memory: MemoryTiming = field(default_factory=MemoryTiming)
    stalls: Stalls = field(default_factory=Stalls)
    early: tuple[str, ...] = ()
    aborts: tuple[float, ...] = ()
    refused: Mapping[str, float] = field(default_factory=dict)
    response: Literal["SLVERR", "DECERR"] = "SLVERR"
    simulator: Simulator = "verilator"
    junk: bool = False

    def __post_init__(self) -> None:
        if not all(0 <= share <= MOST_ABORTED for share in self.aborts):
            raise StepError(f"aborts must be shares in [0, {MOST_ABORTED}], not {self.aborts}")
        for name, share in self.refused.items():
            if name not in ("read", "write") or not 0 <= share < 1:
                raise StepError(
                    f"refused: read and write have shares in [0, 1), not {name} {share}"
                )


@dataclass(frozen=True)
class _Program:
    graph: Graph
    inputs: Mapping[str, Any]


@dataclass(frozen=True)
class Case(CaseRun, _Program):
    """A program, its inputs and its run.

    Attributes
    ----------
    graph : Graph
    inputs : mapping
        Contents of its input streams and tensors.
    """

    def experiment(self, **changes: Any) -> Experiment:
        """The program on its design, undisturbed; see `disturbed`."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("aborts", "refused", "response", "simulator"):
            del fields[name]
        return Experiment(**{"max_cycles": MAX_CYCLES, **fields, **changes})

    def disturbed(self, experiment: Experiment) -> list[Experiment]:
        """The simulations of an experiment of this case, with its aborts and errors.

        Parameters
        ----------
        experiment : Experiment
            From `experiment`; one whose run ends.
        """
        cycles = experiment.prediction.cycles
        experiment.aborts = tuple(int(share * cycles) for share in self.aborts)
        words, bursts = experiment.answers
        read = 1 + int(self.refused["read"] * words) if words and "read" in self.refused else 0
        write = 1 + int(self.refused["write"] * bursts) if bursts and "write" in self.refused else 0
        if not read and not write:
            return [experiment]
        now, before = (copy(experiment) for _ in range(2))
        now.refusals = Refusals(read, write, self.response)
        before.refusals = Refusals(read, write, self.response, earlier=True)
        before.aborts = (cycles - 1, *experiment.aborts)
        return [now, before]

    def dumps(self) -> str:
        """As JSON that needs nothing else."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["graph"] = json.loads(text.dumps(self.graph))
        fields["inputs"] = {name: _plain(value) for name, value in self.inputs.items()}
        for name in ("bus", "memory", "stalls"):
            fields[name] = dataclasses.asdict(fields[name])
        return written(stamped(FORMAT, fields)) + "\n"

    @staticmethod
    def load(path: Path) -> Case:
        """The case of a file; see `loads`."""
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StepError(f"{path} can't be read: {error}") from None
        return Case.loads(content, str(path))

    @staticmethod
    def loads(content: str, where: str) -> Case:
        """The case of a file.

        Raises
        ------
        StepError
            If it is not a case, or of a newer format.
        """
        data = parsed(content, f"{where} is not a case of the fuzzer", infinite=True)
        if not isinstance(data, dict) or not {"graph", "inputs"} <= data.keys():
            raise StepError(f"{where} is not a case of the fuzzer: it lacks a graph or inputs")
        with unstamped(data, FORMAT, where) as fields:
            graph = text.loads(written(fields.pop("graph")), where)
            given = fields.pop("inputs")
            if not isinstance(given, dict):
                raise StepError(f"{where}: inputs must be an object, not {shown(given)}")
            inputs = {name: _array(value, f"{where}: {name}") for name, value in given.items()}
            run = record(fields, CaseRun, where)
            for name in run.early:
                if name not in graph.inputs:
                    streams = ", ".join(graph.inputs) or "none"
                    raise StepError(
                        f"{where}: early names {shown(name)}, but the input streams are {streams}"
                    )
            return Case(graph, inputs, **{f.name: getattr(run, f.name) for f in _RUN})


_RUN = dataclasses.fields(CaseRun)
SPECIAL = {str(number): number for number in (math.inf, -math.inf, math.nan)}
LONGEST = 1 << 20
"""The longest extent of an array without elements."""
_TYPES = {np.dtype(kind).name: np.dtype(kind) for kind in _NUMBERS}


def _plain(value: Any) -> Any:
    """Arrays as lists beside the name of their type; empty ones as their shape."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    array = np.asarray(value)
    return {array.dtype.name: _named(array.tolist()) if array.size else {"shape": array.shape}}


def _named(value: Any) -> Any:
    """Numbers, of which JSON lacks the infinite ones and NaN: these by their name."""
    if isinstance(value, list):
        return [_named(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(value: Any) -> Any:
    """The numbers again."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return SPECIAL[value] if isinstance(value, str) else value


def _array(value: Any, what: str) -> Any:
    if isinstance(value, list):
        return [_array(item, what) for item in value]
    try:
        ((name, data),) = value.items()
        if isinstance(data, dict):
            if max(data["shape"]) > LONGEST:
                raise ValueError
            return np.array([], _TYPES[name]).reshape(data["shape"])
        return np.array(_numbers(data), _TYPES[name])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise StepError(f"{what} has {shown(value)} for an array") from None
