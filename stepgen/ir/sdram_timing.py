"""Timing of an SDR SDRAM and its controller, for hardware and cycle model."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError

BANKS = 4
ALL_BANKS = 10
"""The address pin with which a precharge closes all banks; columns have the pins below."""

MOST_TRANSFERS = 8
"""Of a bus word: the longest burst that an SDR SDRAM has."""


@dataclass(frozen=True)
class SdramTiming:
    """An SDR SDRAM of four banks, in cycles of a clock; the rules are in ``docs/memory-timing.md``.

    Parameters
    ----------
    data_bits : int
        Data pins, 16 or 32.
    column_bits, row_bits : int
        Of an address.
    cas : int
        From a read command to its first data, 2 or 3.
    rcd : int
        From the activation of a row to the first command on it (tRCD).
    rp : int
        From the precharge of a bank to its next activation (tRP).
    ras : int
        From the activation of a row to the precharge of its bank (tRAS).
    rc : int
        From one activation of a bank to the next (tRC).
    wr : int
        From the last data written to the precharge of the bank (tWR).
    rfc : int
        From a refresh to the next command (tRFC).
    mrd : int
        From the setting of the mode to the next command (tMRD).
    refi : int
        Between refreshes (tREFI).
    wake : int
        From power-up to the first command.
    late : int
        Cycles that what is read needs on its way from the chip, see `stepgen.ir.sdram_clock`.

    Raises
    ------
    StepError
        If a setting is out of range.
    """

    data_bits: int
    column_bits: int
    row_bits: int
    cas: int
    rcd: int
    rp: int
    ras: int
    rc: int
    wr: int
    rfc: int
    mrd: int
    refi: int
    wake: int
    late: int = 0

    def __post_init__(self) -> None:
        take_fields(self)
        allowed = {"data_bits": (16, 32), "cas": (2, 3)}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in allowed and value not in allowed[item.name]:
                one, other = allowed[item.name]
                raise StepError(f"SDRAM: {item.name} must be {one} or {other}, not {value}")
            least = 0 if item.name == "late" else 1
            if value < least:
                raise StepError(f"SDRAM: {item.name} must be {least} or more, not {value}")
        if self.column_bits > ALL_BANKS:
            raise StepError(
                f"SDRAM: column_bits must be at most {ALL_BANKS}, not {self.column_bits}"
            )
        if self.refi < 2 * (self.rp + self.rfc):
            raise StepError(
                f"SDRAM: a refresh every {self.refi} cycles leaves no time for data: one takes "
                f"{self.rp + self.rfc}; choose a faster clock"
            )

    @classmethod
    def at(cls, hz: int, chip: dict[str, Any], late: int = 0) -> SdramTiming:
        """The timing at a clock, of a chip whose times are given in nanoseconds.

        Parameters
        ----------
        hz : int
        chip : dict
            ``data_bits``, ``column_bits``, ``row_bits``, ``cas`` as here, ``wake_us`` in
            microseconds, ``mrd`` in cycles, the others in nanoseconds.
        late : int
            As here.
        """

        def cycles(name: str) -> int:
            return max(1, math.ceil(float(chip[name]) * hz / 1e9 - 1e-6))

        given = {name: chip[name] for name in ("data_bits", "column_bits", "row_bits", "cas")}
        times = {name: cycles(name) for name in ("rcd", "rp", "ras", "rc", "wr", "rfc")}
        refi = math.floor(chip["refi"] * hz / 1e9)
        wake = math.ceil(chip["wake_us"] * hz / 1e6)
        return cls(**given, **times, mrd=chip["mrd"], refi=refi, wake=wake, late=late)

    TURNS = 4
    """Bursts of one direction in a row while the other one waits."""

    def queues(self, longest: int) -> dict[str, int]:
        """Depths of the controller's queues on the channels of the bus.

        Parameters
        ----------
        longest : int
            Words of the longest burst.
        """
        return {"ar": 4, "aw": 4, "w": max(8, 2 * longest), "r": max(16, 2 * longest + 8), "b": 4}

    @property
    def bytes(self) -> int:
        """Of the whole memory."""
        return BANKS << self.row_bits + self.column_bits + (self.data_bits // 8).bit_length() - 1

    @property
    def address_bits(self) -> int:
        """Address pins."""
        return max(self.row_bits, ALL_BANKS + 1)

    @property
    def row_bytes(self) -> int:
        """Of a row of a bank."""
        return self.data_bits // 8 << self.column_bits

    @property
    def open_for(self) -> int:
        """Cycles that a bank stays open at least, so that both tRAS and tRC are kept."""
        return max(self.ras, self.rc - self.rp)

    @property
    def settled(self) -> int:
        """Cycles at the start of a run in which what went on before has come to its end."""
        return self.rp + self.rfc + self.open_for + self.wr + MOST_TRANSFERS + 4

    def place(self, byte: int) -> int:
        """Where the chip has what lies at an address: row, bank and column in one number.

        Rows spread tensors at steps of powers of two over the banks.
        """
        word = byte // (self.data_bits // 8)
        page = word >> self.column_bits
        bank, left = 0, page
        while left:
            bank, left = bank ^ left % BANKS, left // BANKS
        return (page // BANKS * BANKS + bank << self.column_bits) | word % (1 << self.column_bits)

    def transfers(self, word_bits: int) -> int:
        """Transfers on the data pins that a bus word takes.

        Raises
        ------
        StepError
            If the bus is narrower than the pins or too wide for one burst of them.
        """
        count = word_bits // self.data_bits
        if not 1 <= count <= MOST_TRANSFERS or word_bits % self.data_bits:
            raise StepError(
                f"an SDRAM of {self.data_bits} data pins serves buses of {self.data_bits} to "
                f"{self.data_bits * MOST_TRANSFERS} bits, not of {word_bits}: give --bus-bits"
            )
        return count

    def check(self, word_bits: int, longest: int) -> None:
        """Check that a bus fits.

        Parameters
        ----------
        word_bits, longest : int
            Bits of a bus word, and words of the longest burst.

        Raises
        ------
        StepError
            If its words don't fit the pins, or its bursts a row.
        """
        self.transfers(word_bits)
        size = longest * word_bits // 8
        if size > self.row_bytes:
            raise StepError(
                f"a burst of {longest} words of {word_bits} bits has {size:,} bytes, but a row of "
                f"the SDRAM {self.row_bytes:,}: give --burst {self.row_bytes * 8 // word_bits} or "
                f"less"
            )

    def burst(self, word_bits: int) -> int:
        """Transfers of a command (burst length): a bus word, but two at least.

        A command takes a cycle, so that with bursts of one there would be none left for others.
        """
        return max(2, self.transfers(word_bits))
