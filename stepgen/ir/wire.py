"""Beats: encoding of a stream on a hardware channel.

A rank-a stream of ``[R, C]`` tiles is sent as beats of L lanes, one row slice each. Wire level 1
ends a row, 2 ends a tile, ``2 + k`` is S_k. Streams of selectors, flags and addresses have no tile
dims: their wire level is S_k itself. ``DONE`` is a separate beat at the end of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepgen.ir.dtypes import FLAG, DataType, Tile, address
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VALUE, BARE, DONE = 0, 1, 2
KIND_BITS = 2
KIND_MASK = (1 << KIND_BITS) - 1
TILE_LEVELS = 2
"""Wire levels of the two dims of a tile, below S_0."""
LANES = 4
"""Default of the lanes of a beat, which determine the order of floating-point sums."""


def check_lanes(lanes: int, what: str = "lanes") -> None:
    """Refuse lanes that circuits can't have; `what` begins the message."""
    if lanes not in (1, 2, 4, 8, 16, 32):
        raise StepError(f"{what} must be a power of two up to 32, not {lanes}")


def wire_levels(dtype: DataType) -> int:
    """Wire levels below S_0: 2 for tiles of numbers, 0 for selectors, flags and addresses."""
    numbers = isinstance(dtype, Tile) and dtype != FLAG and dtype.element != address
    return TILE_LEVELS if numbers else 0


def row_lanes(tile: Tile, lanes: int) -> int:
    """Lanes of a beat of tiles of numbers: 1 if columns are not static, so none is padded."""
    return 1 if tile.cols.static is None else lanes


ANY_NUMBER = (1 << 32) - 2
"""The largest address that circuits represent exactly, without a bound."""


def number_bits(tiles: int) -> int:
    """Bits of an address on a wire, where no tensor has more than so many tiles.

    All ones, which larger numbers become, is neither a number of a tile nor a length of a range.
    """
    return (tiles + 1).bit_length()


def narrowed(numbers: npt.NDArray[Any], bits: int) -> npt.NDArray[np.uint64]:
    """Addresses as they are on a wire of so many bits: what is too large becomes all ones."""
    import numpy as np

    return np.minimum(numbers.astype(np.uint64), np.uint64(number_limit(bits)))


def check_numbers(what: str, numbers: npt.NDArray[Any], bits: int) -> None:
    """Refuse addresses that leave a circuit, if it does not represent them exactly.

    Raises
    ------
    StepError
        If one is too large for wires of so many bits, with `what` gets it.
    """
    if numbers.size and int(numbers.max()) >= number_limit(bits):
        raise StepError(
            f"{what} gets the address {int(numbers.max())}, but its wires have {bits} bits, for "
            f"addresses below {number_limit(bits)}"
        )


def number_limit(bits: int) -> int:
    """What larger addresses become on a wire of so many bits."""
    return (1 << bits) - 1


def stop_bits(wire_rank: int) -> int:
    """Bits of a stop field that holds the levels 0 to `wire_rank`."""
    return wire_rank.bit_length()


def same_bits(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Whether two arrays have the same type, shape and bits; a NaN is the same as itself."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@dataclass(frozen=True)
class Beats:
    """All beats of one stream in one run, the closing ``DONE`` included.

    Attributes
    ----------
    kind : uint8 array of shape [n]
        ``VALUE``, ``BARE`` or ``DONE``.
    stop : uint8 array of shape [n]
        Number of innermost wire dims that close with the beat; 0 for ``DONE``.
    low : uint8 array of shape [n]
        For ``BARE`` (an empty token) the wire level of the empty group, else 0.
    data : array of shape [n, lanes]
        Lanes of the element type; for selectors the bits of the mask; zero if there is no value.
    """

    kind: npt.NDArray[np.uint8]
    stop: npt.NDArray[np.uint8]
    low: npt.NDArray[np.uint8]
    data: npt.NDArray[np.generic]

    def __post_init__(self) -> None:
        n = len(self.kind)
        if not (len(self.stop) == len(self.low) == len(self.data) == n):
            raise ValueError(
                f"Beats needs equally long arrays, not kind {n}, stop {len(self.stop)}, "
                f"low {len(self.low)} and data {len(self.data)}"
            )

    def __len__(self) -> int:
        return len(self.kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beats) and all(
            same_bits(getattr(self, name), getattr(other, name))
            for name in ("kind", "stop", "low", "data")
        )
