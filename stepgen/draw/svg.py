"""Pictures as SVG, legible on light and on dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from stepgen.draw.dot import BOX_SIZE, LABEL_SIZE
from stepgen.draw.layout import Curve, Frame, Placed, Point
from stepgen.draw.picture import Arrow, Box, Group

COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9198a1"),
    "line": ("#818b98", "#7d8590"),
    "box": ("#ffffff", "#212830"),
    "edge": ("#d1d9e0", "#3d444d"),
    "memory": ("#ddf4ff", "#12304f"),
    "port": ("#fff8c5", "#3b2e0a"),
    "paper": ("#ffffff", "#0d1117"),
    "shade": ("#2da44e", "#3fb950"),
    "mark": ("#cf222e", "#ff7b72"),
}
"""By name: on light and on dark."""

_RULES = """.stepgen-graph {
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.stepgen-graph text { fill: var(--ink); text-anchor: middle; stroke: none; }
.stepgen-graph .first { font-weight: 600; }
.stepgen-graph .second, .stepgen-graph .label { fill: var(--soft); }
.stepgen-graph .box rect { fill: var(--box); stroke: var(--line); }
.stepgen-graph .memory rect { fill: var(--memory); }
.stepgen-graph .port rect { fill: var(--port); }
.stepgen-graph .dot circle { fill: var(--line); stroke: none; }
.stepgen-graph .arrow path { fill: none; stroke: var(--line); }
.stepgen-graph .arrow polygon { fill: var(--line); stroke: none; }
.stepgen-graph .box rect.shade { fill: var(--shade); stroke: none; }
.stepgen-graph .box rect.shade ~ text .second { fill: var(--ink); }
.stepgen-graph .box.marked rect:not(.shade) { stroke: var(--mark); stroke-width: 2.5; }
.stepgen-graph .arrow.marked path { stroke: var(--mark); stroke-width: 2.5; }
.stepgen-graph .arrow.marked polygon { fill: var(--mark); }
.stepgen-graph .arrow.back path { stroke-dasharray: 4 3; }
.stepgen-graph .paper { fill: var(--paper); stroke: none; }
.stepgen-graph .halo { fill: var(--paper); stroke: var(--paper); stroke-width: 3px; }
.stepgen-graph .group rect { fill: none; stroke: var(--edge); stroke-dasharray: 5 4; }
.stepgen-graph .group.many rect { fill: var(--paper); stroke-dasharray: none; }
.stepgen-graph .group text { text-anchor: start; fill: var(--soft); font-weight: 600; }
"""
_DARK = "@media (prefers-color-scheme: dark)"


def _variables(which: int) -> str:
    """Definitions of the colours as variables."""
    return "".join(f" --{name}: {both[which]};" for name, both in COLOURS.items())


def _plain(which: int) -> str:
    """The rules with colours in place of variables."""
    return re.sub(r"var\(--(\w+)\)", lambda found: COLOURS[found[1]][which], _RULES)


STYLE = (
    f"\n.stepgen-graph {{{_variables(0)} }}\n"
    f"{_DARK} {{ .stepgen-graph {{{_variables(1)} }} }}\n{_RULES}"
)
"""For pages: one with colours of its own replaces the variables."""

FILE_STYLE = f"\n{_plain(0)}{_DARK} {{\n{_plain(1)}}}\n"
"""For files, which programs draw that know no variables."""

PLAIN = 'fill="#818b98" stroke="none" text-anchor="middle"'
"""Of texts where the style sheet is blocked; lines and frames have theirs from the drawing."""

HALO = 'fill="#ffffff" stroke="#ffffff" stroke-width="3" text-anchor="middle" aria-hidden="true"'
"""Of the copy of a text that keeps lines away from it."""

FULL = 0.6
"""Opacity of the shade of a box that is all coloured: its text stays legible."""

MARGIN = 12
"""Around the picture, in points; copies that stand behind a group reach into it."""


def svg(placed: Placed, *, style: str = FILE_STYLE) -> str:
    """The picture as an SVG element that needs nothing else.

    Parameters
    ----------
    placed : Placed
    style : str
        Its style sheet; empty where the page that it becomes part of has it.

    Returns
    -------
    str
        Boxes and arrows are groups with ``data-name``, the name, and ``data-members``, the names
        of all that they stand for.
    """
    width, height = (round(n + 2 * MARGIN, 1) for n in (placed.width, placed.height))
    picture = placed.picture
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="stepgen-graph" width="{width}" '
        f'height="{height}" viewBox="{-MARGIN} {-MARGIN} {width} {height}" role="img" '
        f'aria-label="{escape(picture.title)}" fill="none" stroke="#818b98">'
    ]
    if style:
        lines.append(f"<style>{style}</style>")
    place = f'x="{-MARGIN}" y="{-MARGIN}" width="{width}" height="{height}"'
    lines.append(f'<rect class="paper" {place}/>')
    # Copies hide what is behind them, so the groups within one come after it.
    groups = zip(picture.groups, placed.groups, strict=False)  # a grid has none
    for group, frame in sorted(groups, key=lambda drawn: -len(drawn[0].boxes)):
        lines += _group(group, frame)
    for arrow in picture.arrows:
        lines += _arrow(arrow, placed.arrows[arrow.name])
    for box in picture.boxes:
        lines += _box(box, placed.boxes[box.name])
    return "\n".join([*lines, "</svg>"])


def _opened(kind: str, look: str, drawn: Box | Arrow) -> Iterator[str]:
    classes = f"{kind} {look}".strip()
    data = f'data-name="{escape(drawn.name)}" data-members="{escape(" ".join(drawn.members))}"'
    yield f'<g class="{classes}" {data}>'
    if drawn.tip:
        yield f"<title>{escape(drawn.tip)}</title>"


def _group(group: Group, frame: Frame) -> Iterator[str]:
    left, top = round(frame.x - frame.width / 2, 1), round(frame.y - frame.height / 2, 1)
    size = f'width="{frame.width:.1f}" height="{frame.height:.1f}" rx="8"'
    yield f'<g class="group{" many" if group.copies > 1 else ""}">'
    if group.copies > 1:
        for n in (2, 1):
            yield f'<rect class="behind" x="{left + 4 * n}" y="{top - 4 * n}" {size}/>'
    yield f'<rect x="{left}" y="{top}" {size}/>'
    place = f'x="{left + 8}" y="{top + 14}" font-size="{BOX_SIZE}"'
    yield f'<text {place} fill="#818b98" stroke="none">{escape(group.label)}</text>'
    yield "</g>"


def _arrow(arrow: Arrow, curve: Curve) -> Iterator[str]:
    yield from _opened("arrow", f"{arrow.look} {'back' if arrow.back else ''}".strip(), arrow)
    yield f'<path d="{_path(curve)}"/>'
    if curve.tip:
        yield f'<polygon points="{_head(curve.points[-1], curve.tip)}"/>'
    if arrow.lines and curve.label:
        # In the colour of the paper first, so that no line crosses it.
        yield _text(curve.label, arrow.lines, LABEL_SIZE, "halo", "halo", HALO)
        yield _text(curve.label, arrow.lines, LABEL_SIZE, "label", "label")
    yield "</g>"


def _box(box: Box, frame: Frame) -> Iterator[str]:
    if not box.lines:
        yield from _opened("dot", box.look, box)
        yield f'<circle cx="{frame.x}" cy="{frame.y}" r="4"/></g>'
        return
    yield from _opened("box", box.look, box)
    x, y = frame.x - frame.width / 2, frame.y - frame.height / 2
    size = f'width="{frame.width:.1f}" height="{frame.height:.1f}" rx="5"'
    yield f'<rect x="{x:.1f}" y="{y:.1f}" {size}/>'
    if box.shade:
        opacity = f'fill-opacity="{FULL * box.shade:.2f}"'
        yield f'<rect class="shade" x="{x:.1f}" y="{y:.1f}" {size} {opacity}/>'
    yield _text((frame.x, frame.y), box.lines, BOX_SIZE, "first", "second")
    yield "</g>"


def _text(
    middle: Point, lines: tuple[str, ...], size: int, first: str, others: str, more: str = PLAIN
) -> str:
    x, y = middle
    top = y - 0.6 * size * (len(lines) - 1) + 0.34 * size
    spans = "".join(
        f'<tspan class="{others if n else first}" x="{x}" y="{top + 1.2 * size * n:.1f}">'
        f"{escape(line)}</tspan>"
        for n, line in enumerate(lines)
    )
    kind = first if first == others else "title"
    return f'<text class="{kind}" font-size="{size}" {more}>{spans}</text>'


def _path(curve: Curve) -> str:
    start, *rest = curve.points
    curves = " ".join(f"{x:g},{y:g}" for x, y in rest)
    return f"M{start[0]:g},{start[1]:g} C{curves}"


def _head(base: Point, tip: Point) -> str:
    dx, dy = tip[0] - base[0], tip[1] - base[1]
    sides = ((base[0] - dy / 2.4, base[1] + dx / 2.4), (base[0] + dy / 2.4, base[1] - dx / 2.4))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (*sides, tip))
