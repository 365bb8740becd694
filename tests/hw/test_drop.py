import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.drop.params import Drop
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import predict


def drop_design(draw, rank, flag_rank, hold):
    return lone(
        Drop(hold),
        [draw.channel("x", 2 + rank), draw.channel("flags", flag_rank, lanes=1, bits=1)],
        [draw.channel("y", 2 + rank)],
    )


@pytest.mark.parametrize("seed", some_slow(range(36), 6))
def test_filters(seed):
    draw = Draw(seed)
    rank, share = draw.one((0, 1, 1, 2)), draw.one((0.0, 0.2, 0.5, 0.8, 1.0))
    slices, rows = draw.one((1, 3)), draw.one(((1,), (0, 1, 2)))
    flags = []

    def leaf():
        flags.append(draw.flags(1, share))
        return (draw.tile(draw.one(rows), slices), flags[-1])

    dims = [(0, 1, 4, 20)] + [(0, 1, 2, 3, 5)] * rank
    pairs = draw.nested(dims, leaf)

    def part(items, depth, index):
        if depth:
            return [part(i, depth - 1, index) for i in items]
        return items[index]

    def filtered(items, depth):
        if depth == 0:
            return [tile for tile, flag in items if not flag[0]]
        return [filtered(i, depth - 1) for i in items]

    # The structure of the flags means nothing: here that of x, or none, or other groups.
    flag_rank = draw.one((rank, 0, 1))
    flag_list = list(flags)
    if flag_rank == rank:
        flag_list = part(pairs, rank + 1, 1)
    elif flag_rank == 1:
        cut = len(flags) // 2
        flag_list = [[], flag_list[:cut], [], flag_list[cut:], []]
    kept = filtered(pairs, rank)
    design = drop_design(draw, rank, flag_rank, rank > 0 or draw.one((True, False)))
    verify(
        design,
        {
            "s_x": to_beats(part(pairs, rank + 1, 0), 2 + rank),
            "s_flags": to_beats(flag_list, flag_rank, bool),
        },
        {"d_y": to_beats(kept, 2 + rank)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_empty_flags_leave_a_deep_channel_while_x_is_late(seed):
    draw = Draw(seed)
    groups = [[draw.flags(1, 0.5) for _ in range(draw.one((0, 0, 0, 1, 2)))] for _ in range(30)]
    flags = [flag for group in groups for flag in group]
    rows = [draw.tile(1, 1) for _ in flags]
    design = lone(
        Drop(draw.one((True, False))),
        [draw.channel("x", 2), Channel("flags", 1, 1, 1, depth=draw.one((65, 80)))],
        [Channel("y", 2, 8, 2)],
    )
    kept = [row for row, flag in zip(rows, flags, strict=True) if not flag[0]]
    verify(
        design,
        {"s_x": to_beats(rows, 2), "s_flags": to_beats(groups, 1, bool)},
        {"d_y": to_beats(kept, 2)},
        Stalls(seed, {"s_x": 0.9, "s_flags": draw.one((0.0, 0.6)), "d_y": draw.one((0.2, 0.95))}),
    )


def plain(flags, hold):
    """Single rows of two beats, in a group with `hold`; deep channels."""
    draw, rank = Draw(9), 3 if hold else 2
    rows = [draw.tile(1, 2) for _ in flags]
    design = lone(
        Drop(hold),
        [Channel("x", 2, 8, rank, depth=5), Channel("flags", 1, 1, 1, depth=5)],
        [Channel("y", 2, 8, rank)],
    )
    return design, {"s_x": to_beats([rows] if hold else rows, rank)}


@pytest.mark.parametrize("hold", [True, False])
def test_drops_at_full_speed(hold):
    flags = [Draw(0).flags(1, 0.0)] * 10
    for k in (2, 3, 4, 8):
        flags[k] = ~flags[k]
    design, inputs = plain(flags, hold)
    inputs["s_flags"] = to_beats([flags], 1, bool)
    pops = predict(design, inputs).pops["x"]
    assert pops[-1] - pops[0] == 2 * len(flags)


@pytest.mark.parametrize(("count", "wrong"), [(3, True), (4, False), (5, True)])
def test_flags_that_do_not_fit(count, wrong):
    draw = Draw(0)
    design, inputs = plain([draw.flags(1, 0.5) for _ in range(4)], True)
    inputs["s_flags"] = to_beats([[draw.flags(1, 0.0) for _ in range(count)]], 1, bool)
    assert raises_error(design, inputs, limit=50) == wrong


@pytest.mark.parametrize(
    ("hold", "x", "flags", "y", "message"),
    [
        (False, 1, (1, 1, 1), 1, "x must be a stream of tiles, of at least rank 2, not 1"),
        (False, 3, (1, 1, 1), 3, "with x of rank 3 it needs hold, for the last beat of a group"),
        (True, 3, (2, 1, 1), 3, "flags must be of rank 1 "),
        (True, 3, (1, 8, 1), 3, "flags must be of rank 1 "),
        (True, 3, (1, 1, None), 3, "flags must be of rank 0 "),
        (True, 3, (1, 1, 1), 2, "y must be of rank 3 "),
    ],
)
def test_what_can_not_be_built(hold, x, flags, y, message):
    xs = [Channel("x", 2, 8, x), Channel("flags", *flags)]
    with pytest.raises(StepError, match=f"^design lone: drop dut: {message}"):
        lone(Drop(hold), xs, [Channel("y", 2, 8, y)])
