"""Independent models of the operators on nested lists, written from the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Nested = list[Any]


def at_dim(x: Nested, rank: int, dim: int, change: Callable[[Nested], Nested]) -> Nested:
    """Replace every list that is the dim D_dim of a rank-`rank` stream."""
    if dim == rank:
        return change(x)
    return [at_dim(item, rank - 1, dim, change) for item in x]


def groups(x: Nested, rank: int, level: int) -> Iterator[Any]:
    """The rank-`level` groups of a stream in order; level 0 are its elements."""
    for item in x:
        if rank == level:
            yield item
        else:
            yield from groups(item, rank - 1, level)


def leaves(group: Any, level: int) -> list[Any]:
    """The elements of a rank-`level` group."""
    return [group] if level == 0 else [leaf for item in group for leaf in leaves(item, level - 1)]


def on_groups(x: Nested, rank: int, level: int, change: Callable[[Any], Any]) -> Nested:
    """Replace every rank-`level` group."""
    return at_dim(x, rank, level, lambda items: [change(item) for item in items])


def flatten(x: Nested, rank: int, lo: int, hi: int) -> Nested:
    def join(items: Nested) -> Nested:
        for _ in range(hi - lo):
            items = [inner for item in items for inner in item]
        return items

    return at_dim(x, rank, hi, join)


def reshape(x: Nested, rank: int, dim: int, chunk: int, pad: Any) -> Nested:
    def cut(items: Nested) -> Nested:
        rows = [items[i : i + chunk] for i in range(0, len(items), chunk)]
        return [row + [pad] * (chunk - len(row)) for row in rows]

    return at_dim(x, rank, dim, cut)


def promote(x: Nested, rank: int, level: int) -> Nested:
    if level == rank + 1:
        return [x] if x else []
    return on_groups(x, rank, level, lambda item: [item])


def expand(x: Nested, ref: Nested, rank: int, inner: int) -> Nested:
    """Every element of x takes the place of each element of its group of ref."""
    items = iter(leaves(x, rank + 1))

    def fill(group: Any) -> Any:
        item = next(items)
        if inner == 0:
            return item
        return on_groups(group, inner - 1, 0, lambda _: item)

    return on_groups(ref, rank, inner, fill)


def partition(x: Nested, rank: int, sel: list[list[int]], inner: int, n: int) -> list[Nested]:
    """`sel` lists the consumers of each chunk in order."""
    chunks = list(groups(x, rank, inner))
    return [[c for c, bits in zip(chunks, sel, strict=True) if i in bits] for i in range(n)]


def reassemble(xs: list[Nested], sel: Nested, rank: int) -> Nested:
    """`sel` is nested, its elements are lists of inputs."""
    queues = [iter(x) for x in xs]
    return on_groups(sel, rank, 0, lambda bits: [next(queues[i]) for i in sorted(bits)])
