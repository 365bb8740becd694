"""Drawings of the pages about ideas."""

from __future__ import annotations

import stepgen as sg

from ..compile.lower import lower
from ..draw.layout import Curve, Frame, Placed, lay_out
from ..draw.picture import Arrow, Box, Group, Picture
from ..draw.svg import svg
from ..ir.wire import DONE
from ..semantics.tokens import encode

CONTENT = [[[1, 2], [3]], [[4], [5, 6, 7]]]
"""What the drawn stream carries: two groups of two and two groups of rows."""

WIDTH, HEIGHT, GAP = 58.0, 34.0, 18.0
"""Of a drawn token, and between tokens, in points."""


def tokens() -> str:
    """The tokens of a stream of rank 2, with frames around the groups that their stops close."""
    rank = 2
    sent = encode(CONTENT, rank)
    boxes, frames, groups, around = [], {}, [], []
    first = {level: 0 for level in range(1, rank + 1)}
    for number, token in enumerate(sent):
        name = f"token_{number}"
        lines = ("D", "end") if token.kind == DONE else (str(token.value), f"stop {token.stop}")
        boxes.append(Box(name, lines, "memory" if token.stop else ""))
        middle = _middle(number)
        frames[name] = Frame(middle, 2.6 * HEIGHT, WIDTH, HEIGHT)
        for level in range(1, token.stop + 1):
            members = tuple(f"token_{n}" for n in range(first[level], number + 1))
            groups.append(Group(f"level {level}", members))
            around.append(_around(first[level], number, level))
            first[level] = number + 1
    width, height = _middle(len(sent) - 1) + WIDTH / 2, 4.0 * HEIGHT
    arrow = Arrow("token_0", f"token_{len(sent) - 1}", "time", ("time",))
    y = 4.1 * HEIGHT
    line = Curve(((0, y), (20, y), (width - 20, y), (width - 6, y)), (width, y), (width / 2, y))
    picture = Picture("The tokens of a stream", boxes, [arrow], groups)
    return svg(Placed(picture, width, height + 8, frames, {"time": line}, tuple(around)))


def _middle(number: int) -> float:
    return number * (WIDTH + GAP) + WIDTH / 2 + GAP


def _around(first: int, last: int, level: int) -> Frame:
    """The frame of a group; one of a higher level goes round those of the lower ones."""
    left, right = _middle(first) - WIDTH / 2, _middle(last) + WIDTH / 2
    space = 2.5 + 4.0 * (level - 1)
    top = 2.6 * HEIGHT - HEIGHT / 2 - 20.0 * level
    bottom = 2.6 * HEIGHT + HEIGHT / 2 + 4 + 5.0 * (level - 1)
    width, height = right - left + 2 * space, bottom - top
    return Frame((left + right) / 2, (top + bottom) / 2, width, height)


def compared() -> str:
    """What `stepgen test` compares with what."""
    boxes = [
        Box("program", ("program", "graph and inputs"), "port"),
        Box("reference", ("reference", "numpy")),
        Box("table", ("design table", "units, channels, depths")),
        Box("model", ("cycle model", "compiled Python")),
        Box("circuit", ("circuit", "Amaranth, Verilog")),
        Box("metrics", ("metrics", "formulas")),
        Box("simulation", ("simulation", "Verilator, memory, stalls")),
        Box("values", ("every value", "bit for bit"), "memory"),
        Box("bytes", ("off-chip bytes",), "memory"),
        Box("cycles", ("every cycle", "on every channel"), "memory"),
    ]
    ways = (
        ("program", "reference"),
        ("program", "table"),
        ("program", "metrics"),
        ("table", "model"),
        ("table", "circuit"),
        ("circuit", "simulation"),
        ("reference", "values"),
        ("simulation", "values"),
        ("simulation", "cycles"),
        ("model", "cycles"),
        ("metrics", "bytes"),
        ("simulation", "bytes"),
    )
    arrows = [Arrow(a, b, f"{a}_{b}") for a, b in ways]
    return svg(lay_out(Picture("What is compared with what", boxes, arrows)))


def centered(rows: int = 6, width: int = 64) -> sg.Graph:
    """Rows minus their largest element: two ways that meet again."""
    g = sg.Graph("center")
    x = g.input("x", sg.int8[1, width], (rows,))
    g.output(x.map(sg.fn.sub(), x.map(sg.fn.row_max())), "y")
    return g


def reconvergent() -> str:
    """The circuit of `centered`, with the depths of its FIFOs."""
    design = lower(centered())
    names = {"map_0": ("map_0", "row_max"), "map_1": ("map_1", "sub"), "x_fork": ()}
    boxes = [
        Box(unit.name, names.get(unit.name, (unit.name,)), "" if unit.name in names else "port")
        for unit in design.units
    ]
    arrows = [
        Arrow(
            design.producers[c.name].name,
            design.consumers[c.name].name,
            c.name,
            (c.name, f"depth {c.depth}"),
        )
        for c in design.channels
    ]
    return svg(lay_out(Picture("Two ways that meet again", boxes, arrows)))


TILE = 30.0
"""Points of a row and of half a column of elements in the drawing of orders."""


def orders() -> str:
    """Two orders of one tensor: which tiles come when; coloured, what a converter holds."""
    by_columns = sg.Itensor((4, 2), "f32", ((4, 2), (2, 4)), ((1,), (0,)))
    twice = sg.Itensor((4, 2), "f32", ((4, 2), (2, 1), (2, 4)), ((2,), (0,)))
    boxes, frames, groups, around = [], {}, [], []
    left = 0.0
    for name, order in (("from", by_columns), ("to", twice)):
        came: dict[tuple[int, ...], list[str]] = {}
        for number, at in enumerate(order.offsets()):
            came.setdefault(at, []).append(str(number))
        members: list[str] = []
        for (row, col), numbers in came.items():
            box = Box(f"{name}_{row}_{col}", (", ".join(numbers),), "" if col else "memory")
            (high, wide), members = order.tile, [*members, box.name]
            middle = left + (col + wide / 2) * TILE, (row + high / 2) * TILE + 40
            frames[box.name] = Frame(*middle, wide * TILE - 4, high * TILE - 4)
            boxes.append(box)
        down, across = (extent * TILE for extent in order.shape)
        trips, steps = (", ".join(str(loop[i]) for loop in order.loops) for i in (0, 1))
        groups.append(Group(f"[{trips}]*[{steps}]", tuple(members)))
        around.append(Frame(left + across / 2, down / 2 + 28, across + 8, down + 32))
        left += across + 60
    picture = Picture("Two orders of a tensor of 8x8 in tiles of 4x2", boxes, [], groups)
    return svg(Placed(picture, left - 60, 8 * TILE + 48, frames, {}, tuple(around)))
