"""What a golden model gives has to be of the type that its type rule says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.functions import Unary
from stepgen.ir.dims import static
from stepgen.ir.dtypes import Tile
from stepgen.ir.function import Cut, Folded
from stepgen.ir.pieces import Pieces
from stepgen.semantics import executor

WRONG = {
    "another type": (lambda x: x.astype(np.int32), "an array of int32 of shape"),
    "another shape": (lambda x: x[:, :1], r"an array of shape \[2, 1\]"),
    "one dim less": (lambda x: x[0], r"an array of int8 of shape \[4\]"),
    "a list": (lambda x: x.tolist(), r"gave \["),
    "nothing": (lambda x: None, "gave None"),
}
wrongs = pytest.mark.parametrize(("wrong", "said"), WRONG.values(), ids=WRONG)


def refuses(use: Any, said: str) -> None:
    g = sg.Graph("wrong")
    x = g.input("x", sg.int8[2, 4], (3,))
    g.output(use(x), "y")
    data = np.ones((3, 2, 4), np.int8)
    with pytest.raises(sg.StepError, match=rf"test_golden_results.py:\d+\): the golden .*{said}"):
        executor.run(g, {"x": list(data)})


@wrongs
def test_of_map(wrong: Any, said: str) -> None:
    class Wrong(Unary):
        """Gives something else."""

        def compute(self, at: Any, x: Any) -> Any:
            return wrong(x)

    refuses(lambda x: x.map(Wrong()), said)


@wrongs
def test_of_accum(wrong: Any, said: str) -> None:
    class Wrong(Folded):
        """Ends in something else."""

        def accumulator(self, call: Any, dims: Sequence[Any], *tiles: Tile) -> Tile:
            return tiles[0]

        def update(self, at: Any, state: Any, x: Any) -> Any:
            return x

        def finish(self, at: Any, state: Any) -> Any:
            return wrong(state)

    refuses(lambda x: x.promote().accum(Wrong(), rank=1), said)


@wrongs
def test_of_flat_map(wrong: Any, said: str) -> None:
    class Wrong(Cut):
        """Gives one piece, of something else."""

        def stream(self, call: Any, rank: int, element: Any) -> Pieces:
            return Pieces((static(1),), element)

        def pieces(self, at: Any, element: Any) -> list[Any]:
            return [wrong(element)]

    refuses(lambda x: x.flat_map(Wrong(), rank=0), said)
