"""Alike branches are drawn once, whatever they are, and nothing else is."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from stepgen.draw.alike import collapsed
from stepgen.draw.picture import Arrow, Box, Picture


def drawn(rng: random.Random, branches: int, length: int, odd: int) -> Picture:
    """A fan of chains between two boxes, of which one may have another box at a place."""
    boxes = [Box("deal", ("deal",)), Box("join", ("join",))]
    arrows = []
    for b in range(branches):
        chain = ["deal", *(f"c{b}_{n}" for n in range(length)), "join"]
        for n, name in enumerate(chain[1:-1]):
            kind = "other" if (b, n) == (0, odd) else f"kind {n}"
            boxes.append(Box(name, (name, kind)))
        for source, target in pairwise(chain):
            arrows.append(Arrow(source, target, f"{source}-{target}"))
    rng.shuffle(boxes)
    rng.shuffle(arrows)
    return Picture("fan", boxes, arrows)


@pytest.mark.parametrize("seed", range(30))
def test_a_fan_of_alike_chains(seed: int) -> None:
    rng = random.Random(seed)
    branches, length = rng.randint(2, 9), rng.randint(2, 6)
    picture = drawn(rng, branches, length, odd=-1)
    small = collapsed(picture)
    assert len(small.boxes) == 2 + length
    assert [g.copies for g in small.groups] == [branches]
    for before, after in ((picture.boxes, small.boxes), (picture.arrows, small.arrows)):
        members = [name for one in after for name in one.members]
        assert sorted(members) == sorted(one.name for one in before)
    kinds = {b.name: b.alike for b in picture.boxes}
    assert all(kinds[m] == b.alike for b in small.boxes for m in b.members)


@pytest.mark.parametrize("seed", range(30))
def test_a_chain_that_differs_stays(seed: int) -> None:
    rng = random.Random(seed)
    branches, length = rng.randint(3, 9), rng.randint(2, 6)
    small = collapsed(drawn(rng, branches, length, odd=rng.randrange(length)))
    assert len(small.boxes) == 2 + 2 * length
    assert [g.copies for g in small.groups] == [branches - 1]


def test_branches_within_branches() -> None:
    boxes = [Box("top", ("top",))]
    arrows = []
    for b in range(3):
        boxes += [Box(f"hub{b}", ("h", "hub")), Box(f"end{b}", ("e", "end"))]
        arrows.append(Arrow("top", f"hub{b}", f"t{b}"))
        for n in range(4):
            boxes.append(Box(f"leaf{b}_{n}", ("l", "leaf")))
            arrows.append(Arrow(f"hub{b}", f"leaf{b}_{n}", f"a{b}{n}"))
            arrows.append(Arrow(f"leaf{b}_{n}", f"end{b}", f"b{b}{n}"))
    small = collapsed(Picture("tree", boxes, arrows))
    assert [len(b.members) for b in small.boxes] == [1, 3, 3, 12]
    assert sorted(g.copies for g in small.groups) == [3, 4]


def test_what_is_single_stays_as_it_is() -> None:
    boxes = [Box(f"b{n}", ("x", "same")) for n in range(5)]
    arrows = [Arrow(f"b{n}", f"b{n + 1}", f"a{n}") for n in range(4)]
    picture = Picture("chain", boxes, arrows)
    assert collapsed(picture) is picture
