"""What the actors of all operators share: their records, and tiles as one word.

An actor of a program handles one element at a time. What it needs of a tile is its extents and how
much of it is padding; these fit into the word that a beat carries besides its structure. Selectors
carry the address of their bits, addresses their value, buffers and tuples an address of words in
the arena.
"""

from __future__ import annotations

import numba as nb

from ..kernel import (
    ARENA,
    CHANNEL_SIZE,
    FULL_OUTPUT,
    NEVER,
    OWN,
    POPPED,
    PUSHED,
    READY,
    REASON,
    WHEEL_MASK,
    WORKING,
    acted,
    aux_of,
    head,
    kind_of,
    low_of,
    make_beat,
    pop,
    push,
    ready,
    step,
    stop_of,
)
from ..kernel import room as room_in_fifo

__all__ = [
    "BARE",
    "BUSY_UNTIL",
    "DONE",
    "ELEMENT_BYTES",
    "FAULT",
    "IDLE",
    "LARGEST",
    "MAX_EXTENT",
    "MAX_PAD_COLS",
    "MAX_PAD_ROWS",
    "NEVER",
    "NOW",
    "PADDED",
    "PEAK",
    "PORTS",
    "READY",
    "TOKENS",
    "TRAFFIC",
    "USEFUL",
    "VALUE",
    "acted",
    "area",
    "aux_of",
    "bare",
    "can_pass",
    "cols_of",
    "done_beat",
    "grab",
    "head",
    "helper",
    "hold",
    "is_done",
    "kind_of",
    "later",
    "low_of",
    "make_beat",
    "moved",
    "pad_cols_of",
    "pad_rows_of",
    "ready",
    "room",
    "rows_of",
    "send",
    "send_until",
    "span_length",
    "span_start",
    "step",
    "stop_of",
    "take",
    "tile_word",
    "value",
]

helper = nb.njit
"""Compiles what steps have in common; what is worth it is inlined by the compiler."""

# Words of the header of M that the kernel leaves free: bytes held on chip, now and at most, and the
# actor or channel by which `Program.faults` knows why the run can't go on
NOW, PEAK, FAULT = range(12, 15)

# Fields that every actor has, after the kernel's
BUSY_UNTIL, TOKENS, USEFUL, PADDED, TRAFFIC, LARGEST = range(OWN, OWN + 6)
PORTS = OWN + 6
IDLE = -1
"""Value of `BUSY_UNTIL` while an actor works on nothing."""

# A channel of a program knows how many bytes an element of its tiles has on chip, how many elements
# move in a cycle (0: a tile moves at once), when the last tile has moved, and where the next
# content lies that data decided (0: its producer knows it)
ELEMENT_BYTES, RATE, FREE_AT, CONTENTS = range(CHANNEL_SIZE, CHANNEL_SIZE + 4)

VALUE, BARE, DONE = 0, 1, 2

# A tile in one word: extents and how many rows and columns at the end are padding
EXTENT_BITS, PAD_ROWS_BITS, PAD_COLS_BITS = 15, 11, 8
MAX_EXTENT = (1 << EXTENT_BITS) - 1
MAX_PAD_ROWS, MAX_PAD_COLS = (1 << PAD_ROWS_BITS) - 1, (1 << PAD_COLS_BITS) - 1
COLS_AT = EXTENT_BITS
PAD_ROWS_AT = 2 * EXTENT_BITS
PAD_COLS_AT = PAD_ROWS_AT + PAD_ROWS_BITS

# A range of addresses in one word: its start, and its length in as many bits
SPAN_START_BITS, SPAN_LENGTH_BITS = 30, 20


@helper
def tile_word(rows, cols, pad_rows, pad_cols):  # type: ignore[no-untyped-def]
    """A tile in one word."""
    return rows | cols << COLS_AT | pad_rows << PAD_ROWS_AT | pad_cols << PAD_COLS_AT


@helper
def rows_of(tile):  # type: ignore[no-untyped-def]
    """Rows of a tile, padding included."""
    return tile & MAX_EXTENT


@helper
def cols_of(tile):  # type: ignore[no-untyped-def]
    """Columns of a tile, padding included."""
    return (tile >> COLS_AT) & MAX_EXTENT


@helper
def pad_rows_of(tile):  # type: ignore[no-untyped-def]
    """Rows at the end that are padding."""
    return (tile >> PAD_ROWS_AT) & MAX_PAD_ROWS


