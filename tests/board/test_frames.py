from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgen.board.frames import decode, encode

RUNS = st.lists(
    st.tuples(st.sampled_from([0, 1, 255]), st.sampled_from([1, 2, 253, 254, 255, 508])), max_size=5
)


@given(RUNS, st.binary(max_size=9))
def test_what_is_encoded_comes_back(runs: list[tuple[int, int]], tail: bytes) -> None:
    content = b"".join(bytes([value]) * count for value, count in runs) + tail
    frame = encode(content)
    assert frame.count(0) == 1
    assert frame[-1] == 0
    assert decode(frame[:-1]) == content


def test_a_known_frame() -> None:
    check = zlib.crc32(b"\x11\x00\x22").to_bytes(4, "little")
    assert 0 not in check
    assert encode(b"\x11\x00\x22") == b"\x02\x11\x06\x22" + check + b"\x00"


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_seen(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        content = rng.randbytes(rng.randrange(1, 60))
        frame = bytearray(encode(content)[:-1])
        place = rng.randrange(len(frame))
        how = rng.randrange(3)
        if how == 0:
            frame[place] ^= 1 << rng.randrange(8)
        elif how == 1:
            del frame[place]
        else:
            frame.insert(place, rng.randrange(1, 256))
        assert decode(bytes(frame)) in (None, content)
