"""A function of a user's own works like one that comes with stepgen."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from harness import check
from tile_beats import Recorded, expected

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.functions import Binary, Cut, Folded, Folding, Mapped, Scanned, Setting, Unary
from stepgen.ir.function import Function, function_types
from stepgen.ir.text import dumps, loads
from stepgen.program.tiles import simulate
from stepgen.semantics import executor
from stepgen.timing.tiles.machines import SDA

FILE = Path(__file__).parent / "own.py"


def imported() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_functions", FILE)
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def own() -> Iterator[ModuleType]:
    yield imported()
    del sys.modules["own_functions"]


def program(slope: float = 0.25) -> tuple[sg.Graph, Any]:
    """All three, one after the other."""
    g = sg.Graph("own")
    x = g.input("x", sg.f32[4, 8], (3, 2))
    g.output(x.map(sg.fn.leaky_relu(slope)), "leaky")
    last = x.accum(sg.fn.last(), rank=1)
    g.output(last.flat_map(sg.fn.halves(), rank=0), "halves")
    return g, np.random.default_rng(1).standard_normal((3, 2, 4, 8)).astype(np.float32)


@pytest.mark.usefixtures("own")
def test_type_and_costs() -> None:
    g, _ = program()
    leaky, halves = (g.node(name).inputs[0] for name in ("leaky", "halves"))
    assert str(leaky.type) == "Stream[f32 4x8; 3, 2]"
    assert str(halves.type) == "Stream[f32 2x8; 6]"
    assert sg.metrics(g).flops == 3 * 2 * 4 * 8 * 2


@pytest.mark.usefixtures("own")
def test_reference() -> None:
    g, x = program()
    result = executor.run(g, {"x": x})
    assert np.array_equal(result.nested("leaky"), np.maximum(x, x * np.float32(0.25)))
    assert np.array_equal(result.nested("halves"), x[:, 1].reshape(6, 2, 8))


@pytest.mark.usefixtures("own")
def test_time_on_tiles() -> None:
    g = sg.Graph("leaky")
    g.output(g.input("x", sg.f32["N", 8], (3, 2)).map(sg.fn.leaky_relu(slope=0.5)), "y")
    inputs = {"x": [[np.ones((n, 8), np.float32) for n in row] for row in ((1, 2), (0, 4), (5, 6))]}
    y = g.node("y").inputs[0]
    run, reference = Recorded(g, inputs, SDA), executor.run(g, inputs)
    assert run.beats(y) == expected(reference.streams[y.name], y.dtype)
    assert simulate(g, inputs, SDA).flops_useful == (1 + 2 + 0 + 4 + 5 + 6) * 8 * 2


def rows_of(counts: Sequence[Sequence[int]], cols: int = 8) -> list[list[Any]]:
    return [[np.ones((n, cols), np.float32) for n in group] for group in counts]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("cut", "rows", "counts"),
    [
        ("halves", 4, [[4, 4], [4, 4], [4, 4]]),
        ("strips", 4, [[4, 4], [4, 4], [4, 4]]),
        ("strips", "R", [[1, 2], [0, 4], [70, 6]]),
        ("even", "R", [[4, 2], [0, 4], [8, 6]]),
        ("even", sg.ragged("R", bound=9), [[4, 2], [0, 4], [8, 6]]),
    ],
)
def test_pieces_on_tiles_are_what_the_type_says(
    cut: str, rows: Any, counts: list[list[int]], rank: int
) -> None:
    g = sg.Graph("cut")
    x = g.input("x", sg.f32[rows, 8], (3, 2))
    g.output(x.flat_map(getattr(sg.fn, cut)(), rank=rank), "y")
    inputs = {"x": rows_of(counts)}
    y = g.node("y").inputs[0]
    run, reference = Recorded(g, inputs, SDA), executor.run(g, inputs)
    assert run.beats(y) == expected(reference.streams[y.name], y.dtype)


@pytest.mark.usefixtures("own")
def test_pieces_that_the_type_does_not_determine_are_not_timed() -> None:
    x = sg.Graph("cut").input("x", sg.f32[4, 8], (3, 2))
    x.graph.output(x.flat_map(sg.fn.positive(), rank=0), "y")
    sentence = r"positive\(\) has no timing on tiles, since its type does not say how many pieces"
    with pytest.raises(sg.StepError, match=rf"^flat_map_0 \(test_own.py:\d+\): {sentence}"):
        simulate(x.graph, {"x": rows_of([[4, 4]] * 3)}, SDA)


@pytest.mark.usefixtures("own")
def test_tiles_of_too_many_extents_are_not_timed() -> None:
    x = sg.Graph("cut").input("x", sg.f32["R", "C"], (1, 1))
    x.graph.output(x.flat_map(sg.fn.even(), rank=0), "y")
    with pytest.raises(sg.StepError, match=r"than 65,536 pairs of extents; give one of them a bou"):
        simulate(x.graph, {"x": rows_of([[4]])}, SDA)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(("rows", "chunk"), [(3, 3), (3, 4)])
def test_tiles_that_the_type_does_not_take_are_reported(rows: int, chunk: int) -> None:
    """Of an odd number of rows, or with padding."""
    x = sg.Graph("cut").input("x", sg.f32[1, 8], (rows,))
    packed = x.reshape(chunk=chunk)[0].accum(sg.fn.retile_row(), rank=1)
    x.graph.output(packed.flat_map(sg.fn.even(), rank=0), "y")
    sentence = r"even\(\) needs tiles that its type allows, without padding, to be timed on tiles"
    with pytest.raises(sg.StepError, match=sentence):
        simulate(x.graph, {"x": np.ones((rows, 1, 8), np.float32)}, SDA)


def folded_and_cut(rows: Any = 2) -> sg.Graph:
    g = sg.Graph("circuits")
    x = g.input("x", sg.int8[rows, 4], (3, 2))
    g.output(x.accum(sg.fn.stack(), rank=1), "stacked")
    g.output(x.flat_map(sg.fn.single(), rank=0), "rows")
    return g


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("lanes", [2, 4])
def test_circuits_of_accum_and_flat_map(lanes: int) -> None:
    """Their values are those of the reference, their beats come when the cycle model says."""
    x = np.random.default_rng(1).integers(-128, 128, (3, 2, 2, 4)).astype(np.int8)
    run = Experiment(folded_and_cut(), {"x": x}, lanes=lanes)
    assert np.array_equal(run.reference.nested("stacked"), x.reshape(3, 4, 4))
    assert np.array_equal(run.reference.nested("rows"), x.reshape(3, 4, 1, 4))
    assert [(u.origin, u.params.kind) for u in run.design.units if u.params.kind != "fork"] == [
        ("x", "source"),
        ("stacked", "sink"),
        ("rows", "sink"),
    ]
    (fork,) = (u for u in run.design.units if u.params.kind == "fork")
    assert [r.params.kind for r in fork.restops] == ["flatten", "promote", "flatten"]
    assert run.design.fused == {"accum_0": fork.name, "flat_map_0": fork.name}
    wanted = {name: run.reference.beats(name, lanes) for name in ("stacked", "rows")}
    check(run.design, run.beats, wanted)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("stack", r"accum accum_0 at test_own.py:\d+: stack\(\) has no circuit yet"),
        ("last", r"accum accum_0 at test_own.py:\d+: last\(\) has no circuit yet"),
        ("single", r"flat_map flat_map_0 at test_own.py:\d+: single\(\) takes tiles of a static n"),
        ("strips", r"flat_map flat_map_0 at test_own.py:\d+: strips\(width=2\) has no circuit"),
    ],
)
def test_what_has_no_circuit_is_reported(function: str, message: str) -> None:
    g = sg.Graph("circuits")
    x = g.input("x", sg.int8["R", 4], (3, 2))
    made = getattr(sg.fn, function)()
    folds = isinstance(made, Folded)
    g.output(x.accum(made, rank=1) if folds else x.flat_map(made, rank=0), "y")
    with pytest.raises(sg.StepError, match=f"^{message}"):
        lower(g, lanes=2)


def test_saved_graphs(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    g, _ = program()
    text = dumps(g)
    assert '"fn": "leaky_relu",\n' in text
    assert loads(text) == g
    assert loads(text).node("leaky").inputs[0].node.attrs["fn"] == own.LeakyRelu(0.25)
    kinds = {k: v for k, v in function_types().items() if v.__module__ != own.__name__}
    monkeypatch.setattr("stepgen.ir.function._KINDS", kinds)
    sentence = "there is no function 'leaky_relu', those are add, .*; one of your own is known once"
    with pytest.raises(sg.StepError, match=sentence):
        loads(text)


@pytest.mark.usefixtures("own")
def test_mistakes_are_reported_at_the_line_of_the_use() -> None:
    x = sg.Graph().input("x", sg.int8[4, 8], (3, 2))
    with pytest.raises(sg.StepError, match=r"leaky_relu at test_own.py:\d+: slope must lie betw"):
        sg.fn.leaky_relu(2)
    with pytest.raises(sg.StepError, match=r"leaky_relu at test_own.py:\d+: slope must be a numb"):
        sg.fn.leaky_relu("x")
    with pytest.raises(sg.StepError, match=r"map at test_own.py:\d+: leaky_relu\(slope=0.5\) work"):
        x.map(sg.fn.leaky_relu(0.5))
    with pytest.raises(sg.StepError, match=r"scan at test_own.py:\d+: last\(\) can't scan"):
        x.scan(sg.fn.last(), rank=1)


def test_a_module_may_be_imported_again(own: ModuleType) -> None:
    again = imported()
    assert own.LeakyRelu is not again.LeakyRelu
    assert isinstance(sg.fn.leaky_relu(), again.LeakyRelu)


@pytest.mark.parametrize(
    ("base", "lacking"),
    [
        (Unary, "compute"),
        (Binary, "compute"),
        (Folding, "compute"),
        (Mapped, "compute, tile"),
        (Folded, "accumulator, update"),
        (Scanned, "state, update"),
        (Cut, "pieces, stream"),
    ],
)
def test_a_missing_method_is_found_when_the_class_is_defined(base: Any, lacking: str) -> None:
    sentence = rf"^the function Sculpt at test_own.py:\d+ lacks {lacking}$"
    with pytest.raises(sg.StepError, match=sentence):

        class Sculpt(base):
            pass

    assert "sculpt" not in function_types()


def test_a_type_rule_without_a_golden_model_is_found() -> None:
    with pytest.raises(sg.StepError, match=r"the function Sculpt at .* lacks compute$"):

        class Sculpt(Mapped):
            def tile(self, call: Any, *tiles: sg.Tile) -> sg.Tile:
                return tiles[0]


def test_a_function_without_a_use_is_found() -> None:
    sentence = "the function Sculpt at .* has no use: derive it from Mapped, Folded or Cut"
    with pytest.raises(sg.StepError, match=sentence):

        class Sculpt(Function):
            pass


def test_a_name_is_given_once() -> None:
    sentence = (
        "the function Add at .* would be called add, as Add of stepgen.functions.arithmetic is"
    )
    with pytest.raises(sg.StepError, match=sentence):

        class Add(Unary):
            def compute(self, at: Setting, x: Any) -> Any:
                return x

    assert sg.fn.add().arity == 2


def test_parameters_need_a_dataclass() -> None:
    class Sculpt(Unary):
        depth: int = 2
        cost: ClassVar[int] = 2

        def compute(self, at: Setting, x: Any) -> Any:
            return x

    with pytest.raises(
        sg.StepError, match="parameters depth, but its class Sculpt is not a dataclass"
    ):
        sg.fn.sculpt()


@pytest.mark.parametrize(
    ("kind", "name"), [("RMSNorm", "rms_norm"), ("GELU2", "gelu2"), ("TopP", "top_p")]
)
def test_the_name_is_that_of_the_class(kind: str, name: str) -> None:
    def compute(self: Any, at: Setting, x: Any) -> Any:
        return x

    made = dataclass(frozen=True)(type(Unary)(kind, (Unary,), {"compute": compute}))
    assert isinstance(getattr(sg.fn, name)(), made)
