"""Operators without a circuit are found one by one, with the sentence that lowering gives."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import stepgen as sg
from stepgen.compile.limits import without_circuit
from stepgen.compile.lower import lower
from stepgen.functions.bases import Unary
from stepgen.program import program

fn = sg.fn


def _stage(x: sg.Stream, kind: str, cube: sg.Function) -> sg.Stream:
    """Append operators to a stream; of all kinds but "square" one has no circuit."""
    if kind == "square":
        return x.map(fn.square())
    if kind == "own":
        return x.map(cube, name=f"bad{len(x.graph.nodes)}")
    buffers = x.promote().bufferize(rank=1, name=f"bad{len(x.graph.nodes)}")
    return buffers.streamify().flatten(0, 1)


@pytest.mark.parametrize("kinds", list(itertools.product(["square", "own", "store"], repeat=3)))
def test_each_operator_without_a_circuit_is_found(kinds: tuple[str, ...]) -> None:
    class Cube(Unary):
        """The cube of each number, for which nobody has written a circuit."""

        def compute(self, at: Any, x: Any) -> Any:
            return x**3

    g = sg.Graph("p")
    x = g.input("x", sg.f32[1, 8], ("N",))
    for kind in kinds:
        x = _stage(x, kind, Cube())
    g.output(x, "y")
    found = without_circuit(g)
    assert list(found) == [node.name for node in g.nodes if node.name.startswith("bad")]
    if found:
        with pytest.raises(sg.StepError) as caught:
            lower(g)
        assert str(caught.value) == next(iter(found.values()))


@pytest.mark.parametrize("name", ["moe", "attention", "alignment", "matmul"])
def test_examples_have_circuits(name: str) -> None:
    assert without_circuit(program.load(name, draw=False).graph) == {}
