"""Static facts of `store`: a stream of tiles written to a tensor, one after the other.

Ports
    inputs ``(x, ack)``; outputs ``(wreq, wdata)``. All but ``x`` are raw and come from `channels`.
Params
    region : str
        Name of the tensor.
    base : int
        Its address in bytes, a multiple of the bus word.
    size : int
        Its bytes; a stream that holds more is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..design import Bus, Channel, Design, Unit
from .axi import write_request_bits


def parameters(*, region: str, base: int, size: int) -> dict[str, Any]:
    """The params of a store, as the module says."""
    return {"region": region, "base": base, "size": size}


def problem(params: Mapping[str, Any], bus: Bus, beat_bits: int) -> str | None:
    """Why a store with these params can't be built, or None; `beat_bits` as for a load."""
    if beat_bits & (beat_bits - 1) or beat_bits < 8:
        return (
            f"a beat of {beat_bits} bits can't be packed into bus words of {bus.data_bits} bits, "
            f"lanes times bits must be a power of two of at least 8"
        )
    if params["base"] % bus.bytes:
        region = params["region"]
        return f"{region} lies at {params['base']}, not a multiple of the bus word of {bus.bytes}"
    return None


def channels(name: str, bus: Bus, depth: int) -> tuple[Channel, Channel, Channel]:
    """The channels ``<name>_wreq``, ``<name>_wdata`` and ``<name>_ack`` to and from the arbiter.

    Parameters
    ----------
    name : str
        Of the store.
    bus : Bus
    depth : int
        Bus words that wait until their burst is whole, from 2 on; two bursts keep the bus busy.
    """
    return (
        Channel(f"{name}_wreq", 1, write_request_bits(bus), None, 2, signed=False),
        Channel(f"{name}_wdata", 1, bus.data_bits, None, depth, signed=False),
        Channel(f"{name}_ack", 1, 1, None, 2, signed=False),
    )


def bursts_ahead(bus: Bus) -> int:
    """Bursts of a store that may wait for their acknowledgement."""
    return bus.outstanding + 4


def bursts(bus: Bus) -> Channel:
    """The channel inside with the bursts that wait for their acknowledgement."""
    return Channel("bursts", 1, 2, None, bursts_ahead(bus))


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside."""
    return [bursts(design.bus)]
