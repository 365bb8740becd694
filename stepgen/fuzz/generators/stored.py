"""Draws what is stored on chip, and the ways of references to it: forked, routed, merged, read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import stepgen as sg
from stepgen.ir.affine import last_tile
from stepgen.ir.stream import Stream

if TYPE_CHECKING:
    from stepgen.fuzz.generators.plain import PlainProgram

MOST = 12
"""Rows of a buffer that there is memory for, at most, where the types know no bound."""


@dataclass(frozen=True)
class Way:
    """References and the streams beside them, which take the same way.

    Attributes
    ----------
    refs : Stream
    selectors : tuple of Stream
        For the partitions that are still to come.
    counts : tuple of Stream
        At most one: how often each buffer is read.
    """

    refs: Stream
    selectors: tuple[Stream, ...] = ()
    counts: tuple[Stream, ...] = ()


def kept(program: PlainProgram, x: Stream, rank: int) -> Stream:
    """Chunks in a memory: by default for all rows that there may be, or for so many.

    Where the program may, these are seldom fewer, so that a run ends in an error.
    """
    tile = x.dtype
    if not isinstance(tile, sg.Tile):
        raise sg.StepError("only tiles are stored")
    rows = sg.Buffer(tile, x.shape[len(x.shape) - rank :]).most_rows
    how = program.number(0, 9)
    if how > 3 or (rows is None and (how > 0 or not program.overflows)):
        return x.bufferize(rank=rank)
    if rows is None:
        return x.bufferize(rank=rank, most=program.number(1, MOST))
    few = program.number(max(1, rows // 2), rows)
    enough = rows + program.number(0, 3)
    return x.bufferize(rank=rank, most=few if how < 2 and program.overflows else enough)


def read_again(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Chunks of a stream, and how often and in which order they are read."""
    x = x if x.rank else x.promote()
    rank = program.number(1, x.rank)
    buffers, how = kept(program, x, rank), program.number(0, 4)
    if how == 0:
        own = x.accum(sg.fn.retile_row(), rank=rank)
        return buffers.streamify(own.promote(0).expand(count=2) if program.number(0, 1) else own)
    if how == 1:
        inner = [program.dim(ragged=True) for _ in range(program.number(0, 2))]
        return buffers.streamify(program.beside(name, sg.Selector(2), buffers, *inner))
    if program.number(0, 1):
        buffers = buffers.flatten(0, 1) if buffers.rank else buffers.promote()
    count = program.pick(None, 1, 3)
    tiles = [dim.static or 0 for dim in x.shape[-rank:]]
    if how == 2 or not all(tiles):
        return buffers.streamify(count=count)
    most = int(np.prod(tiles)) - 1
    shape = [program.number(1, 3) for _ in range(program.number(1, 3))]
    stride = [program.number(0, most // max(1, sum(shape) - len(shape))) for _ in shape]
    offset = program.number(0, most - last_tile(shape, stride))
    return buffers.streamify(count=count, shape=shape, stride=stride, offset=offset)


def travelled(program: PlainProgram, x: Stream, name: str) -> Stream:
    """Chunks of a stream whose references travel before they are read."""
    x = x if x.rank else x.promote()
    buffers = kept(program, x, program.number(1, x.rank))

    def selector(n: int) -> Stream:
        count = program.number(1, 3)
        hot = program.pick(None, program.number(1, count))
        return program.beside(f"{name}_sel{n}", sg.Selector(count, hot=hot), buffers)

    counts: tuple[Stream, ...] = ()
    if program.number(0, 1):
        inner = [program.number(1, 2)] * program.number(0, 1)
        tile = sg.Tile(program.number(1, 2), program.columns(), sg.int8)
        counts = (program.beside(f"{name}_told", tile, buffers, *inner),)
    selectors = tuple(selector(n) for n in range(program.number(0, 2)))
    found = list(_ways(program, Way(buffers, selectors, counts), program.number(1, 2)))
    first, *others = [_read(program, way) for way in found]
    for number, other in enumerate(others):
        program.graph.output(other, f"{name}_way{number}")
    return first


def _ways(program: PlainProgram, way: Way, turns: int) -> Iterator[Way]:
    """Where references come after some turns."""
    if not turns:
        _show(program, *way.selectors)
        yield way
    elif not way.counts and program.number(0, 4) == 0:
        count = program.number(1, 2)
        again = [s.promote(0).expand(count=count) for s in (way.refs, *way.selectors)]
        if program.number(0, 1):
            again = [s.flatten(0, 1) for s in again]
        yield from _ways(program, Way(again[0], tuple(again[1:])), turns - 1)
    elif not way.selectors or program.number(0, 3) == 0:
        count = program.number(2, 3)
        copies = way.refs.fork(count)
        for n, refs in enumerate(copies):
            # What is beside them goes with the last copy.
            here = replace(way, refs=refs) if n + 1 == count else Way(refs)
            yield from _ways(program, here, turns - 1)
    else:
        yield from _routed(program, way, turns)


def _routed(program: PlainProgram, way: Way, turns: int) -> Iterator[Way]:
    """Each reference to the consumers that a selector names; at times merged again."""
    sel, *left = way.selectors

    def parts(stream: Stream) -> tuple[Stream, ...]:
        return sg.partition(stream, sel, rank=stream.rank - sel.rank)

    refs, selectors = parts(way.refs), [parts(s) for s in left]
    counts = [parts(s) for s in way.counts]
    if program.number(0, 1):
        for n, ref in enumerate(refs):
            here = Way(ref, tuple(s[n] for s in selectors), tuple(s[n] for s in counts))
            yield from _ways(program, here, turns - 1)
        return
    restopped = [r.promote(0).flatten(0, 1) if program.number(0, 2) == 0 else r for r in refs]
    order = program.pick("index", "arrival")
    merged = sg.reassemble(restopped, sel, rank=0, order=order)
    assert isinstance(sel.dtype, sg.Selector)
    if order == "arrival" or sel.dtype.hot is None:  # what is beside them has another order or dim
        _show(program, *(s for several in (*selectors, *counts) for s in several))
        yield from _ways(program, Way(merged), turns - 1)
        return

    def again(several: tuple[Stream, ...]) -> Stream:
        return sg.reassemble(several, sel, rank=several[0].rank)

    here = Way(merged, tuple(map(again, selectors)), tuple(map(again, counts)))
    yield from _ways(program, here, turns - 1)


def _show(program: PlainProgram, *streams: Stream) -> None:
    """Make outputs of streams that nothing else uses."""
    for stream in streams:
        program.graph.output(stream, f"beside{len(program.graph.outputs)}")


def _read(program: PlainProgram, way: Way) -> Stream:
    """What becomes of references: all once, some times, by another stream, or only their stops."""
    if way.counts:
        (counts,) = way.counts
        if counts.rank == way.refs.rank and program.number(0, 1):
            return counts.promote(0).expand(way.refs.promote(0), rank=1)
        if counts.rank == way.refs.rank + 1 and program.number(0, 1):
            return way.refs.promote(0).expand(counts, rank=1).streamify()
        return way.refs.streamify(counts)
    how = program.number(0, 5)
    if how == 0:
        one, other = way.refs.fork(2)
        return one.streamify(other.promote(0))
    if how == 1:
        return way.refs.promote(0).expand(count=program.number(1, 3)).streamify()
    return way.refs.streamify(count=program.pick(None, 1, 2))
