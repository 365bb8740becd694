"""Beats as bytes of payloads, as test benches drive and sample them.

A payload is ``{data, stop, kind}`` with the 2 bits of kind lowest; here it is a row of bytes,
little-endian. The level of an empty token is in the lowest bits of data.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepgen.emit.interface import NO_DATA, StreamPort
from stepgen.ir.dtypes import address
from stepgen.ir.errors import StepError
from stepgen.ir.wire import BARE, DONE, KIND_BITS, VALUE, Beats, narrowed

Rows = npt.NDArray[np.uint8]
"""Payloads, uint8 array of shape [beats, bytes of a payload]."""

_DTYPES: dict[str, np.dtype[np.generic]] = {
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "bool": np.dtype(np.bool_),
    "address": np.dtype(np.uint64),
    NO_DATA: np.dtype(np.bool_),
}
_KINDS = {VALUE: "VALUE", BARE: "BARE", DONE: "DONE"}


def _bits_of(values: npt.NDArray[np.generic], bits: int) -> Rows:
    """Lowest `bits` bits of each value, lowest first: [n, m] becomes [n, m * bits]."""
    n, lanes = values.shape
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(n, lanes, values.dtype.itemsize)
    return np.unpackbits(raw, axis=2, count=bits, bitorder="little").reshape(n, lanes * bits)


def pack(beats: Beats, port: StreamPort) -> Rows:
    """The payloads of a stream; not for raw ports.

    Addresses that are too large for the port become all ones.

    Parameters
    ----------
    beats : Beats
        With data of shape [n, lanes] in the port's element type; a port without lanes takes any
        and drops the data.
    port : StreamPort

    Raises
    ------
    StepError
        Where the data does not have the lanes or the element type of the port.
    """
    n = len(beats)
    dtype = _DTYPES[port.element]
    lanes = beats.data if port.lanes else np.zeros((n, 0), dtype)
    if lanes.shape != (n, port.lanes):
        raise StepError(
            f"port {port.name} takes beats of {port.lanes} lanes, "
            f"not data of shape {list(lanes.shape)}"
        )
    if lanes.dtype != dtype:
        raise StepError(f"port {port.name} takes {port.element} data, not {lanes.dtype}")
    if port.element == address.name:
        lanes = narrowed(lanes, port.bits)
    data = np.zeros((n, port.data_bits), np.uint8)
    data[:, : port.lanes * port.bits] = _bits_of(lanes, port.bits)
    bare = beats.kind == BARE
    level = min(8, port.data_bits)
    data[bare] = 0
    data[bare, :level] = _bits_of(beats.low[bare, None], level)
    data[beats.kind == DONE] = 0
    kind = _bits_of(beats.kind[:, None], KIND_BITS)
    stop = _bits_of(beats.stop[:, None], port.stop_bits)
    return np.packbits(np.concatenate([kind, stop, data], axis=1), axis=1, bitorder="little")


def unpack(rows: Rows, port: StreamPort) -> Beats:
    """The stream that payloads carry; the inverse of `pack`."""
    bits = np.unpackbits(rows, axis=1, count=port.width, bitorder="little")
    skip = KIND_BITS + port.stop_bits

    def number(start: int, stop: int) -> npt.NDArray[np.uint8]:
        if start == stop:
            return np.zeros(len(rows), np.uint8)
        return np.packbits(bits[:, start:stop], axis=1, bitorder="little")[:, 0]

    kind = number(0, KIND_BITS)
    bare = kind == BARE
    low = np.where(bare, number(skip, skip + min(8, port.data_bits)), 0).astype(np.uint8)
    dtype = _DTYPES[port.element]
    lanes = np.zeros((len(rows), port.lanes, 8 * dtype.itemsize), np.uint8)
    shown = bits[:, skip : skip + port.lanes * port.bits]
    shown = shown.reshape(len(rows), port.lanes, port.bits)
    lanes[:, :, : port.bits] = np.where((kind == VALUE)[:, None, None], shown, 0)
    data = np.packbits(lanes, axis=2, bitorder="little").view(dtype)[:, :, 0]
    return Beats(kind, number(KIND_BITS, skip), low, data)


def unpadded(rows: Rows, port: StreamPort) -> Rows:
    """The payloads with zeros in the lanes beyond the end of a row, whose content means nothing."""
    if not port.tail:
        return rows
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    skip = KIND_BITS + port.stop_bits
    kind = np.packbits(bits[:, :KIND_BITS], axis=1, bitorder="little")[:, 0]
    ends_row = (kind == VALUE) & bits[:, KIND_BITS:skip].any(axis=1)
    bits[ends_row, skip + port.tail * port.bits : skip + port.lanes * port.bits] = 0
    return np.packbits(bits, axis=1, bitorder="little")


def describe(row: Rows, port: StreamPort) -> str:
    """One payload as text: ``VALUE stop 1 [1, -2]``.

    Different payloads have different texts, also where a field is not allowed for its kind; the
    padding of a row is left out.
    """
    row = unpadded(row[None, :], port)[0]
    word = int.from_bytes(row.tobytes(), "little")
    if port.raw:
        return f"0x{word:x}"
    beats = unpack(row[None, :], port)
    kind, stop = int(beats.kind[0]), int(beats.stop[0])
    said = _KINDS.get(kind, f"kind {kind}")
    if kind == BARE:
        said += f" low {beats.low[0]}"
    if stop or kind != DONE:
        said += f" stop {stop}"
    if kind == VALUE:
        lanes = port.tail if stop and port.tail else port.lanes
        said += f" [{', '.join(str(v) for v in beats.data[0, :lanes].tolist())}]"
    if not np.array_equal(pack(beats, port)[0], row):
        said += f", data field 0x{word >> KIND_BITS + port.stop_bits:x}"
    return said
