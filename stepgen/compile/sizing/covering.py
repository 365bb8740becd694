"""Words that a load asks for ahead, where two bursts do not cover an answer's way."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stepgen.hw.design.pace import Extents, span
from stepgen.hw.design.table import Design
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader

ON_CHIP = 6
"""Cycles from a slot that is free to a request on the bus, and from a word on it to the slot."""


def covering(design: Design, extents: Mapping[str, Extents]) -> dict[str, int]:
    """Depths with which the bus moves a word in every cycle, whoever asks for it.

    A load asks for a burst once there is space for it, and the answer takes the memory's latency.
    Meanwhile words of other loads come; one that reads most of all needs more bursts under way.
    How much each reads follows from the dims of what it sends. A loader asks for one burst while
    another comes in, since no other load fills the time.

    Parameters
    ----------
    design : Design
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.

    Returns
    -------
    dict of str to int
        The channels of words that must be deeper, with their depths.
    """
    bus, loads = design.bus, [*design.of_kind(Load), *design.of_kind(Loader)]
    bits = {
        unit.name: sum(_bits(design, extents, name) for name in unit.outputs.values())
        for unit in loads
    }
    endless = sum(map(math.isinf, bits.values()))
    total = sum(bits.values())
    depths = {}
    for unit in loads:
        own = bits[unit.name]
        share = math.isinf(own) / endless if endless else own / max(1, total)
        words = min(share * (bus.burst + bus.latency + ON_CHIP), own / bus.data_bits)
        depth = math.ceil(words / bus.burst) * bus.burst
        if isinstance(unit.params, Loader):
            depth += bus.burst
        if depth > design.channel[unit.inputs["data"]].depth:
            depths[unit.inputs["data"]] = depth
    return depths


def _bits(design: Design, extents: Mapping[str, Extents], name: str) -> float:
    """Bits that a load sends in a run by a channel, at most; none by that of its requests."""
    if name not in extents:
        return 0
    channel = design.channel[name]
    return span(extents[name], 0, len(extents[name])) * channel.lanes * channel.bits
