"""Pictures get a place for everything, and are drawn as valid SVG and DOT."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from stepgen.draw import layout
from stepgen.draw.dot import dot
from stepgen.draw.layout import lay_out
from stepgen.draw.picture import Arrow, Box, Group, Picture
from stepgen.draw.svg import svg

NAMES = ("plain", 'a "quoted" one', "<a & b>", "back\\slash", "é")


def picture(count: int = len(NAMES)) -> Picture:
    names = [*NAMES, *(f"more {n}" for n in range(count - len(NAMES)))]
    boxes = [Box(name, (name, "second line"), tip=name) for name in names] + [Box("fork")]
    arrows = [Arrow(a, b, f"{a}->{b}", ("int8", "[4]")) for a, b in pairwise(names)]
    arrows.append(Arrow(names[-1], names[0], "back", back=True))
    arrows.append(Arrow(names[0], "fork", "to the fork"))
    return Picture("all <kinds>", boxes, arrows, [Group("2 alike", tuple(names[1:3]), 2)])


def check(placed: layout.Placed) -> ElementTree.Element:
    drawn = placed.picture
    assert placed.boxes.keys() == {box.name for box in drawn.boxes}
    assert placed.arrows.keys() == {arrow.name for arrow in drawn.arrows}
    for frame in placed.boxes.values():
        assert 0 <= frame.x - frame.width / 2 <= frame.x + frame.width / 2 <= placed.width + 1
        assert 0 <= frame.y - frame.height / 2 <= frame.y + frame.height / 2 <= placed.height + 1
    root = ElementTree.fromstring(svg(placed))
    assert {e.get("data-name") for e in root.iter() if e.get("data-name")} == {
        *placed.boxes,
        *placed.arrows,
    }
    return root


def test_everything_has_a_place() -> None:
    placed = lay_out(picture())
    assert not placed.note
    root = check(placed)
    texts = {"".join(e.itertext()) for e in root.iter() if e.tag.endswith("tspan")}
    assert texts >= {*NAMES, "second line", "int8", "[4]"}
    (group,) = placed.groups
    for name in NAMES[1:3]:
        assert abs(placed.boxes[name].y - group.y) < group.height / 2


def test_boxes_do_not_overlap() -> None:
    frames = [*lay_out(picture()).boxes.values()]
    for n, a in enumerate(frames):
        for b in frames[:n]:
            apart = abs(a.x - b.x) * 2 >= a.width + b.width - 1
            assert apart or abs(a.y - b.y) * 2 >= a.height + b.height - 1


@pytest.mark.slow
def test_a_larger_picture_is_laid_out_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "SMALL", 0)
    assert lay_out(picture()).boxes == lay_out(picture()).boxes
    assert not lay_out(picture()).note


def test_what_takes_too_long_stands_on_a_grid() -> None:
    placed = lay_out(picture(500), seconds=0.01)
    assert placed.note == (
        "Graphviz found no layout within 0.01 seconds, so boxes stand on a grid in their order"
    )
    check(placed)


def test_dot_has_every_arrow() -> None:
    arrows = [line for line in dot(picture()).splitlines() if '" -> "' in line]
    assert len(arrows) == len(NAMES) + 1


def test_an_empty_picture() -> None:
    assert ElementTree.fromstring(svg(lay_out(Picture("nothing", (), ())))) is not None
