"""The smallest ping-pong buffer between two orders of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, prod

from stepgen.ir.errors import StepError
from stepgen.ir.itensor import Itensor
from stepgen.ir.tile_order import Walk
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class Nest:
    """Two nests of loops: those that both share, outermost first, and what is left of each.

    Attributes
    ----------
    shared : tuple of Walk
        Loops around the buffer.
    source, target : tuple of Walk
        Loops that fill the buffer, and that read it.
    """

    shared: tuple[Walk, ...]
    source: tuple[Walk, ...]
    target: tuple[Walk, ...]


@dataclass(frozen=True)
class Converter:
    """A ping-pong buffer that brings a tensor in another order.

    Attributes
    ----------
    source, target : Itensor
        The two orders.
    buffer : tuple of int
        Extents of what one half of it holds, in elements.
    nest : Nest
        Their loops.
    """

    source: Itensor
    target: Itensor
    buffer: tuple[int, ...]
    nest: Nest

    @property
    def segments(self) -> int:
        """How often the buffer is filled."""
        return prod(_counted(self.nest.shared))

    @property
    def bits(self) -> int:
        """Bits of both halves."""
        return 2 * prod(self.buffer) * self.source.element.bits

    def cycles(self, write: int = 1, read: int = 1) -> tuple[int, int]:
        """Cycles until the first tile comes out, and until the last one is out.

        Parameters
        ----------
        write, read : int
            Cycles from a tile to the next, into the buffer and out of it.
        """
        written = prod(_counted(self.nest.source)) * write
        brought = prod(_counted(self.nest.target)) * read
        return written, written + (self.segments - 1) * max(written, brought) + brought


def converter(source: Itensor, target: Itensor) -> Converter | None:
    """The smallest converter from one order to another; None where a FIFO joins them.

    It shares outer loops as long as both orders bring the same part of the tensor in each of their
    trips; what a part has is buffered.

    Parameters
    ----------
    source, target : Itensor
        Of one tensor; tiles cover it exactly.

    Raises
    ------
    StepError
        If they are of different tensors, or tiles overlap or leave gaps; both types are printed.

    Notes
    -----
    StreamTensor, section 4, shares a dim where both orders tile it equally, at the same place of
    the nest. Loops over tiles of different extents are shared here, too, in steps of the least
    common multiple.

    Examples
    --------
    >>> rows = Itensor((2, 2), "f32", ((4, 2), (4, 2)), ((0,), (1,)))
    >>> tall = Itensor((4, 2), "f32", ((2, 4), (4, 2)), ((0,), (1,)))
    >>> converter(rows, tall).buffer
    (4, 8)
    """
    if source == target:
        return None
    source, target = source.canonical, target.canonical
    if len(source.tile) != len(target.tile) or source.element != target.element:
        raise _mistake("a converter needs two orders of one tensor", source, target)
    nest = share(walks(source), walks(target))
    _check(source, target, nest)
    extents = [
        extent + sum((int(n) - 1) * steps[dim] for n, steps in nest.source)
        for dim, extent in enumerate(source.tile)
    ]
    return Converter(source, target, tuple(extents), nest)


def walks(order: Itensor) -> tuple[Walk, ...]:
    """Loops with their steps in each dim of the data."""
    return tuple(
        (trips, tuple(step * (number in used) for used in order.map))
        for number, (trips, step) in enumerate(order.loops)
    )


def share(source: Sequence[Walk], target: Sequence[Walk]) -> Nest:
    """The outer loops that two nests have in common, cut in two where their steps differ."""
    left, right, shared = list(source), list(target), list[Walk]()
    while left and right:
        (n, s), (m, t) = left[0], right[0]
        if (n, s) == (m, t):
            shared.append((n, s))
            del left[0], right[0]
            continue
        dims = [d for d, step in enumerate(s) if step]
        if len(dims) != 1 or dims != [d for d, step in enumerate(t) if step]:
            break
        if not (isinstance(n, int) and isinstance(m, int)):
            break
        (dim,) = dims
        both = lcm(s[dim], t[dim])
        extent = n * s[dim]
        if extent != m * t[dim] or extent % both or both == extent:
            break
        shared.append((extent // both, _step(both, dim, len(s))))
        left[:1] = _rest(both, s, dim)
        right[:1] = _rest(both, t, dim)
    return Nest(tuple(shared), tuple(left), tuple(right))


def _rest(both: int, steps: tuple[int, ...], dim: int) -> list[Walk]:
    """The part of a loop within a step of `both`."""
    return [(both // steps[dim], steps)] if both > steps[dim] else []


def _step(step: int, dim: int, rank: int) -> tuple[int, ...]:
    return tuple(step * (d == dim) for d in range(rank))


def _counted(loops: Sequence[Walk]) -> list[int]:
    return [n for n, _ in loops if isinstance(n, int)]


def _check(source: Itensor, target: Itensor, nest: Nest) -> None:
    """Check that the loops within the shared ones bring the same tensor, each tile in its place."""
    parts = []
    for order, rest in ((source, nest.source), (target, nest.target)):
        names = [n for n, _ in rest if not isinstance(n, int)]
        if names:
            raise _mistake(
                f"a buffer can't hold a dim of {names[0]} that is known only at run time",
                source,
                target,
            )
        inner = [(int(n), steps) for n, steps in rest]
        part = _as_itensor(order, inner)
        parts.append(part)
        wrong = [kind for kind in part.tilings if kind in ("overlapped", "gapped")]
        if wrong:
            raise _mistake(
                f"a converter needs tiles side by side, but those of {order} are {wrong[0]}",
                source,
                target,
            )
    if parts[0].shape != parts[1].shape:
        raise _mistake("a converter needs two orders of one tensor", source, target)


def _as_itensor(order: Itensor, loops: Sequence[tuple[int, tuple[int, ...]]]) -> Itensor:
    steps = [(n, max((*s, 0)) or 1) for n, s in loops]
    maps = [[i for i, (_, s) in enumerate(loops) if s[d]] for d in range(len(order.tile))]
    return Itensor(order.tile, order.element, steps, maps)


def _mistake(message: str, source: Itensor, target: Itensor) -> StepError:
    return StepError(f"converter at {user_line()}: {message}, not {source} and {target}")
