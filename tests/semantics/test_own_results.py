"""What the golden model of an own operator gives has to be of the type that `infer` says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.ir.own import OwnOperator
from stepgen.ir.stream import Out
from stepgen.semantics import executor
from stepgen.semantics.tokens import END, Token, bare, encode, value

TILE, PICK = np.ones((2, 4), np.int8), np.array([True, False, False])
BOTH = sg.TupleType((sg.int8[2, 4], sg.Selector(3)))

VALUES = [
    (sg.int8[2, 4], TILE, TILE.astype(np.int32) * 1000, r"an array of int32 of shape \[2, 4\]"),
    (sg.int8[2, 4], TILE, np.zeros((2, 4)), "an array of float64"),
    (sg.int8[2, 4], TILE, TILE.tolist(), r"\["),
    (sg.int8[2, 4], TILE, None, "None"),
    (sg.int8[2, 4], TILE, np.ones((3, 5), np.int8), r"an array of shape \[3, 5\]"),
    (sg.int8[2, 4], TILE, TILE[0], r"an array of int8 of shape \[4\]"),
    (sg.int8["R", 4], TILE, TILE[:, :3], r"an array of shape \[2, 3\]"),
    (sg.Selector(3), PICK, PICK[:2], r"an array of shape \[2\]"),
    (sg.Selector(3), PICK, PICK.astype(np.int8), "an array of int8"),
    (sg.Selector(3, hot=1), PICK, ~PICK, "a selector with 2 bits set"),
    (BOTH, (TILE, PICK), (TILE, PICK[:2]), r"an array of shape \[2\]"),
    (BOTH, (TILE, PICK), (TILE,), r"\("),
    (sg.Buffer(sg.int8[2, 4], (sg.static(1),)), None, TILE, ""),
]

TILES = encode([[TILE] * 2] * 3, 1)
STRUCTURES = [
    ([*TILES[:2], END], "has 1 items in dim D1 instead of 3"),
    (TILES[:-1] + TILES, "has 6 items in dim D1 instead of 3"),
    (encode([[TILE] * 3] * 3, 1), "has 3 items in dim D0 instead of 2"),
    ([*TILES[:4], bare(1, 1), END], "has 0 items in dim D0 instead of 2"),
    ([END], "has 0 items in dim D1 instead of 3"),
    ([*TILES[:5], value(TILE), END], "DONE comes while level 1 is still open"),
    ([*TILES[:5], value(TILE, 2), END], "stop level 2 is not within 0..1"),
]


@pytest.fixture
def emitting() -> Any:
    """Run an operator with an output of a type that emits given tokens."""

    class Emit(OwnOperator):
        """Emits what a test says."""

        def __call__(self, x: sg.Stream) -> sg.Stream:
            return self.add((x,), {})[0]

        def infer(self, call: Any) -> Any:
            return [Out((sg.static(3), sg.static(2)), self.dtype)]

        def run(self, use: Any) -> Iterator[Any]:
            while (yield from use.inputs[0].take()).kind != END.kind:
                pass
            for token in self.tokens:
                use.outputs[0].put(token)

    def run(dtype: Any, tokens: Sequence[Token]) -> executor.Result:
        Emit.dtype, Emit.tokens = dtype, tokens
        g = sg.Graph("emitted")
        g.output(Emit()(g.input("x", sg.int8[1, 4], (1,))), "y")
        return executor.run(g, {"x": np.zeros((1, 1, 4), np.int8)})

    return run


HERE = r"emit_0 \(test_own_results.py:\d+\):? "


@pytest.mark.parametrize(("dtype", "right", "wrong", "said"), VALUES)
def test_values(emitting: Any, dtype: Any, right: Any, wrong: Any, said: str) -> None:
    def tokens(last: Any) -> list[Token]:
        return [value(last if i == 5 else right, i % 2) for i in range(6)] + [END]

    if right is not None:
        emitted = emitting(dtype, tokens(right)).streams
        assert {len(stream) for name, stream in emitted.items() if name[0] == "y"} == {7}
    rule = re.escape(str(dtype))
    message = f"{HERE}the golden model of emit gave .*{said}.*, but its type rule says {rule}"
    with pytest.raises(sg.StepError, match=message):
        emitting(dtype, tokens(wrong))


@pytest.mark.parametrize(("tokens", "said"), STRUCTURES)
def test_structure(emitting: Any, tokens: list[Token], said: str) -> None:
    assert len(emitting(sg.int8[2, 4], TILES).streams["y"]) == 7
    with pytest.raises(sg.StepError, match=f"{HERE}.*{said}"):
        emitting(sg.int8[2, 4], tokens)
