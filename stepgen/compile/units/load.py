"""Static facts of `load`: an affine read of a tensor, once or for every element of a reference.

Ports
    inputs ``(ref, data)`` by reference, ``(data)`` alone else; outputs ``(out, req)``.
    ``data`` and ``req`` are raw and come from `channels`; ``ref`` may carry structure alone.
Params
    region : str
        Name of the tensor.
    base : int
        Its address in bytes, a multiple of the bus word.
    tile_bytes : int
        Bytes of one tile, a multiple of the bus word.
    rows, slices : int
        Rows of a tile, and beats of a row.
    shape, stride : list of int
        Out shape ``[O_{a-1}, …, O_0]`` and its strides in tiles, outermost first. By reference it
        may be empty: one tile per element.
    ref_level : int or None
        Wire level at which an element of ``ref`` closes: 2 for tiles, 0 for selectors and flags.
        None for the static load, which reads once per run; its outermost dim is closed by ``DONE``.
    ref_rank : int or None
        Highest wire stop level of ``ref``.
    ahead : int
        Elements of ``ref`` that may be under way at once, 2 to 64.
    prompt : bool
        Whether the last beat of a pass goes without waiting for the end of its element, for
        consumers that look at no stops: it then closes the pass alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...ir.wire import TILE_LEVELS
from ..design import Bus, Channel, Design, Unit
from ..sizing.pace import Extents, Paces, Part, Queue, copied
from .axi import burst, request_bits

AHEAD = 8
"""Elements of a reference under way at once, where nobody asks for another number."""

REQUESTS = 2
"""Bursts whose address is known before there is room for their data."""


@dataclass(frozen=True)
class Walk:
    """The words that one pass reads, as nested runs of consecutive words.

    Attributes
    ----------
    base : int
        First word of the first run.
    words : int
        Words of a run.
    extents : tuple of int
        Loops around the run, innermost first, none of extent 1.
    strides : tuple of int
        By loop, words from one step to the next.
    jumps : tuple of int
        By loop, words from the start of a run to the start of the next when this loop steps and
        all loops inside it start over.
    """

    base: int
    words: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    jumps: tuple[int, ...]


def walk(params: Mapping[str, Any], bus: Bus) -> Walk:
    """The runs of a pass; dims that lie one after the other in memory are joined into one run."""
    tile = params["tile_bytes"] // bus.bytes
    words = tile
    extents: list[int] = []
    strides: list[int] = []
    for extent, stride in zip(reversed(params["shape"]), reversed(params["stride"]), strict=True):
        if extent == 1:
            continue
        if not extents and stride * tile == words:
            words *= extent
            continue
        extents.append(extent)
        strides.append(stride * tile)
    back, jumps = 0, []
    for extent, step in zip(extents, strides, strict=True):
        jumps.append(step - back)
        back += (extent - 1) * step
    return Walk(params["base"] // bus.bytes, words, tuple(extents), tuple(strides), tuple(jumps))


def longest_burst(params: Mapping[str, Any], bus: Bus, depth: int) -> int:
    """Words of the longest burst of a load whose words wait in a FIFO of `depth`."""
    return min(burst(bus, depth), walk(params, bus).words)


def parameters(
    *,
    region: str,
    base: int,
    tile_bytes: int,
    rows: int,
    slices: int,
    shape: Sequence[int],
    stride: Sequence[int],
    ref_level: int | None = None,
    ref_rank: int | None = None,
    ahead: int = AHEAD,
    prompt: bool = False,
) -> dict[str, Any]:
    """The params of a load, as the module says."""
    return {
        "region": region,
        "base": base,
        "tile_bytes": tile_bytes,
        "rows": rows,
        "slices": slices,
        "shape": list(shape),
        "stride": list(stride),
        "ref_level": ref_level,
        "ref_rank": ref_rank,
        "ahead": ahead,
        "prompt": prompt,
    }


def problem(params: Mapping[str, Any], bus: Bus, beat_bits: int, size: int) -> str | None:
    """Why a load with these params can't be built, or None.

    Parameters
    ----------
    params, bus
        Of the unit and the design.
    beat_bits : int
        Lanes times bits of a lane of ``out``.
    size : int
        Bytes of the tensor.
    """
    region, tile = params["region"], params["tile_bytes"]
    if params["ref_level"] is None and not params["shape"]:
        return f"a load of {region} without a reference needs an out shape"
    if any(extent < 1 for extent in params["shape"]):
        return f"the out shape {params['shape']} of a load of {region} has an empty dim"
    if beat_bits & (beat_bits - 1) or beat_bits < 8:
        return (
            f"a beat of {beat_bits} bits can't be cut from bus words of {bus.data_bits} bits, "
            f"lanes times bits must be a power of two of at least 8"
        )
    if tile % bus.bytes:
        return f"a tile of {region} is {tile} bytes, not a multiple of the bus word of {bus.bytes}"
    if params["base"] % bus.bytes:
        return f"{region} lies at {params['base']}, not a multiple of the bus word of {bus.bytes}"
    spans = [(e - 1) * s for e, s in zip(params["shape"], params["stride"], strict=True)]
    first, last = sum(min(0, s) for s in spans), sum(max(0, s) for s in spans)
    if first < 0 or (last + 1) * tile > size:
        return (
            f"a load reads tiles {first} to {last} of {region}, which has "
            f"tiles 0 to {size // tile - 1}"
        )
    return None


def channels(name: str, bus: Bus, depth: int) -> tuple[Channel, Channel]:
    """The channels ``<name>_req`` and ``<name>_data`` between a load and the arbiter.

    Parameters
    ----------
    name : str
        Of the load.
    bus : Bus
    depth : int
        Bus words that may be requested and not yet used, from 2 on. At full rate it takes the
        memory's latency and a burst.
    """
    return (
        Channel(f"{name}_req", 1, request_bits(bus), None, 2, signed=False),
        Channel(f"{name}_data", 1, bus.data_bits, None, depth, signed=False),
    )


def bursts(bus: Bus) -> Channel:
    """The channel inside with the bursts whose address is known."""
    return Channel("bursts", 1, request_bits(bus), None, REQUESTS)


def closes(unit: Unit, design: Design) -> Channel:
    """The channel inside with what the elements of the reference close."""
    rank = design.channel[unit.inputs[0]].rank
    return Channel("closes", 0, 0, rank, unit.params["ahead"])


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside."""
    by_reference = unit.params["ref_level"] is not None
    return [bursts(design.bus), *([closes(unit, design)] if by_reference else [])]


def pass_level(params: Mapping[str, Any]) -> int:
    """Wire level that the last beat of a pass closes, the reference's own levels not counted."""
    static = params["ref_level"] is None
    return TILE_LEVELS + len(params["shape"]) - int(static)


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """By reference two: what an element asks for is on its way while the element goes on.

    The memory is no path between units: a load asks for what it has room for, and what is asked for
    comes.
    """
    out, params = unit.outputs[0], unit.params
    base = params["ref_level"]
    if base is None:
        return [Part((), (out,), copied(out))]
    ref, due = unit.inputs[0], f"{unit.name}.closes"
    dims = extents[ref]
    queue = Queue(dims, [(base, params["ahead"])])

    def follow(paces: Paces) -> Paces:
        x = paces[due].moved(base, pass_level(params) - base)
        one = params["prompt"] and paces[due].count(dims, base) == 1
        return {out: replace(x, prompt=x.prompt or (one and x.opened))}

    return [
        Part((ref,), (due,), copied(due), queues={due: queue}),
        Part((due,), (out,), follow),
    ]
