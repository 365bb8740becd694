"""Readings of buffers that bring tiles in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from stepgen.ir.converter import walks
from stepgen.ir.dtypes import Buffer
from stepgen.ir.errors import StepError
from stepgen.ir.itensor import Itensor, Loop
from stepgen.ir.ordering import order_of
from stepgen.ir.stream import Stream
from stepgen.ir.tile_order import TileOrder, Unknown, Walk, merged
from stepgen.ir.where import user_line


def reading_of(buffers: Stream, order: Itensor) -> tuple[list[int], list[int]]:
    """Shape and stride with which each buffer is read, for a stream of an order.

    Raises
    ------
    StepError
        If the stream that is stored has another tensor, or other loops around its buffers.
    """
    what = f"streamify at {user_line()}"
    if not isinstance(buffers.dtype, Buffer):
        raise StepError(f"{what}: {buffers.name} must be a stream of buffers, not {buffers}")
    stored = order_of(buffers)
    had = stored.itensor()
    if (had.tile, had.element, had.shape) != (order.tile, order.element, order.shape):
        raise StepError(
            f"{what}: {buffers.name} holds {had}, whose tiles can't be read as {order}: "
            f"sg.convert_order makes other tiles"
        )
    place = len(stored.dims) - stored.held
    outer, wanted = _outer(stored, place), order.canonical
    shared = Itensor(order.tile, order.element, *outer).canonical
    count = len(shared.loops)
    for number in range(count):
        if wanted.loops[number : number + 1] != shared.loops[number : number + 1] or [
            number in used for used in wanted.map
        ] != [number in used for used in shared.map]:
            raise StepError(
                f"{what}: around the buffers of {buffers.name} the loops are those of {shared}, "
                f"and the outer loops of {order} are others"
            )
    inner = walks(wanted)[count:]
    held = [loop for dim in stored.dims[place:] for loop in dim if loop[0] != 1]
    try:
        loops = strides(held, inner) or [(1, 0)]
    except Unknown as reason:
        raise StepError(f"{what}: {buffers.name} holds {had}, and of {order} {reason}") from None
    return [n for n, _ in loops], [stride for _, stride in loops]


def _outer(stored: TileOrder, place: int) -> tuple[list[Loop], list[list[int]]]:
    """Loops and map of the dims around the buffers."""
    around = [loop for dim in stored.dims[:place] for loop in dim]
    loops: list[Loop] = [(trips, max((*steps, 0)) or 1) for trips, steps in around]
    walks = [[i for i, (_, s) in enumerate(around) if s[d]] for d in range(len(stored.tile))]
    return loops, walks


def strides(held: Sequence[Walk], wanted: Sequence[Walk]) -> list[tuple[int, int]]:
    """Trips and strides, in stored tiles, of the loops with which a buffer is read.

    Parameters
    ----------
    held : sequence of Walk
        The loops that stored a buffer, outermost first.
    wanted : sequence of Walk
        Those that read it. One that goes past the end of a loop that stored goes on in the next.

    Raises
    ------
    Unknown
        If a loop leaves the tiles that are stored, or goes past an end within a step.
    """
    held = merged(held)
    trips = [int(n) for n, _ in held]
    weights = [prod(trips[k + 1 :]) for k in range(len(trips))]
    last = [0] * len(held)
    found = []
    for count, steps in wanted:
        for n, digits in _parts(int(count), steps, held):
            last = [at + (n - 1) * digit for at, digit in zip(last, digits, strict=True)]
            found.append((n, sum(d * w for d, w in zip(digits, weights, strict=True))))
    if any(at >= n for at, n in zip(last, trips, strict=True)):
        raise Unknown("loops within a buffer go past an end within a step")
    return found


def _parts(count: int, steps: tuple[int, ...], held: Sequence[Walk]) -> list[tuple[int, list[int]]]:
    """A loop as loops that each stay in one that stored, outermost first, by their trips."""
    digits, left = [0] * len(held), [*steps]
    # Of the loops that stored the buffer those with the largest steps go first.
    for k in sorted(range(len(held)), key=lambda k: -max(held[k][1])):
        moved = held[k][1]
        dims = [d for d, s in enumerate(moved) if s]
        digits[k] = min((left[d] // moved[d] for d in dims), default=0)
        left = [rest - digits[k] * s for rest, s in zip(left, moved, strict=True)]
    if any(left):
        raise Unknown("a loop within a buffer leaves its tiles")
    used = [k for k, digit in enumerate(digits) if digit]
    if len(used) != 1:
        return [(count, digits)]
    most, over = divmod(int(held[used[0]][0]), digits[used[0]])
    if over or count <= most or count % most:
        return [(count, digits)]
    further = tuple(step * most for step in steps)
    return [*_parts(count // most, further, held), (most, digits)]
