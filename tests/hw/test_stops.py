import pytest
from harness import beats, check, lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.promote.params import Promote
from stepgen.ir.stalls import Stalls


def test_fork():
    x = beats([([1, 2], 0), ([3, 4], 1), ("bare", 1, 2)], 2)
    c = [Channel(n, 2, 8, 2, depth=d) for n, d in (("x", 2), ("a", 5), ("b", 100))]
    design = lone(Fork(2), c[:1], c[1:])
    stalls = Stalls(3, {"s_x": 0.3, "d_a": 0.5, "d_b": 0.2})
    check(design, {"s_x": x}, {"d_a": x, "d_b": x}, stalls)
    check(design, {"s_x": x}, {"d_a": x, "d_b": x})


@pytest.mark.parametrize("depth", [2, 3, 70])
def test_flatten_hold(depth):
    x = beats(
        [
            ([1, 2], 0),
            ([3, 4], 1),
            ("bare", 1, 1),
            ([5, 6], 1),
            ("bare", 1, 2),
            ("bare", 1, 1),
            ("bare", 1, 2),
            ("bare", 2, 3),
            ([7, 7], 3),
        ],
        2,
    )
    y = beats(
        [([1, 2], 0), ([3, 4], 0), ([5, 6], 1), ("bare", 1, 1), ("bare", 1, 2), ([7, 7], 2)], 2
    )
    design = lone(
        Flatten(lo=0, hi=1, hold=True),
        [Channel("x", 2, 8, 3, depth=depth)],
        [Channel("y", 2, 8, 2, depth=depth)],
    )
    check(design, {"s_x": x}, {"d_y": y})
    check(design, {"s_x": x}, {"d_y": y}, Stalls(1, {"s_x": 0.5, "d_y": 0.5}))


def test_promote_outermost():
    x = beats([([1, 2], 0), ([3, 4], 1), ("bare", 1, 1)], 2)
    y = beats([([1, 2], 0), ([3, 4], 1), ("bare", 1, 2)], 2)
    design = lone(
        Promote(level=2, outermost=True), [Channel("x", 2, 8, 1)], [Channel("y", 2, 8, 2)]
    )
    check(design, {"s_x": x}, {"d_y": y})
    check(design, {"s_x": x}, {"d_y": y}, Stalls(1, {"s_x": 0.5, "d_y": 0.5}))


@pytest.mark.parametrize("depth", some_slow([2, 5, 64, 65, 4, 80], 4))
def test_fifo_streams(depth):
    rows = [([i % 100, 1], 0) for i in range(120)]
    x = beats(rows, 2)
    design = lone(
        Promote(level=0, outermost=False),
        [Channel("x", 2, 8, 1, depth=depth)],
        [Channel("y", 2, 8, 2, depth=depth)],
    )
    y = beats([(d, 1) for d, _ in rows], 2)
    for seed, p in enumerate([0.0, 0.3, 0.7]):
        check(design, {"s_x": x}, {"d_y": y}, Stalls(seed, {"s_x": p, "d_y": 0.7 - p}))
