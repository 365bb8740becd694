"""Verilog kernels as users write them, beside their Verilog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import stepgen as sg
from stepgen.compile.circuit import Circuit
from stepgen.compile.lower import Lowering
from stepgen.functions import Binary, Setting, Unary
from stepgen.hw.design.table import Channel, Unit
from stepgen.hw.verilog_kernel.params import VerilogKernel
from stepgen.ir.operator import Call
from stepgen.ir.own import OwnOperator
from stepgen.ir.stream import Node, Out
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.numbers import Array
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import Token
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


def build(unit: Unit, params: Any, layout: Any) -> None:
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, held=0)
    layout.actor(unit.name, "clamp", through_a_register, own, reads=[x], writes=[y])


def at_once(unit: Unit, params: Any, layout: Any) -> None:
    """The model of a circuit without the register."""
    from stepgen.hw.units.pcu import model as pcu

    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(pcu.P, y=y, operands=1, x=[x])
    layout.actor(unit.name, "compute", pcu.flow, own, reads=[x], writes=[y])


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
    main: ClassVar = "compute"
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


class Negate(OwnOperator, Circuit):
    """``-x``, saturated: an operator whose unit is a kernel."""

    def __call__(self, x: sg.Stream) -> sg.Stream:
        made: sg.Stream = self.add((x,), {})[0]
        return made

    def infer(self, call: Call) -> Sequence[Out]:
        (x,) = call.inputs
        return [Out(x.shape, x.dtype, dict(enumerate(x.totals)), x.volume)]

    def run(self, use: Use) -> Process:
        while True:
            (token,) = yield from use.take_all(use.inputs)
            if token.kind == VALUE:
                token = Token(VALUE, -np.maximum(token.value, -127), token.stop)
            use.outputs[0].put(token)
            if token.kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        params = Negator()
        y = to.output(node, delay=params.delay(to.lanes))
        to.unit(node.name, params, x=to.input(node, 0), y=y)


negate = Negate()


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
    """The identity, as the model has it; the kernel makes mistakes."""

    elements = (sg.int8,)

    def compute(self, at: Setting, x: Array) -> Array:
        return x

    def unit(self, lanes: int, tiles: Sequence[sg.Tile], without_stops: Sequence[bool]) -> Any:
        return BrokenKernel()
