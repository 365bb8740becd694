"""Writes waveforms as FST, by pylibfst, which has GTKWave's writer."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stepgen.ir.errors import StepError

TICKS = 10
"""Units of time in a cycle, which lasts a nanosecond: a cursor reads cycles."""

_TIMESCALE = -10


def available() -> bool:
    """Whether pylibfst is installed, which has no wheel for every system."""
    try:
        import pylibfst  # noqa: F401
    except ImportError:
        return False
    return True


class Fst:
    """A waveform that is being written; scopes and variables go first.

    Parameters
    ----------
    context : object
        Of pylibfst.
    """

    def __init__(self, context: Any) -> None:
        from pylibfst import ffi, lib

        self._context, self._lib, self._ffi = context, lib, ffi

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """What is made meanwhile belongs together."""
        self._lib.fstWriterSetScope(
            self._context, self._lib.FST_ST_VCD_MODULE, name.encode(), self._ffi.NULL
        )
        yield
        self._lib.fstWriterSetUpscope(self._context)

    def names(self, name: str, texts: Mapping[int, str], bits: int) -> int:
        """Names of numbers, for `wire`."""
        words = [self._ffi.new("char[]", text.encode()) for text in texts.values()]
        codes = [self._ffi.new("char[]", f"{n:0{bits}b}".encode()) for n in texts]
        return int(
            self._lib.fstWriterCreateEnumTable(
                self._context, name.encode(), len(texts), bits, words, codes
            )
        )

    def wire(self, name: str, bits: int, *, names: int = 0, alias: int = 0) -> int:
        """A variable of bits: its number. With an `alias` it is another one under this name."""
        if names:
            self._lib.fstWriterEmitEnumTableRef(self._context, names)
        return self._variable(self._lib.FST_VT_VCD_WIRE, name, bits, alias)

    def integer(self, name: str, bits: int, *, alias: int = 0) -> int:
        """A variable that viewers show as a signed number, in decimal."""
        return self._variable(self._lib.FST_VT_VCD_INTEGER, name, bits, alias)

    def real(self, name: str) -> int:
        """A variable of doubles."""
        return self._variable(self._lib.FST_VT_VCD_REAL, name, 8)

    def time(self, ticks: int) -> None:
        """Go on to a later time."""
        self._lib.fstWriterEmitTimeChange(self._context, ticks)

    def bits(self, number: int, bits: bytes) -> None:
        """Set a variable of bits, the highest first, as ASCII."""
        self._lib.fstWriterEmitValueChange(self._context, number, bits)

    def double(self, number: int, value: float) -> None:
        """Set a variable of doubles."""
        self._lib.fstWriterEmitValueChange(self._context, number, struct.pack("d", value))

    def _variable(self, kind: int, name: str, bits: int, alias: int = 0) -> int:
        lib = self._lib
        return int(
            lib.fstWriterCreateVar(
                self._context, kind, lib.FST_VD_IMPLICIT, bits, name.encode(), alias
            )
        )


@contextmanager
def writing(path: Path) -> Iterator[Fst]:
    """Write a file.

    Raises
    ------
    StepError
        If it can't be made.
    """
    from pylibfst import ffi, lib

    from stepgen.ir.versions import version

    context = lib.fstWriterCreate(str(path).encode(), 1)
    if context == ffi.NULL:
        raise StepError(f"can't write {path}")
    try:
        lib.fstWriterSetPackType(context, lib.FST_WR_PT_LZ4)
        lib.fstWriterSetRepackOnClose(context, 1)
        lib.fstWriterSetTimescale(context, _TIMESCALE)
        lib.fstWriterSetVersion(context, f"stepgen {version()}".encode())
        lib.fstWriterSetDate(context, b"")
        yield Fst(context)
    finally:
        lib.fstWriterClose(context)
