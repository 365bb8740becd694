"""Draws programs whose chunks go round loops: through a Reassemble into them, a Partition out.

Within some loops chunks overtake each other, in an EagerMerge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import stepgen as sg
from stepgen.ir.stream import Stream

COLS = 4
LONGEST = 3
"""Tiles of a chunk, and chunks in a loop, at most."""
ROUNDS = 24

Bits = list[list[int]]


@dataclass(frozen=True)
class Turns:
    """What enters a loop, and the selectors of its merge and route.

    Attributes
    ----------
    chunks : list of list
        The tiles of every chunk, by number.
    entering : list of list of int
        Per selector of the Reassemble, whether a new chunk comes, and one from the loop.
    leaving : list of list of int
        Per selector of the Partition, whether a chunk leaves, and whether it goes round again.
    surplus : int
        How many selectors the Partition finds left.
    order : str
        Of the Reassemble.
    ways : list of list of int, optional
        Per chunk in the loop, which of two ways it takes there, behind which an EagerMerge takes
        them as they come.
    """

    chunks: list[list[int]]
    entering: Bits
    leaving: Bits
    surplus: int = 0
    order: Literal["index", "arrival"] = "index"
    ways: Bits | None = None


def drawn(seed: int) -> Turns:
    """Chunks come, go round, are copied, leave and are dropped; in the end the loop is empty."""
    rng = np.random.default_rng(seed)
    chunks = [list(range(rng.integers(0, LONGEST + 1))) for _ in range(rng.integers(0, 7))]
    new, inside = len(chunks), 0
    entering: Bits = []
    leaving: Bits = []
    while new or inside:
        bits = [int(new > 0 and inside < LONGEST and rng.random() < 0.6), 0]
        bits[1] = int(inside > 0 and rng.random() < 0.7)
        entering.append(bits)
        new -= bits[0]
        for _ in range(sum(bits)):
            # What has just been taken from the loop may go back in.
            again = len(leaving) < ROUNDS and rng.random() < 0.6
            leaving.append([int(rng.random() < 0.5), int(again)])
        inside += sum(b[1] for b in leaving[len(leaving) - sum(bits) :]) - bits[1]
    surplus = int(rng.choice([0, 0, 1, 5]))
    leaving += [[1, 1]] * surplus
    ways = [[int(rng.random() < 0.5)] for _ in leaving]
    return Turns(
        chunks,
        entering,
        leaving,
        surplus,
        "arrival" if rng.random() < 0.5 else "index",
        [[bit, 1 - bit] for (bit,) in ways] if rng.random() < 0.5 else None,
    )


def loop(
    turns: Turns, body: Callable[[Stream], Stream] | None = None, element: Any = sg.int8
) -> tuple[sg.Graph, dict[str, Any]]:
    """The program and its inputs.

    Parameters
    ----------
    turns : Turns
    body : function of a stream, optional
        What happens to the tiles in the loop.
    element : element type
        Of the tiles.
    """
    g = sg.Graph("loop")
    x = g.input("x", element[1, COLS], (sg.dynamic("N", bound=8), sg.ragged("C", bound=LONGEST)))
    enters = g.input("enters", sg.Selector(2), ("S",))
    rounds = sg.dynamic("B", bound=2 * ROUNDS)
    back = g.feedback(element[1, COLS], (rounds, sg.ragged("R", bound=LONGEST)), "back")
    y = sg.reassemble([x, back.fifo(LONGEST * LONGEST * COLS)], enters, rank=1, order=turns.order)
    y = y.flatten(1, 2)
    y = y if body is None else body(y)
    y = y if turns.ways is None else _by_two_ways(y)
    # The selectors have as many as there are chunks, or more, which only a run can check.
    leaves = g.feedback(sg.Selector(2), y.shape[:1], "turns")
    out, again = sg.partition(y, leaves, rank=1)
    leaves.connect(g.input("leaves", sg.Selector(2), ("L",)))
    back.connect(again)
    g.output(out, "y")
    rng = np.random.default_rng(len(turns.leaving))

    def tile() -> Any:
        return rng.integers(-128, 128, (1, COLS)).astype(
            np.int8 if element is sg.int8 else np.float32
        )

    inputs = {
        "x": [[tile() for _ in chunk] for chunk in turns.chunks],
        "enters": np.array(turns.entering, bool).reshape(-1, 2),
        "leaves": np.array(turns.leaving, bool).reshape(-1, 2),
    }
    if turns.ways is not None:
        inputs["ways"] = np.array(turns.ways, bool).reshape(-1, 2)
    return g, inputs


def _by_two_ways(x: Stream) -> Stream:
    """Chunks go one of two ways and are merged as they come."""
    g = x.graph
    chosen = g.feedback(sg.Selector(2, hot=1), x.shape[:1], "choices")
    one, other = sg.partition(x, chosen, rank=1)
    chosen.connect(g.input("ways", sg.Selector(2, hot=1), ("W",)))
    merged, _ = sg.eager_merge([one, other.map(sg.fn.maximum(), other)], rank=1)
    return merged
