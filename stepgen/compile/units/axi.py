"""Static facts of `axi`: the AXI4 master, and the words that travel to and from it.

Ports
    inputs ``(ar)`` if there are reads, then ``(aw, w)`` if there are writes;
    outputs ``(r)`` if there are reads, then ``(b)`` if there are writes.
Params
    reads, writes : bool
        Whether the design reads and writes memory.

The unit is a port: it has no state, and the off-chip memory answers behind it. All its channels
are raw; a request names a word of the bus, not a byte.
"""

from __future__ import annotations

from ..design import Bus

LENGTH_BITS = 8
"""Bits of a burst's length, which is one more than the number says."""


def word_address_bits(bus: Bus) -> int:
    """Bits of the address of a bus word."""
    return bus.address_bits - (bus.bytes - 1).bit_length()


def request_bits(bus: Bus) -> int:
    """Bits of ``ar``, ``aw`` and of a load's ``req``: length minus one, then the word address."""
    return LENGTH_BITS + word_address_bits(bus)


def write_request_bits(bus: Bus) -> int:
    """Bits of a store's ``wreq``: valid bytes of its last word minus one, above it a request."""
    return (bus.bytes - 1).bit_length() + request_bits(bus)


def read_bits(bus: Bus) -> int:
    """Bits of ``r``: whether the word is the last of its burst, above it the word."""
    return 1 + bus.data_bits


def write_bits(bus: Bus) -> int:
    """Bits of ``w``: whether the word is the last of its burst, byte strobes, the word."""
    return 1 + bus.bytes + bus.data_bits


def burst(bus: Bus, depth: int) -> int:
    """Words of the longest burst of a unit whose words wait in a FIFO of `depth`: a power of two.

    A burst is asked for only when the FIFO has room for all of it, and written only when the FIFO
    holds all of it, so a shallow FIFO means short bursts, never a deadlock.
    """
    return min(bus.burst, 1 << (depth.bit_length() - 1))
