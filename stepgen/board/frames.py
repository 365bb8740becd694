"""Frames of the link to a board, as bytes."""

from __future__ import annotations

import zlib

from stepgen.hw.board.protocol import CHECK_BYTES

LONGEST_BLOCK = 254


def encode(content: bytes) -> bytes:
    """A frame of some content, with its CRC and the byte 0 behind it."""
    data = content + zlib.crc32(content).to_bytes(CHECK_BYTES, "little")
    out = bytearray()
    blocks = data.split(b"\0")
    for number, block in enumerate(blocks):
        while len(block) >= LONGEST_BLOCK:
            out += bytes([LONGEST_BLOCK + 1]) + block[:LONGEST_BLOCK]
            block = block[LONGEST_BLOCK:]
            if not block and number == len(blocks) - 1:
                break
        else:
            out += bytes([len(block) + 1]) + block
    return bytes(out) + b"\0"


def decode(frame: bytes) -> bytes | None:
    """The content of a frame without the byte 0 behind it; None if it is damaged."""
    data = bytearray()
    place = 0
    while place < len(frame):
        code = frame[place]
        block = frame[place + 1 : place + code]
        if len(block) != code - 1 or 0 in block:
            return None
        data += block
        place += code
        if code <= LONGEST_BLOCK and place < len(frame):
            data.append(0)
    content, check = bytes(data[:-CHECK_BYTES]), bytes(data[-CHECK_BYTES:])
    if len(data) < CHECK_BYTES or zlib.crc32(content).to_bytes(CHECK_BYTES, "little") != check:
        return None
    return content
