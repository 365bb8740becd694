"""Depth of the FIFOs that close loops: a chunk that goes round must fit, with one slot to move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from stepgen.compile.sizing.network import Network
from stepgen.hw.design.pace import Extents, span
from stepgen.hw.design.table import Design


def circulating(
    design: Design, extents: Mapping[str, Extents], fed_back: AbstractSet[str]
) -> dict[str, int]:
    """Depths with which one chunk of any size can go round each loop.

    A loop starts to consume a chunk again only when it has sent all of it, so the FIFOs of the loop
    must hold the largest one and have a free slot. How many chunks circulate at a time does not
    follow from types.

    Parameters
    ----------
    design : Design
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.
    fed_back : set of str
        Channels that are read before they are written.

    Returns
    -------
    dict of str to int
        The channels that must be deeper, with their depths in beats; none without a bound.
    """
    forward = Network(design, extents, fed_back).edges
    depths = {}
    for name in fed_back - forward.keys():
        chunk = span(extents[name], 0, len(extents[name]) - 1)
        if not math.isinf(chunk) and chunk + 1 > design.channel[name].depth:
            depths[name] = int(chunk) + 1
    return depths
