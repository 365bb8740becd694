"""Pictures in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from stepgen.draw.picture import Box, Group, Picture

FONT = "Courier"
"""Graphviz knows its widths without a font file; every fixed-width font has the same."""

BOX_SIZE, LABEL_SIZE = 11, 9
"""Sizes of text in points."""

HEAD = f"""  graph [rankdir=TB, nodesep=0.25, ranksep=0.3, fontname="{FONT}", fontsize={BOX_SIZE}];
  node [shape=box, style=rounded, fontname="{FONT}", fontsize={BOX_SIZE}, margin="0.1,0.06"];
  edge [fontname="{FONT}", fontsize={LABEL_SIZE}, arrowsize=0.6];
"""


def dot(picture: Picture) -> str:
    """The picture as a graph in DOT.

    Parameters
    ----------
    picture : Picture

    Returns
    -------
    str
        Boxes have their names as identifiers, groups are clusters in the picture's order.
    """
    lines = [f"digraph {_id(picture.title)} {{", HEAD.rstrip()]
    lines += _clusters(picture)
    lines += [f"  {_id(box.name)} [{_box(box)}];" for box in picture.boxes]
    for arrow in picture.arrows:
        # A space on either side keeps the label clear of its line.
        spaced = (f" {line} " for line in arrow.lines)
        label = f"label={_text(*spaced)}, " if arrow.lines else ""
        free = ", constraint=false, style=dashed" if arrow.back else ""
        ends = f"{_id(arrow.source)} -> {_id(arrow.target)}"
        lines.append(f"  {ends} [{label}id={_id(arrow.name)}{free}];")
    return "\n".join([*lines, "}", ""])


def _box(box: Box) -> str:
    if not box.lines:
        return 'label="", shape=point, width=0.1'
    return f"label={_text(*box.lines)}"


def _clusters(picture: Picture) -> Iterator[str]:
    """Groups within each other, the larger ones outside."""
    order = sorted(range(len(picture.groups)), key=lambda n: -len(picture.groups[n].boxes))
    inner: dict[int, list[int]] = {n: [] for n in order}
    top: list[int] = []
    for place, n in enumerate(order):
        own = {*picture.groups[n].boxes}
        around = [m for m in order[:place] if own <= {*picture.groups[m].boxes}]
        (inner[around[-1]] if around else top).append(n)

    def one(n: int, depth: int) -> Iterator[str]:
        group: Group = picture.groups[n]
        indent = "  " * depth
        yield f"{indent}subgraph cluster_{n} {{"
        yield f"{indent}  label={_text(group.label)}; labeljust=l; style=rounded; margin=12;"
        yield f"{indent}  {' '.join(_id(name) + ';' for name in group.boxes)}"
        for m in inner[n]:
            yield from one(m, depth + 1)
        yield f"{indent}}}"

    for n in top:
        yield from one(n, 1)


def _id(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def _text(*lines: str) -> str:
    """A label, in which a backslash begins an escape."""
    return _id("\\n".join(line.replace("\\", "\\\\") for line in lines))
