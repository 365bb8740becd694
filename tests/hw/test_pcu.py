"""Arithmetic of the PCU: every function and type in RTL against the golden model, bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from harness import beats, check, lone, simulate

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.table import Channel
from stepgen.hw.units.pcu.params import Pcu
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls

LANES = 2
ROW = 32
FLOATS = {"bf16": (ml_dtypes.bfloat16, np.uint16), "f32": (np.float32, np.uint32)}
INTEGERS = {"int8": np.int8, "int16": np.int16, "int32": np.int32}
PAIRS = {
    "add": sg.fn.add(),
    "sub": sg.fn.sub(),
    "mul": sg.fn.mul(),
    "maximum": sg.fn.maximum(),
    "minimum": sg.fn.minimum(),
    **{op: sg.fn.compare(op) for op in ("lt", "le", "eq", "ne", "ge", "gt")},
}
ALL = (*INTEGERS, *FLOATS)
CONSTANTS = {"int8": 37, "int16": -12_345, "int32": -123_457, "bf16": -1.7, "f32": 0.1}


def special(name: str) -> np.ndarray:
    """Numbers around every boundary of a type."""
    if name in INTEGERS:
        info = np.iinfo(INTEGERS[name])
        powers = [1 << k for k in range(info.bits - 1)]
        near = {s * p + d for p in powers for s in (1, -1) for d in (-1, 0, 1)}
        near |= {info.min, info.min + 1, info.max, 0}
        return np.array(sorted(near), INTEGERS[name])
    dtype, bits = FLOATS[name]
    mantissa = 7 if name == "bf16" else 23
    exponents = [1, 2, 3, 64, 102, 118, 125, 126, 127, 128, 129, 133, 134, 135, 150, 157, 158, 159]
    exponents += [190, 252, 253, 254]
    fractions = [0, 1, 2, (1 << mantissa) - 1, (1 << mantissa) - 2, 1 << mantissa - 1]
    whole = [e << mantissa | f for e in exponents for f in fractions]
    whole += [0, 255 << mantissa]
    signs = 1 << (15 if name == "bf16" else 31)
    patterns = [*whole, *(w | signs for w in whole), 255 << mantissa | 1 << mantissa - 1]
    return np.array(patterns, bits).view(dtype)


def drawn(rng: np.random.Generator, name: str, count: int) -> np.ndarray:
    """Numbers of any magnitude, near ones included."""
    if name in INTEGERS:
        info = np.iinfo(INTEGERS[name])
        shift = rng.integers(0, info.bits, count)
        return (rng.integers(info.min, info.max + 1, count) >> shift).astype(INTEGERS[name])
    dtype, bits = FLOATS[name]
    width = 8 * np.dtype(bits).itemsize
    patterns = rng.integers(0, 1 << width, count, dtype=np.uint64).astype(bits)
    mantissa = 7 if name == "bf16" else 23
    close = rng.integers(120, 136, count).astype(bits) << bits(mantissa)
    sparse = rng.random(count) < 0.5
    keep = bits((1 << mantissa) - 1 | 1 << width - 1)
    return np.where(sparse, patterns, patterns & keep | close).astype(bits).view(dtype)


def pairs(rng: np.random.Generator, name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Every special number beside many others, drawn pairs, and nearly equal ones."""
    count = rows * ROW
    edges = special(name)
    a = np.concatenate([np.repeat(edges, -(-count // 4 // len(edges))), drawn(rng, name, count)])
    b = np.concatenate([rng.choice(edges, len(a) - count), drawn(rng, name, count)])
    a, b = a[:count].copy(), b[:count].copy()
    if name in FLOATS:
        near = rng.random(count) < 0.15
        bits = FLOATS[name][1]
        moved = (b.view(bits) ^ bits(1 << (8 * np.dtype(bits).itemsize - 1))) + bits(1)
        a[near] = moved.view(a.dtype)[near]
    return tuple(np.asarray(v).reshape(rows, 1, ROW) for v in (a, b))


def program(name: str, a: np.ndarray, b: np.ndarray) -> tuple[sg.Graph, dict[str, np.ndarray]]:
    """All functions of two operands, of one and a constant, and all conversions, of one type."""
    g = sg.Graph(f"arithmetic_{name}")
    tile = sg.Tile(1, ROW, ELEMENTS[name])
    x, y = (g.input(port, tile, (len(a),)) for port in ("a", "b"))
    constant = CONSTANTS[name]
    for label, fn in PAIRS.items():
        g.output(x.map(fn, y), label)
    for to in (to for to in ALL if to != name):
        g.output(x.map(sg.fn.convert(to)), f"to_{to}")
    for to in ("bf16", "f32") if name in INTEGERS else INTEGERS:
        for places in (5, -3):
            kind = sg.fn.convert(to, places=places)
            g.output(x.map(kind), f"{to}_{5 - places}")
    g.output(x.map(sg.fn.square()), "square")
    for label, one in {
        "at_least": sg.fn.at_least(constant),
        "at_most": sg.fn.at_most(constant),
        "offset": sg.fn.offset(constant),
        "scale": sg.fn.scale(constant),
    }.items():
        g.output(x.map(one), label)
    flags = x.map(sg.fn.compare("lt"), y)
    for to in ALL:
        g.output(flags.map(sg.fn.convert(to)), f"flag_{to}")
    return g, {"a": a, "b": b}


def test_every_function_of_some_numbers():
    graph, inputs = program("bf16", *pairs(np.random.default_rng(1), "bf16", 16))
    run = Experiment(graph, inputs, lanes=LANES)
    check(run.design, run.beats, {name: run.reference.beats(name, LANES) for name in graph.outputs})


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_function_of_every_type(name, tmp_path):
    rng = np.random.default_rng(1)
    graph, inputs = program(name, *pairs(rng, name, 400))
    experiment = Experiment(graph, inputs, lanes=LANES)
    verdict = experiment.test(tmp_path, driver="cpp")
    assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
def test_tables_of_every_type(tmp_path):
    """All 256 operands, and results that are special numbers among others."""
    rng = np.random.default_rng(2)
    x = rng.permutation(np.arange(-128, 128)).astype(np.int8)
    g = sg.Graph("tables")
    port = g.input("x", sg.int8[1, ROW], (len(x) // ROW,))
    tables = {}
    for to in ALL:
        numbers = np.concatenate([special(to), drawn(rng, to, 256)]).astype(np.float64)
        tables[to] = rng.permutation(numbers[np.isfinite(numbers)][:256])
        g.output(port.map(sg.fn.lookup(tables[to], to=to)), to)
    inputs = {"x": x.reshape(-1, 1, ROW)}
    experiment = Experiment(g, inputs, lanes=LANES, stalls=Stalls(1, {"d_f32": 0.3}))
    for to, table in tables.items():
        row = np.ravel(experiment.reference.nested(to))
        assert (row.astype(np.float64) == table[x.astype(int) + 128]).all()
    verdict = experiment.test(tmp_path, driver="cpp")
    assert verdict.good, verdict.outcome.faults


@pytest.mark.parametrize(
    ("table", "to", "message"),
    [
        ([1, 2], "int8", "table must have 256 numbers, not 2"),
        ([300] * 256, "int8", "table holds 300, which does not fit into int8"),
        ([0.5] * 256, "int32", "table holds fractions, but its element type is int32"),
        (
            [0] * 256,
            "bool",
            "to must be an element type or one of int8, int16, int32, bf16, f32,",
        ),
        ([0] * 256, sg.bool_, "it makes int8, int16, int32, bf16, f32, not bool"),
        ("no", "int8", "table must be a sequence, each of them a number, not 'no'"),
    ],
)
def test_tables_that_are_none(table, to, message):
    with pytest.raises(StepError, match=f"^lookup at .*: {message}"):
        sg.fn.lookup(table, to=to)


@pytest.mark.parametrize(
    ("operands", "operations", "message"),
    [
        (("int8",), [("add", (0, 1), "int8")], "operation 0, add: it takes values that are not th"),
        (("int8",), [("add", (0,), "int8")], "operation 0, add: it needs 2 operands and 0 consta"),
        (("int8",), [("add", (0, 0), "f32")], "operation 0, add: it does not make f32 of int8 an"),
        (("int8",), [("convert", (0,), "bool")], "operation 0, convert: it does not make bool of"),
        (("f32",), [("add", (0, 0), "f32")], "x must carry f32, not int8"),
        (("int7",), [], "int7 is not an element type"),
    ],
)
def test_what_can_not_be_built(operands, operations, message):
    params = Pcu(operands, tuple(Operation(*o) for o in operations))
    x = Channel("x", 2, 8, 3, element="int8")
    with pytest.raises(StepError, match=f"^design lone: pcu dut: {message}"):
        lone(params, [x], [Channel("y", 2, 8, 3, delay=1)])


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (("plus", (0, 0), "int8"), "there is no operation 'plus', those are constant, add"),
        (("add", (0, 0), "int7"), "'int7' is not an element type"),
        (("add", (0, "x"), "int8"), "operands must be a sequence, each of them an integer"),
    ],
)
def test_what_is_no_operation(operation, message):
    with pytest.raises(StepError, match=message):
        Operation(*operation)


def test_operands_that_differ_in_structure_are_an_error():
    """Types rule it out, so the streams are given to the circuit alone."""
    params = Pcu(("int8", "int8"), (Operation("add", (0, 1), "int8"),))
    channels = [Channel(name, LANES, 8, 2) for name in ("a", "b")]
    design = lone(params, channels, [Channel("y", LANES, 8, 2, depth=6, delay=1)], lanes=LANES)
    row = [([1, 2], 0), ([3, 4], 2)]
    for other, wrong in ((row, False), ([([1, 2], 1), ([3, 4], 2)], True)):
        inputs = {"s_a": beats(row, LANES), "s_b": beats(other, LANES)}
        *_, error = simulate(design, inputs, Stalls())
        assert bool(error) is wrong
