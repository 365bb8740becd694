"""Branches that are alike, such as the experts of a mixture, drawn as one."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from stepgen.draw.picture import Arrow, Group, Picture

LEAST_BOXES = 4
"""Boxes of alike branches together, from which on they are drawn as one."""


def collapsed(picture: Picture) -> Picture:
    """The picture with one branch in place of each set of alike ones, in a group that counts them.

    Branches are alike if no difference is to be seen in their boxes and arrows nor in what they are
    connected to, however far. Within a branch there may be alike branches again.

    Parameters
    ----------
    picture : Picture
        Its boxes and arrows say by ``alike`` what they have in common.

    Returns
    -------
    Picture
        The same one if it has no alike branches.
    """
    while (smaller := _once(picture)) is not None:
        picture = smaller
    return picture


def _once(picture: Picture) -> Picture | None:
    import networkx as nx  # which takes long to import

    colors = _colors(picture)
    sizes: dict[int, int] = defaultdict(int)
    for color in colors.values():
        sizes[color] += 1
    drawn: nx.Graph = nx.Graph()
    drawn.add_nodes_from(name for name, color in colors.items() if sizes[color] > 1)
    drawn.add_edges_from(
        (a.source, a.target) for a in picture.arrows if {a.source, a.target} <= drawn.nodes
    )
    order = {box.name: place for place, box in enumerate(picture.boxes)}
    sets: dict[tuple[int, ...], list[list[str]]] = defaultdict(list)
    for part in nx.connected_components(drawn):
        branch = sorted(part, key=lambda name: (colors[name], order[name]))
        sets[tuple(colors[name] for name in branch)].append(branch)
    many = [
        sorted(branches, key=lambda branch: min(order[name] for name in branch))
        for branches in sets.values()
        if len(branches) > 1 and len(branches) * len(branches[0]) >= LEAST_BOXES
    ]
    return _drawn_once(picture, many, colors) if many else None


def _colors(picture: Picture) -> dict[str, int]:
    """A number for each box, the same for boxes from which all paths look alike."""
    outs, ins = defaultdict(list), defaultdict(list)
    for arrow in picture.arrows:
        outs[arrow.source].append((arrow.alike, arrow.target))
        ins[arrow.target].append((arrow.alike, arrow.source))
    groups = {
        box.name: [g.label for g in picture.groups if box.name in g.boxes] for box in picture.boxes
    }
    colors = _numbered(
        {
            b.name: (b.look, b.alike, len(b.lines), len(b.members), groups[b.name])
            for b in picture.boxes
        }
    )
    classes: dict[int, set[str]] = defaultdict(set)
    for name, color in colors.items():
        classes[color].add(name)

    def seen(name: str) -> str:
        near = (sorted((what, colors[at]) for what, at in ends[name]) for ends in (outs, ins))
        return repr([*near])

    # What a box sees changes only where a neighbour's number did, and the largest part of a class
    # keeps its number: a long chain is looked through once, not once for each of its boxes.
    doubtful = {*colors}
    while doubtful:
        parted: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for name in doubtful:
            parted[colors[name]][seen(name)].add(name)
        for color, parts in parted.items():
            rest = classes[color].difference(*parts.values())
            if rest:
                parts[seen(next(iter(rest)))] |= rest
        doubtful = set()
        for color, parts in parted.items():
            largest = max(parts.values(), key=len)
            for part in parts.values():
                if part is not largest:
                    number = len(classes)
                    classes[color] -= part
                    classes[number] = part
                    colors |= dict.fromkeys(part, number)
                    doubtful |= {at for name in part for _, at in (*outs[name], *ins[name])}
    return colors


def _numbered(keys: dict[str, object]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    return {name: numbers.setdefault(repr(key), len(numbers)) for name, key in keys.items()}


def _drawn_once(
    picture: Picture, sets: Iterable[Sequence[Sequence[str]]], colors: dict[str, int]
) -> Picture:
    stands: dict[str, str] = {}
    groups = []
    for branches in sets:
        kept = branches[0]
        for branch in branches:
            stands |= zip(branch, kept, strict=True)
        groups.append(Group(f"{len(branches)} alike", tuple(kept), len(branches)))
    boxes = {box.name: box for box in picture.boxes}
    members: dict[str, list[str]] = defaultdict(list)
    for box in picture.boxes:
        members[stands.get(box.name, box.name)].extend(box.members)
    arrows, joined = _joined(picture.arrows, stands, colors)
    old = [
        dataclasses.replace(g, boxes=tuple(b for b in g.boxes if b in members))
        for g in picture.groups
    ]
    return Picture(
        picture.title,
        [dataclasses.replace(boxes[name], members=tuple(all_)) for name, all_ in members.items()],
        [dataclasses.replace(a, members=tuple(joined[a.name])) for a in arrows],
        [*(g for g in old if g.boxes), *groups],
    )


def _joined(
    arrows: Collection[Arrow], stands: dict[str, str], colors: dict[str, int]
) -> tuple[list[Arrow], dict[str, list[str]]]:
    """The arrows that are drawn, and the names of all that each stands for."""
    kept: dict[tuple[int, int, str], list[Arrow]] = defaultdict(list)
    others: dict[tuple[int, int, str], list[Arrow]] = defaultdict(list)
    for arrow in arrows:
        ends = arrow.source, arrow.target
        drawn = all(stands.get(end, end) == end for end in ends)
        key = colors[arrow.source], colors[arrow.target], arrow.alike
        (kept if drawn else others)[key].append(arrow)
    joined = {a.name: list(a.members) for same in kept.values() for a in same}
    for key, same in others.items():
        for place, arrow in enumerate(same):
            joined[kept[key][place % len(kept[key])].name].extend(arrow.members)
    return [arrow for arrow in arrows if arrow.name in joined], joined