@helper
def pad_cols_of(tile):  # type: ignore[no-untyped-def]
    """Columns at the end that are padding."""
    return (tile >> PAD_COLS_AT) & MAX_PAD_COLS


@helper
def span_start(span):  # type: ignore[no-untyped-def]
    """First address of a range."""
    return span >> SPAN_LENGTH_BITS


@helper
def span_length(span):  # type: ignore[no-untyped-def]
    """How many addresses a range has."""
    return span & ((1 << SPAN_LENGTH_BITS) - 1)


@helper
def area(tile):  # type: ignore[no-untyped-def]
    """Elements of a tile."""
    return rows_of(tile) * cols_of(tile)


@helper
def value(aux, stop):  # type: ignore[no-untyped-def]
    """A beat with a value."""
    return make_beat(VALUE, stop, 0, aux)


@helper
def bare(low, stop):  # type: ignore[no-untyped-def]
    """A beat for an empty group."""
    return make_beat(BARE, stop, low, 0)


@helper
def done_beat():  # type: ignore[no-untyped-def]
    """The beat that ends a stream."""
    return make_beat(DONE, 0, 0, 0)


@helper
def is_done(beat):  # type: ignore[no-untyped-def]
    """Whether a beat ends its stream."""
    return kind_of(beat) == DONE


@helper
def hold(M, size):  # type: ignore[no-untyped-def]
    """Note that `size` more bytes are held on chip (fewer, if negative)."""
    M[NOW] += size
    if M[NOW] > M[PEAK]:
        M[PEAK] = M[NOW]


@helper
def room(M, c, t):  # type: ignore[no-untyped-def]
    """`READY` if one more beat may enter channel `c` in cycle `t`, else how long to wait."""
    if t < M[c + FREE_AT]:
        M[REASON] = FULL_OUTPUT
        return min(M[c + FREE_AT], t + M[WHEEL_MASK])
    return room_in_fifo(M, c, t)


@helper
def can_pass(M, x, out, t):  # type: ignore[no-untyped-def]
    """`READY` if channel `x` has a head and `out` has room in cycle `t`, else how long to wait."""
    wait = ready(M, x, t)
    return wait if wait != READY else room(M, out, t)


@helper
def moved(M, c, t):  # type: ignore[no-untyped-def]
    """When the tile at the head of channel `c` has moved: at most `t` where another follows it."""
    return max(t, M[c + FREE_AT]) if M[c + PUSHED] - M[c + POPPED] == 1 else t


@helper
def send(M, a, c, t, beat):  # type: ignore[no-untyped-def]
    """Push a beat and count it."""
    if M[c + CONTENTS] and kind_of(beat) == VALUE:
        beat = value(M[M[c + CONTENTS]], stop_of(beat))
        M[c + CONTENTS] += 1
    push(M, c, t, beat)
    if kind_of(beat) == VALUE:
        M[a + TOKENS] += 1
        if M[c + ELEMENT_BYTES]:
            M[a + LARGEST] = max(M[a + LARGEST], area(aux_of(beat)))
            hold(M, M[c + ELEMENT_BYTES] * area(aux_of(beat)))
            if M[c + RATE]:
                M[c + FREE_AT] = t + (area(aux_of(beat)) + M[c + RATE] - 1) // M[c + RATE]


@helper
def send_until(M, a, c, t, beat, end):  # type: ignore[no-untyped-def]
    """Push a beat whose last elements come in cycle `end`, where streams move tiles by elements."""
    send(M, a, c, t, beat)
    if M[c + RATE]:
        M[c + FREE_AT] = max(M[c + FREE_AT], end)


@helper
def take(M, c, t):  # type: ignore[no-untyped-def]
    """Pop a beat."""
    beat = pop(M, c, t)
    if M[c + ELEMENT_BYTES] and kind_of(beat) == VALUE:
        hold(M, -M[c + ELEMENT_BYTES] * area(aux_of(beat)))
    return beat


@helper
def later(M, t, when):  # type: ignore[no-untyped-def]
    """When to look again: at `when`, or as far ahead as the kernel can plan."""
    M[REASON] = WORKING
    return max(t + 1, min(when, t + M[WHEEL_MASK]))


@helper
def grab(M, words):  # type: ignore[no-untyped-def]
    """Take words from the arena and return their address."""
    address = M[ARENA]
    M[ARENA] += words
    return address
