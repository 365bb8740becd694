"""A picture of a graph as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Box:
    """One box.

    Attributes
    ----------
    name : str
        Unique in the picture.
    lines : tuple of str
        Its text: the first line stands out. None for a dot, where an arrow forks.
    look : str
        A word for how it looks, a class of its style.
    alike : str
        What it has in common with boxes that may be drawn as one; by default its second line.
    tip : str
        What a viewer shows on hovering.
    members : tuple of str
        The names of all boxes that it stands for; by default its own.
    shade : float
        How much of it is coloured, from 0 to 1.
    """

    name: str
    lines: tuple[str, ...] = ()
    look: str = ""
    alike: str = ""
    tip: str = ""
    members: tuple[str, ...] = ()
    shade: float = 0.0

    def __post_init__(self) -> None:
        if not self.members:
            object.__setattr__(self, "members", (self.name,))
        if not self.alike:
            object.__setattr__(self, "alike", "\n".join(self.lines[1:]))


@dataclass(frozen=True)
class Arrow:
    """One arrow.

    Attributes
    ----------
    source, target : str
        Names of boxes.
    name : str
        What it stands for, unique in the picture.
    lines : tuple of str
        Its label.
    alike : str
        As for a box; by default its label.
    tip : str
        What a viewer shows on hovering.
    back : bool
        Whether it closes a cycle, and so has no say in which box is above which.
    members : tuple of str
        The names of all arrows that it stands for; by default its own.
    look : str
        As for a box.
    """

    source: str
    target: str
    name: str
    lines: tuple[str, ...] = ()
    alike: str = ""
    tip: str = ""
    back: bool = False
    members: tuple[str, ...] = ()
    look: str = ""

    def __post_init__(self) -> None:
        if not self.members:
            object.__setattr__(self, "members", (self.name,))
        if not self.alike:
            object.__setattr__(self, "alike", "\n".join(self.lines))


@dataclass(frozen=True)
class Group:
    """A frame around boxes.

    Attributes
    ----------
    label : str
        What stands at its edge.
    boxes : tuple of str
        Names of all boxes in it, also of those in groups within it.
    copies : int
        Number of alike branches that it stands for; 1 for a plain frame.
    """

    label: str
    boxes: tuple[str, ...]
    copies: int = 1


@dataclass(frozen=True)
class Picture:
    """Boxes, arrows between them, and groups, which lie within or outside each other."""

    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    groups: Sequence[Group] = ()


def shaded(picture: Picture, shares: Mapping[str, float], what: str = "busy") -> Picture:
    """The picture with coloured boxes; one that stands for several has their mean.

    Parameters
    ----------
    picture : Picture
    shares : mapping of str to float
        By name of a box, how much of it is coloured, from 0 to 1.
    what : str
        What the share is, for the tip.
    """
    boxes = []
    for box in picture.boxes:
        found = [shares[name] for name in box.members if name in shares]
        if found:
            share = sum(found) / len(found)
            box = replace(box, shade=share, tip=f"{box.tip}, {what} {share:.0%}")
        boxes.append(box)
    return replace(picture, boxes=boxes)
