"""AXI4 master, and the formats of requests and words at its ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import LUTRAM, MEMORY_LATENCY, Bus, Channel, Design, Unit

LENGTH_BITS = 8
"""Bits of the field that holds a burst's length minus one."""


@dataclass(frozen=True)
class Axi(UnitParams):
    """The AXI4 master of a design: reads by ``ar`` and ``r``, writes by ``aw``, ``w`` and ``b``.

    The unit is a port without state; the off-chip memory is not part of the design. All its
    channels are raw; a request holds the address of a bus word, not of a byte.

    Parameters
    ----------
    reads, writes : bool
        Whether the design reads and writes memory; determines the ports.
    """

    reads: bool
    writes: bool

    kind: ClassVar = "axi"
    per_run: ClassVar = True

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("ar",) * self.reads + ("aw", "w") * self.writes

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("r",) * self.reads + ("b",) * self.writes

    def raw(self, bus: Bus) -> dict[str, Format]:
        """The format of the words at each port."""
        formats = {
            "ar": words(request_bits(bus)),
            "r": words(read_bits(bus)),
            "aw": words(request_bits(bus)),
            "w": words(write_bits(bus)),
            "b": words(1),
        }
        return {port: formats[port] for port in (*self.inputs, *self.outputs)}

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        return {UNTOLD: "the off-chip memory answered a transfer with an error"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if not self.reads and not self.writes:
            return "it neither reads nor writes"
        first = next(design.of_kind(Axi))
        if first.name != unit.name:
            return f"a design has one port to the off-chip memory, and it is {first.name}"
        return misfit(unit, design, **self.raw(design.bus))


def words(bits: int, delay: int = 0) -> Format:
    """The format of requests, bus words or acknowledgements."""
    return Format(1, bits, None, delay)


def raw_channel(name: str, form: Format, depth: int = 2) -> Channel:
    """A raw channel, deep enough for one word per cycle."""
    least = form.delay + MEMORY_LATENCY[LUTRAM] + 1
    return Channel(name, form.lanes, form.bits, None, max(depth, least), delay=form.delay)


def word_address_bits(bus: Bus) -> int:
    """Bits of the address of a bus word."""
    return bus.address_bits - (bus.bytes - 1).bit_length()


def request_bits(bus: Bus) -> int:
    """Bits of ``ar``, ``aw`` and of a load's ``req``: length minus one, then the word address."""
    return LENGTH_BITS + word_address_bits(bus)


def write_request_bits(bus: Bus, *, within: bool = False) -> int:
    """Bits of a store's ``wreq``.

    It is a request, above it the valid bytes of its last word minus one and, for a store whose
    bursts start `within` a word, the first byte of its first word.
    """
    return (1 + within) * (bus.bytes - 1).bit_length() + request_bits(bus)


def read_bits(bus: Bus) -> int:
    """Bits of ``r``: whether the word is the last of its burst, above it the word."""
    return 1 + bus.data_bits


def write_bits(bus: Bus) -> int:
    """Bits of ``w``: whether the word is the last of its burst, byte strobes, the word."""
    return 1 + bus.bytes + bus.data_bits


def burst(bus: Bus, depth: int) -> int:
    """Words of a unit's longest burst, by the depth of its FIFO of words: a power of two.

    A read is requested only when the FIFO has space for all of it, and a write only when the FIFO
    holds all of it, so a shallow FIFO means short bursts, never a deadlock.
    """
    return min(bus.burst, 1 << (depth.bit_length() - 1))
