"""Drawings of the pages about ideas."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.draw.layout import Curve, Frame, Placed, lay_out
from stepgen.draw.picture import Arrow, Box, Group, Picture
from stepgen.draw.svg import svg
from stepgen.ir.converter import Converter, converter
from stepgen.ir.wire import DONE
from stepgen.semantics.tokens import encode

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


STAMPED = "x_to_map_1"
"""The FIFO of `centered` in which rows wait for their largest element."""


def stamped(depth: int) -> Experiment:
    """A run of `centered` in which that FIFO has a depth of its own."""
    rows, width = 5, 8
    inputs = {"x": np.zeros((rows, 1, width), np.int8)}
    return Experiment(centered(rows, width), inputs, depths={STAMPED: depth})


def time_stamps(depth: int = 5) -> str:
    """When the beats of a FIFO are pushed and popped, and when the first one's slot is free."""
    run = stamped(depth)
    pushes, pops = (
        [int(cycle) for cycle in moves[STAMPED]]
        for moves in (run.prediction.pushes, run.prediction.pops)
    )
    latency, last = run.design.channel[STAMPED].latency, pops[-1]
    drawn = _Drawn([], {}, [], [])
    lines = (("cycle", "", 0, range(last + 1)), ("pushed", "memory", 66, pushes))
    for name, look, y, cycles in (*lines, ("popped", "memory", 172, pops)):
        boxes = [f"{name}_{number}" for number in range(len(cycles))]
        for number, cycle in enumerate(cycles):
            at = Frame((cycle + 0.5) * CYCLE, 34.0 + y, CYCLE - 4, ROW)
            drawn.box(boxes[number], str(number), look, at)
        drawn.group(name if name == "cycle" else f"beats that are {name}", boxes)
    ends = [
        Arrow("pushed_0", "popped_0", "beat", (f"visible from {pushes[0]} + {latency} on",)),
        Arrow("popped_0", f"pushed_{depth}", "slot", (f"slot free from {pops[0]} + 1 on",)),
    ]
    high, low = 100.0 + ROW / 2 + 6, 206.0 - ROW / 2 - 26
    begin, end = (pushes[0] + 0.5) * CYCLE, (pops[0] + 0.3) * CYCLE
    freed = (pops[0] + 0.7) * CYCLE, (pushes[depth] + 0.5) * CYCLE
    arrows = {
        "beat": _slanted((begin, high), (end, low), (begin + 75, low - 10)),
        "slot": _slanted((freed[0], low), (freed[1], high), (freed[1] + 90, (high + low) / 2)),
    }
    title = f"Time stamps of a FIFO of {depth} beats"
    picture = Picture(title, drawn.boxes, ends, drawn.groups)
    size = (last + 1) * CYCLE, 206.0 + ROW
    return svg(Placed(picture, *size, drawn.frames, arrows, tuple(drawn.around)))


TILE = 30.0
"""Points of a row and of a column of elements in the drawing of orders."""
BETWEEN, CYCLE, ROW = 44.0, 35.0, 26.0
"""Points between what stands side by side, of a tile in its cycle, and of its height there."""
HALVES = ("memory", "port")
"""How the two halves of a buffer look."""


