"""Elementary functions in RTL against the golden model, bit for bit: every bf16, many of f32."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from compiled import Compiled, Simulated
from hw.test_pcu import FLOATS, special
from semantics.drawn import floats

from stepgen.hw import private
from stepgen.hw.arithmetic import tabulated
from stepgen.hw.arithmetic.circuits import floating, product
from stepgen.hw.arithmetic.circuits import tabulated as circuits
from stepgen.hw.arithmetic.circuits.lane import Lane
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Pipeline
from stepgen.hw.primitives import Multiplier
from stepgen.ir.dtypes import ELEMENTS
from stepgen.semantics import numbers, tables

NAMES = tuple(tabulated.STAGES)


class Lanes(wiring.Component):
    """One lane of each function, which `circuits` make of the operands x and z."""

    def __init__(self, element, circuits):
        self.circuits = circuits
        bits = ELEMENTS[element].bits
        super().__init__({"x": In(bits), "z": In(bits), **{name: Out(bits) for name in circuits}})

    def elaborate(self, platform):
        m = Module()
        for name, circuit in self.circuits.items():
            m.submodules[name] = part = Module()
            part.d.comb += getattr(self, name).eq(circuit(part, self.x, self.z))
        return m


def pipeline(element: str, name: str) -> Pipeline:
    """The function alone."""
    operands = (0, 1) if name == "divide" else (0,)
    return Pipeline((element,) * len(operands), (Operation(name, operands, element),))


def of_pipeline(element: str, name: str):
    """Makes its circuit."""

    def circuit(m, x, z):
        lane = Lane(pipeline(element, name))
        m.submodules.lane = private.elaborated(lane)
        m.d.comb += [port.eq(value) for port, value in zip(lane.operands, (x, z), strict=False)]
        return lane.y

    return circuit


def reference(name: str, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """What the golden model says, as bit patterns."""
    y = tables.div(x, z) if name == "divide" else tables.apply(name, x)
    return y.view(f"u{y.itemsize}").astype(np.uint32)


def arguments(element: str) -> tuple[np.ndarray, np.ndarray]:
    """Every bf16; of f32 what lies around boundaries, of segments too, and drawn numbers."""
    rng = np.random.default_rng(7)
    if element == "bf16":
        x = np.arange(1 << 16, dtype=np.uint16).view(numbers.bfloat16)
    else:
        steps = rng.integers(0, 1 << 17, 30_000) << 15
        near = (steps + rng.choice([-1, 0, 1], 30_000)).astype(np.uint32).view(np.float32)
        bent = rng.standard_normal(60_000) * np.exp2(rng.uniform(-12, 9, 60_000))
        whole = special("f32")
        x = np.concatenate([floats(rng, (60_000,), "f32"), bent.astype(np.float32), near, whole])
    x = numbers.canonical(x)
    if element == "bf16":
        return x, rng.permutation(x)
    pairs = np.repeat(special("f32"), len(special("f32")))
    others = np.tile(special("f32"), len(special("f32")))
    return np.concatenate([x, pairs]), np.concatenate([rng.permutation(x), others])


def wrong(
    circuit: Compiled | Simulated, element: str, latency: dict[str, int], few: int = 1
) -> dict[str, list[str]]:
    """The arguments of each function where it differs from the golden model.

    One in so `few` of them is tried.
    """
    x, z = (numbers[::few] for numbers in arguments(element))
    bits = FLOATS[element][1]
    seen = circuit.run({"x": x.view(bits), "z": z.view(bits)}, latency)
    found = {}
    for name in latency:
        of = name if name in NAMES else name.partition("_")[0]
        expected = reference(of, x, z)
        off = np.flatnonzero(seen[name] != expected)
        found[name] = [f"{x[k]}, {z[k]}: {seen[name][k]:#x} not {expected[k]:#x}" for k in off]
    return {name: cases[:5] for name, cases in found.items() if cases}


@pytest.mark.slow
@pytest.mark.parametrize("element", FLOATS)
def test_every_function(element, tmp_path):
    made = {name: of_pipeline(element, name) for name in NAMES}
    circuit = Compiled(Lanes(element, made), ("x", "z"), NAMES, tmp_path)
    latency = {name: pipeline(element, name).stages for name in NAMES}
    assert wrong(circuit, element, latency) == {}


def test_every_function_of_some_numbers():
    made = {name: of_pipeline("bf16", name) for name in NAMES}
    circuit = Simulated(Lanes("bf16", made), ("x", "z"), NAMES)
    latency = {name: pipeline("bf16", name).stages for name in NAMES}
    assert wrong(circuit, "bf16", latency, few=97) == {}


def off_by_one(contents: tabulated.Contents, row: int) -> tabulated.Contents:
    """One coefficient changed by as little as the rounding lets through somewhere."""
    rows = list(contents.rows)
    rows[row] = (rows[row][0] + (1 << 5), *rows[row][1:])
    return dataclasses.replace(contents, rows=tuple(rows))


@pytest.mark.slow
def test_what_is_broken_is_found(tmp_path):
    """One constant of one segment; the lowest bit of log2(e); a rounding without ties to even."""
    original = tabulated.coefficients

    def truncated(s, stored):
        s.then(number=floating.Cat(s.top[-1 - stored : -1], s.exponent).as_signed())
        return floating.packed(s, stored)

    def broken(name, change):
        def circuit(m, x, z):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(circuits, name, change)
                return of_pipeline("bf16", "exp")(m, x, z)

        return circuit

    made = {
        "exp": of_pipeline("bf16", "exp"),
        "exp_coefficient": broken("coefficients", lambda *of: off_by_one(original(*of), 37)),
        "exp_constant": broken("log2e", lambda of: tables.log2e(of.name) ^ 1),
        "exp_rounding": broken("rounded", truncated),
    }
    circuit = Compiled(Lanes("bf16", made), ("x", "z"), tuple(made), tmp_path)
    latency = dict.fromkeys(made, pipeline("bf16", "exp").stages)
    assert wrong(circuit, "bf16", latency).keys() == made.keys() - {"exp"}


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_multipliers_are_those_declared(name, element, monkeypatch):
    made = []

    def counted(*bits, **signs):
        made.append(Multiplier(*bits, **signs))
        return made[-1]

    monkeypatch.setattr(product, "Multiplier", counted)
    private.elaborated(Lanes(element, {name: of_pipeline(element, name)}))
    assert len(made) == pipeline(element, name).multipliers
    assert all(max(len(x.a), len(x.b)) <= 18 for x in made)


def test_rows_are_read_as_they_are_written():
    contents = tabulated.coefficients(ELEMENTS["bf16"], "tanh")
    table = tables.table("tanh", "bf16").coefficients
    assert np.array_equal(np.array(contents.rows), table)
    assert all(word < 1 << contents.row_bits for word in contents.words)
