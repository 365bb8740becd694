"""Tensors in off-chip memory: where they lie, and how a matrix is laid out there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .beats import bits_of, numbers_of

Array = npt.NDArray[Any]
_BITS = {"int4": 4, "bool": 8, "int8": 8, "int16": 16, "bf16": 16, "int32": 32, "f32": 32}
_BITS["address"] = 64


@dataclass(frozen=True)
class Tensor:
    """A matrix in off-chip memory.

    Parameters
    ----------
    name, element : str
        Its own, and the type of an element: bool, int4, int8, int16, bf16, int32, f32 or address.
    base : int
        Address of its first byte.
    rows, cols : int
    tile : tuple of int
        Rows and columns of a tile. Where tiles divide the matrix, it lies there tile by tile: the
        grid of tiles is row-major, each is contiguous and row-major inside. Else it is row-major.
    """

    name: str
    element: str
    base: int
    rows: int
    cols: int
    tile: tuple[int, int]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.rows * self.cols * _BITS[self.element] // 8

    def in_order(self, matrix: Array) -> Array:
        """The elements of a matrix in the order of memory.

        Raises
        ------
        ValueError
            If it has another shape.
        """
        if matrix.shape != (self.rows, self.cols):
            raise ValueError(
                f"{self.name} is a matrix of {self.rows} x {self.cols}, not {matrix.shape}"
            )
        rows, cols = self.tile
        if self.rows % rows or self.cols % cols:
            return matrix.ravel()
        grid = matrix.reshape(self.rows // rows, rows, self.cols // cols, cols)
        return grid.swapaxes(1, 2).ravel()

    def matrix(self, elements: Array) -> Array:
        """The matrix of elements in the order of memory."""
        places = self.in_order(np.arange(self.rows * self.cols).reshape(self.rows, self.cols))
        made = np.empty_like(elements)
        made[places] = elements
        return made.reshape(self.rows, self.cols)

    def pack(self, matrix: Array) -> bytes:
        """A matrix as bytes of memory; bf16 from float32, two of int4 to a byte, the first low."""
        bits = _BITS[self.element]
        lanes = bits_of(self.in_order(matrix), self.element, bits)
        if bits < 8:
            lanes, bits = lanes[::2] | lanes[1::2] << np.uint64(bits), 8
        packed: bytes = lanes.astype(_word(bits)).tobytes()
        return packed

    def unpack(self, data: bytes) -> Array:
        """The matrix of bytes of memory; bf16 as float32."""
        bits = _BITS[self.element]
        lanes = np.frombuffer(data, _word(max(8, bits))).astype(np.uint64)
        if bits < 8:
            both = lanes & np.uint64((1 << bits) - 1), lanes >> np.uint64(bits)
            lanes = np.stack(both, axis=1).ravel()
        return self.matrix(numbers_of(lanes, self.element, bits))


def _word(bits: int) -> np.dtype[Any]:
    """Little-endian, as memory is."""
    return np.dtype(f"<u{bits // 8}")
