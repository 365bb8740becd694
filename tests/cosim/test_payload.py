from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgen.cosim.payload import describe, pack, unpack, unpadded
from stepgen.emit.interface import NO_DATA, StreamPort
from stepgen.ir.errors import StepError
from stepgen.ir.wire import BARE, DONE, VALUE, Beats, stop_bits

ELEMENTS = {
    "int8": (8, np.int8),
    "int16": (16, np.int16),
    "int32": (32, np.int32),
    "bf16": (16, ml_dtypes.bfloat16),
    "f32": (32, np.float32),
    "bool": (1, np.bool_),
    "address": (64, np.uint64),
}


def port_of(element: str, lanes: int, rank: int) -> StreamPort:
    bits = ELEMENTS[element][0]
    data = max(lanes * bits, stop_bits(rank))
    return StreamPort("x", "in", lanes, bits, stop_bits(rank), data, element)


@given(
    element=st.sampled_from(sorted(ELEMENTS)),
    lanes=st.sampled_from([1, 3, 8, 16]),
    rank=st.integers(0, 7),
    n=st.integers(0, 30),
    seed=st.integers(0, 2**32 - 1),
)
def test_round_trip(element: str, lanes: int, rank: int, n: int, seed: int) -> None:
    port = port_of(element, lanes, rank)
    dtype = np.dtype(ELEMENTS[element][1])
    rng = np.random.default_rng(seed)
    kinds = [VALUE, VALUE, BARE, DONE] if rank else [VALUE, DONE]
    kind = rng.choice(kinds, n).astype(np.uint8)
    stop = np.where(kind == DONE, 0, rng.integers(0, rank + 1, n)).astype(np.uint8)
    low = np.where(kind == BARE, rng.integers(1, rank + 1, n) if rank else 0, 0).astype(np.uint8)
    raw = rng.integers(0, 256, (n, lanes * dtype.itemsize), dtype=np.uint8)
    if element == "bool":
        raw &= 1
    raw[kind != VALUE] = 0
    data = raw.view(dtype).reshape(n, lanes)
    rows = pack(Beats(kind, stop, low, data), port)
    assert rows.shape == (n, port.payload_bytes)
    again = unpack(rows, port)
    assert again.data.dtype == dtype
    assert np.array_equal(again.data.view(np.uint8), data.view(np.uint8))  # NaN included
    for name, wanted in (("kind", kind), ("stop", stop), ("low", low)):
        assert np.array_equal(getattr(again, name), wanted)


def test_fields_lie_where_the_hardware_has_them() -> None:
    port = port_of("int8", 2, 3)
    beats = Beats(
        np.array([VALUE, BARE, DONE], np.uint8),
        np.array([3, 2, 0], np.uint8),
        np.array([0, 1, 0], np.uint8),
        np.array([[1, -1], [0, 0], [0, 0]], np.int8),
    )
    words = [int.from_bytes(row.tobytes(), "little") for row in pack(beats, port)]
    # {data, stop, kind}: 16, 2 and 2 bits
    assert words == [0xFF01 << 4 | 3 << 2, 1 << 4 | 2 << 2 | BARE, DONE]
    assert [describe(row, port) for row in pack(beats, port)] == [
        "VALUE stop 3 [1, -1]",
        "BARE low 1 stop 2",
        "DONE",
    ]


def test_payloads_that_differ_read_differently() -> None:
    """Every word that a small port can show, also those that no stream may carry."""
    port = StreamPort("x", "in", 1, 2, 2, 3, "int8")  # a bit of the data field above the lane
    said = {describe(np.array([word], np.uint8), port) for word in range(1 << port.width)}
    assert len(said) == 1 << port.width
    assert {"DONE", "DONE, data field 0x3", "DONE stop 1"} < said


def test_wrong_data_is_refused() -> None:
    port = port_of("int8", 4, 2)
    one = np.zeros(1, np.uint8)
    with pytest.raises(StepError, match=r"port x takes beats of 4 lanes, not data of shape \[1, 2"):
        pack(Beats(one, one, one, np.zeros((1, 2), np.int8)), port)
    with pytest.raises(StepError, match="port x takes int8 data, not int32"):
        pack(Beats(one, one, one, np.zeros((1, 4), np.int32)), port)


@given(rank=st.integers(0, 7), n=st.integers(0, 30), seed=st.integers(0, 2**32 - 1))
def test_a_port_without_lanes_carries_the_structure(rank: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    port = StreamPort("x", "in", 0, 0, stop_bits(rank), stop_bits(rank), NO_DATA)
    kind = rng.choice([VALUE, BARE] if rank else [VALUE], n).astype(np.uint8)
    stop = rng.integers(0, rank + 1, n).astype(np.uint8)
    low = np.where(kind == BARE, rng.integers(1, rank + 1, n) if rank else 0, 0).astype(np.uint8)
    rows = pack(Beats(kind, stop, low, rng.integers(-128, 128, (n, 4), dtype=np.int8)), port)
    assert rows.shape == (n, port.payload_bytes)
    assert unpack(rows, port) == Beats(kind, stop, low, np.zeros((n, 0), np.bool_))


@given(
    element=st.sampled_from(["int8", "int16", "int32", "bf16", "f32", "bool"]),
    lanes=st.sampled_from([2, 3, 8]),
    data=st.data(),
)
def test_padding_is_not_compared(element: str, lanes: int, data: st.DataObject) -> None:
    """What is behind the end of a row counts for nothing, every other bit does."""
    plain = port_of(element, lanes, 3)
    port = dataclasses.replace(plain, tail=data.draw(st.integers(1, lanes - 1)))
    kind = data.draw(st.sampled_from([VALUE, BARE, DONE]))
    stop = 0 if kind == DONE else data.draw(st.integers(0, 3))
    fields = kind | stop << 2
    row = np.zeros((1, port.payload_bytes), np.uint8)
    row[0, 0] = fields
    pads = kind == VALUE and stop > 0
    for bit in range(port.width):
        other = row.copy()
        other[0, bit // 8] ^= 1 << bit % 8
        lane = (bit - 2 - port.stop_bits) // port.bits
        ignored = pads and port.tail <= lane < lanes
        assert np.array_equal(unpadded(other, port), unpadded(row, port)) == ignored, bit
        assert np.array_equal(unpadded(other, plain), other)
    shown = describe(row[0], port)
    assert shown.count(",") == (kind == VALUE) * ((port.tail if stop else lanes) - 1)


def test_an_address_that_is_too_large_becomes_all_ones() -> None:
    port = StreamPort("at", "in", 2, 5, 1, 10, "address")
    numbers = np.array([[3, 31], [32, 1 << 63]], np.uint64)
    none = np.zeros(2, np.uint8)
    back = unpack(pack(Beats(none, none, none, numbers), port), port)
    assert back.data.tolist() == [[3, 31], [31, 31]]
