"""Common part of the actors of all operators: their records, and the encoding of tiles in a word.

An actor of a program handles one element at a time. Of a tile it needs the extents and the amount
of padding; these fit into the aux field of a beat. A selector is stored as the address of its bits,
an address as its value, buffers and tuples as an address of words in the arena.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import (
    ARENA,
    CHANNEL_SIZE,
    FREE_AT,
    POPPED,
    PUSHED,
    REASON,
    WORKING,
)

# Words of the header of M that the kernel does not use: bytes on chip, now and at most
NOW, PEAK = range(12, 14)

COMMON = record("busy_until", "tokens", "useful", "padding", "traffic", "largest")
"""First fields of every actor: the cycle in which it finishes an element, and its counters."""
IDLE = -1
"""Value of `COMMON.busy_until` while an actor has no element."""


def fresh(places: Any, **values: int | Sequence[int]) -> list[int]:
    """The initial content of an actor's fields: its own as given, its counters 0."""
    counted = dict.fromkeys(COMMON._fields, 0)
    return packed(places, **{**counted, "busy_until": IDLE, **values})


TILED = offsets("element_bytes", "rate", "contents", start=CHANNEL_SIZE)
"""Additional fields of a program's channel: bytes of a tile element on chip; elements that move in
a cycle (0: a tile moves at once); and the address of the next content that depends on data (0: the
producer determines it)."""

# A tile in one word: extents, and the numbers of padding rows and columns at the end
EXTENT_BITS, PAD_ROWS_BITS, PAD_COLS_BITS = 15, 11, 8
MAX_EXTENT = (1 << EXTENT_BITS) - 1
MAX_PAD_ROWS, MAX_PAD_COLS = (1 << PAD_ROWS_BITS) - 1, (1 << PAD_COLS_BITS) - 1
COLS_AT = EXTENT_BITS
PAD_ROWS_AT = 2 * EXTENT_BITS
PAD_COLS_AT = PAD_ROWS_AT + PAD_ROWS_BITS

# A range of addresses in one word: its start, and its length in as many bits
SPAN_START_BITS, SPAN_LENGTH_BITS = 30, 20


@helper
def tile_word(rows: int, cols: int, pad_rows: int, pad_cols: int) -> int:
    """A tile in one word."""
    return rows | cols << COLS_AT | pad_rows << PAD_ROWS_AT | pad_cols << PAD_COLS_AT


@helper
def rows_of(tile: int) -> int:
    """Rows of a tile, padding included."""
    return tile & MAX_EXTENT


@helper
def cols_of(tile: int) -> int:
    """Columns of a tile, padding included."""
    return (tile >> COLS_AT) & MAX_EXTENT


@helper
def pad_rows_of(tile: int) -> int:
    """Rows at the end that are padding."""
    return (tile >> PAD_ROWS_AT) & MAX_PAD_ROWS


@helper
def pad_cols_of(tile: int) -> int:
    """Columns at the end that are padding."""
    return (tile >> PAD_COLS_AT) & MAX_PAD_COLS


@helper
def span_word(start: int, length: int) -> int:
    """A range of addresses in one word."""
    return start << SPAN_LENGTH_BITS | length


@helper
def span_start(span: int) -> int:
    """First address of a range."""
    return span >> SPAN_LENGTH_BITS


@helper
def span_length(span: int) -> int:
    """Number of addresses in a range."""
    return span & ((1 << SPAN_LENGTH_BITS) - 1)


@helper
def area(tile: int) -> int:
    """Elements of a tile."""
    return rows_of(tile) * cols_of(tile)


@helper
def value(aux: int, stop: int) -> int:
    """A beat with a value."""
    return make_beat(VALUE, stop, 0, aux)


@helper
def bare(low: int, stop: int) -> int:
    """An empty token."""
    return make_beat(BARE, stop, low, 0)


@helper
def done_beat() -> int:
    """The beat that ends a stream."""
    return make_beat(DONE, 0, 0, 0)


@helper
def is_done(beat: int) -> bool:
    """Whether a beat ends its stream."""
    return kind_of(beat) == DONE


@helper
def hold(M: Memory, size: int) -> None:
    """Count `size` more bytes on chip (fewer, if negative)."""
    M[NOW] += size
    if M[NOW] > M[PEAK]:
        M[PEAK] = M[NOW]


@helper
def moved(M: Memory, c: int, t: int) -> int:
    """Cycle in which the tile at the head of `c` has arrived completely; `t` if one follows it."""
    return max(t, M[c + FREE_AT]) if M[c + PUSHED] - M[c + POPPED] == 1 else t


@helper
def send(M: Memory, a: int, c: int, t: int, beat: int) -> None:
    """Push a beat and count it."""
    if M[c + TILED.contents] and kind_of(beat) == VALUE:
        beat = value(M[M[c + TILED.contents]], stop_of(beat))
        M[c + TILED.contents] += 1
    push(M, c, t, beat)
    if kind_of(beat) == VALUE:
        M[a + COMMON.tokens] += 1
        if M[c + TILED.element_bytes]:
            M[a + COMMON.largest] = max(M[a + COMMON.largest], area(aux_of(beat)))
            hold(M, M[c + TILED.element_bytes] * area(aux_of(beat)))
            if M[c + TILED.rate]:
                M[c + FREE_AT] = (
                    t + (area(aux_of(beat)) + M[c + TILED.rate] - 1) // M[c + TILED.rate]
                )


@helper
def send_until(M: Memory, a: int, c: int, t: int, beat: int, end: int) -> None:
    """Push a beat whose last elements arrive in cycle `end`, if streams move tiles by elements."""
    send(M, a, c, t, beat)
    if M[c + TILED.rate]:
        M[c + FREE_AT] = max(M[c + FREE_AT], end)


@helper
def take(M: Memory, c: int, t: int) -> int:
    """Pop a beat."""
    beat = pop(M, c, t)
    if M[c + TILED.element_bytes] and kind_of(beat) == VALUE:
        hold(M, -M[c + TILED.element_bytes] * area(aux_of(beat)))
    return beat


@helper
def later(M: Memory, t: int, when: int) -> int:
    """Cycle of the next step: `when`, or as far ahead as the kernel can schedule."""
    M[REASON] = WORKING
    return max(t + 1, within_reach(M, when, t))


@helper
def grab(M: Memory, words: int) -> int:
    """Allocate words of the arena and return their address."""
    address = M[ARENA]
    M[ARENA] += words
    return address