def orders() -> str:
    """Two orders of one tensor, the buffer between them, and which tile moves in which cycle.

    Tiles have the colour of the half that holds them.
    """
    by_columns = sg.Itensor((4, 2), "f32", ((4, 2), (2, 4)), ((1,), (0,)))
    twice = sg.Itensor((4, 2), "f32", ((4, 2), (2, 1), (2, 4)), ((2,), (0,)))
    least = converter(by_columns, twice)
    assert least is not None
    high, wide = (extent * TILE for extent in least.buffer)
    drawn = _Drawn([], {}, [], [])
    left = drawn.tensor("from", by_columns, least.buffer[1], 0.0)
    halves = []
    for number, look in enumerate(HALVES):
        halves.append(f"half_{number}")
        middle = left + BETWEEN + (number + 0.5) * wide
        drawn.box(
            halves[-1], f"half {number}", look, Frame(middle, 40 + high / 2, wide - 4, high - 4)
        )
    drawn.group("converter", halves)
    right = left + 2 * BETWEEN + 2 * wide
    width = drawn.tensor("to", twice, least.buffer[1], right)
    moves = dict(zip(("written", "read"), tile_cycles(least), strict=True))
    for line, (name, cycles) in enumerate(moves.items()):
        tiles, per_segment = [], len(cycles) // least.segments
        for number, cycle in enumerate(cycles):
            tiles.append(f"{name}_{number}")
            look = HALVES[number // per_segment % 2]
            at = Frame((cycle + 0.5) * CYCLE, high + 104 + line * 2.2 * ROW, CYCLE - 4, ROW)
            drawn.box(tiles[-1], str(number), look, at)
        drawn.group(f"{name}, a tile in each cycle", tiles)
    arrows = {
        "in": _straight(left + 4, left + BETWEEN - 4, 40 + high / 2),
        "out": _straight(right - BETWEEN + 4, right - 4, 40 + high / 2),
    }
    ends = [
        Arrow("from_0_6", "half_0", "in", ("written",)),
        Arrow("half_1", "to_0_0", "out", ("read",)),
    ]
    title = "Two orders of a tensor of 8x8 in tiles of 4x2, and the converter between them"
    picture = Picture(title, drawn.boxes, ends, drawn.groups)
    return svg(
        Placed(
            picture,
            max(width, (least.cycles()[1]) * CYCLE),
            high + 114 + 3 * ROW,
            drawn.frames,
            arrows,
            tuple(drawn.around),
        )
    )


def tile_cycles(least: Converter) -> tuple[list[int], list[int]]:
    """The cycle in which each tile is written into a half of a buffer, and read from it.

    A half is written when all that it held is read, and read when all of it is written.
    """
    written, brought = (
        math.prod(int(n) for n, _ in part) for part in (least.nest.source, least.nest.target)
    )
    into: list[int] = []
    out: list[int] = []
    for segment in range(least.segments):
        free = out[(segment - 1) * brought - 1] + 1 if segment > 1 else 0
        begin = max(free, into[-1] + 1 if into else 0)
        into += range(begin, begin + written)
        begin = max(into[-1], out[-1] if out else 0) + 1
        out += range(begin, begin + brought)
    return into, out


def _straight(left: float, right: float, y: float) -> Curve:
    """An arrow to the right."""
    tip = right - 8
    return Curve(
        ((left, y), (left + 8, y), (tip - 8, y), (tip, y)), (right, y), ((left + right) / 2, y - 10)
    )


def _slanted(
    start: tuple[float, float], tip: tuple[float, float], label: tuple[float, float]
) -> Curve:
    """An arrow upwards or downwards."""
    down = 8.0 if tip[1] > start[1] else -8.0
    near = (tip[0], tip[1] - down)
    points = (start, (start[0], start[1] + down), (near[0], near[1] - down), near)
    return Curve(points, tip, label)


@dataclass
class _Drawn:
    """What is drawn, and where."""

    boxes: list[Box]
    frames: dict[str, Frame]
    groups: list[Group]
    around: list[Frame]

    def box(self, name: str, line: str, look: str, at: Frame) -> None:
        """Add a box."""
        self.boxes.append(Box(name, (line,), look))
        self.frames[name] = at

    def group(self, label: str, names: list[str]) -> None:
        """Add a frame around boxes."""
        within = [self.frames[name] for name in names]
        left, top = min(f.x - f.width / 2 for f in within), min(f.y - f.height / 2 for f in within)
        right, low = max(f.x + f.width / 2 for f in within), max(f.y + f.height / 2 for f in within)
        top -= 20
        self.groups.append(Group(label, tuple(names)))
        width, height = right - left + 8, low - top + 8
        self.around.append(Frame((left + right) / 2, (top + low) / 2, width, height))

    def tensor(self, name: str, order: sg.Itensor, segment: int, left: float) -> float:
        """Add the tiles of a tensor, with the places at which they come; the right edge."""
        came: dict[tuple[int, ...], list[str]] = {}
        for number, at in enumerate(order.offsets()):
            came.setdefault(at, []).append(str(number))
        high, wide = order.tile
        for (row, col), numbers in came.items():
            middle = left + (col + wide / 2) * TILE, (row + high / 2) * TILE + 40
            place = Frame(*middle, wide * TILE - 4, high * TILE - 4)
            self.box(f"{name}_{row}_{col}", ", ".join(numbers), HALVES[col // segment % 2], place)
        trips, steps = (", ".join(str(loop[i]) for loop in order.loops) for i in (0, 1))
        dims = ", ".join(f"d{loops[0]}" for loops in order.map)
        self.group(f"[{trips}]*[{steps}] -> ({dims})", [f"{name}_{r}_{c}" for r, c in came])
        return left + order.shape[1] * TILE
