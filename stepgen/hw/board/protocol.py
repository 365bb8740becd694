"""The protocol between a host and a board: frames, address spaces, the identity of a board.

A frame is COBS-encoded, so that a byte 0 ends it, and closes with the CRC-32 of its content,
lowest byte first. All numbers are little-endian. ``docs/boards.md`` describes it for users.
"""

from __future__ import annotations

from enum import IntEnum

VERSION = 1
MAGIC = int.from_bytes(b"STPG", "little")
WORD = 4
"""Bytes of a word; addresses count words."""

CHECK_BYTES = 4
"""Of the CRC-32 at the end of a frame."""

CRC_POLYNOMIAL = 0xEDB88320
"""Of the CRC-32 of Ethernet and zlib, reflected."""

CRC_RESIDUE = 0xDEBB20E3
"""What the register of the CRC holds after a frame and its CRC, before it is inverted."""

HEADER_BYTES = 7
"""Of a request: operation and space in one byte, number of the frame (2), address (4)."""

MOST_WORDS = 128
"""Words that a request may read or write."""

BUFFER_BYTES = 2048
"""Of a board, for requests: two of the longest fit."""

REPEATS = 4
"""Answers that a board remembers: so many frames back may be sent again."""


class Operation(IntEnum):
    """What a request asks for: the lower 4 bits of its first byte."""

    SYNC = 0  # the next frame has the following number, whatever came before
    READ = 1  # words; after the address their number less 1 in a byte
    WRITE = 2  # the words after the address


class Space(IntEnum):
    """What an address is in: the upper 4 bits of a request's first byte."""

    IDENTITY = 0  # words that identify the board
    REGISTERS = 1  # those of the design
    MEMORY = 2  # off-chip memory of the design, while it does not run
    STREAMS = 3  # beats of the design's ports, see `STREAM_BITS`
    COUNTS = 4  # two words for each port, see `Count`


class Status(IntEnum):
    """How a request went: the last byte of its answer."""

    OK = 0
    ORDER = 1  # its number is not the next one; it was not carried out
    REFUSED = 2  # nothing is at an address, or the memory is in use by a run
    MALFORMED = 3  # unknown operation, or a part of a word


class Identity(IntEnum):
    """Words of `Space.IDENTITY`."""

    MAGIC = 0
    VERSION = 1
    CLOCK = 2  # Hz
    MEMORY_WORDS = 3
    BAD_FRAMES = 4  # frames since power-up that were not taken, modulo 2**32
    HASH = 8  # the first of 8 words


IDENTITY_WORDS = 16

STREAM_BITS = 20
"""Bits of an address in a port's buffer; above them is the port's number."""


COUNT_BITS = 16
"""Of a count of beats."""


class Count(IntEnum):
    """Words of a port in `Space.COUNTS`: beats since its last clearing, modulo 2 ** `COUNT_BITS`.

    A buffer holds fewer than half of that.
    """

    MOVED = 0  # beats that the design took or gave; a write of anything clears the port
    GIVEN = 1  # beats that the host has put there, or taken


COUNT_WORDS = 2
