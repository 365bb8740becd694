"""Verilog kernels as users write them, beside their Verilog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import stepgen as sg
from stepgen.functions import Binary, Setting, Unary
from stepgen.hw.design.table import Channel, Unit
from stepgen.hw.verilog_kernel.params import VerilogKernel
from stepgen.semantics.numbers import Array
from stepgen.timing.kernel import READY, Memory, acted, packed, pop, push, ready, record, room, step

P = record("x", "y", "held")


@step
def through_a_register(M: Memory, a: int, t: int) -> int:
    """A beat waits in a register; the next one takes its place as it leaves."""
    held = M[a + P.held]
    wait = room(M, M[a + P.y], t) if held else ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    M[a + P.held] = 0
    if held:
        push(M, M[a + P.y], t, held - 1)
    if ready(M, M[a + P.x], t) == READY:
        M[a + P.held] = pop(M, M[a + P.x], t) + 1
    return acted(M, t)


def build(unit: Unit, params: Any, machine: Any) -> None:
    x, y = machine.channel(unit.inputs["x"]), machine.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, held=0)
    machine.actor(unit.name, "clamp", through_a_register, own, reads=[x], writes=[y])


def at_once(unit: Unit, params: Any, machine: Any) -> None:
    """The model of a circuit without the register."""
    from stepgen.hw.units.requantize.model import build

    build(unit, params, machine)


@dataclass(frozen=True)
class Clamper(VerilogKernel):
    low: int
    high: int

    main: ClassVar = "clamp"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)
    sources: ClassVar = ("clamp.sv",)
    top: ClassVar = "clamp"
    model = build

    def parameters(self, ports: Mapping[str, Channel]) -> Mapping[str, int]:
        x = ports["x"]
        return {
            "LANES": x.lanes,
            "STOP_BITS": x.stop_bits,
            "DATA_BITS": x.data_bits,
            "LOW": self.low,
            "HIGH": self.high,
        }


class UntimedClamper(Clamper):
    model = None


class HastyClamper(Clamper):
    model = at_once


@dataclass(frozen=True)
class Clamp(Unary):
    low: int = -50
    high: int = 60
    kernel: str = "timed"

    elements = (sg.int8,)

    def compute(self, at: Setting, x: Array) -> Array:
        clipped: Array = np.clip(x, self.low, self.high)
        return clipped

    def unit(self, lanes: int, tiles: Sequence[sg.Tile], without_stops: Sequence[bool]) -> Any:
        kinds = {"timed": Clamper, "untimed": UntimedClamper, "hasty": HastyClamper}
        return kinds[self.kernel](self.low, self.high)


class Negator(VerilogKernel):
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)
    sources: ClassVar = ("negate.v",)
    top: ClassVar = "negate"
    model = at_once

    def delay(self, lanes: int) -> int:
        return 2

    def parameters(self, ports: Mapping[str, Channel]) -> Mapping[str, int]:
        x = ports["x"]
        return {"LANES": x.lanes, "STOP_BITS": x.stop_bits, "DATA_BITS": x.data_bits}


class Negate(Unary):
    """``-x``, saturated."""

    elements = (sg.int8,)

    def compute(self, at: Setting, x: Array) -> Array:
        return -np.maximum(x, -127)

    def unit(self, lanes: int, tiles: Sequence[sg.Tile], without_stops: Sequence[bool]) -> Any:
        return Negator()


class LargerKernel(VerilogKernel):
    inputs: ClassVar = ("a", "b")
    outputs: ClassVar = ("y",)
    sources: ClassVar = ("larger.v", "widths.vh")
    top: ClassVar = "larger"
    model = None

    def parameters(self, ports: Mapping[str, Channel]) -> Mapping[str, int]:
        return {"LANES": ports["a"].lanes, "STOP_BITS": ports["a"].stop_bits}


class Larger(Binary):
    """The larger one of two elements."""

    elements = (sg.int8,)

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        larger: Array = np.maximum(a, b)
        return larger

    def unit(self, lanes: int, tiles: Sequence[sg.Tile], without_stops: Sequence[bool]) -> Any:
        return LargerKernel()


class BrokenKernel(VerilogKernel):
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)
    sources: ClassVar = ("broken.sv",)
    top: ClassVar = "broken"
    signals: ClassVar = ("running", "error")
    model = None

    def parameters(self, ports: Mapping[str, Channel]) -> Mapping[str, int]:
        return {"WIDTH": ports["x"].width, "STOP_BITS": ports["x"].stop_bits}


class Broken(Unary):
    """What comes in, if only the kernel did so."""

    elements = (sg.int8,)

    def compute(self, at: Setting, x: Array) -> Array:
        return x

    def unit(self, lanes: int, tiles: Sequence[sg.Tile], without_stops: Sequence[bool]) -> Any:
        return BrokenKernel()
