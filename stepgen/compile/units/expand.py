"""Facts of expand: each tile repeated, from a memory.

Ports
-----
x [, ref] -> y; y comes out of the memory's pipeline.

Parameters
----------
count : int or None
    Times that each tile is repeated; None where `ref` says it.
level : int
    Wire level of `x` that closes an element: 2 + the number of its innermost dims of extent 1
    (2 + 1 with `count`). Level k of ref is level ``2 + k`` of `y`.
ref_base : int
    Wire level that closes an element of `ref`: 2 for tiles, 0 for selectors and flags.
capacity : int
    Beats of the memory, at least those of the largest tile that is sent more than once; twice
    that to go from tile to tile without a gap.
bits : int
    Bits of an element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import stages
from ..design import Channel, Design, Unit

ENDS = 16
"""Tiles whose last beats the reading side knows ahead."""


def delay(params: Mapping[str, Any], lanes: int) -> int:
    """Pipeline of the output in cycles."""
    return stages.BLOCK_RAM


def width(params: Mapping[str, Any], lanes: int) -> int:
    """Bits of a word of the memory: a beat and whether it ends a row."""
    return lanes * int(params["bits"]) + 1


def ends(params: Mapping[str, Any], rank: int) -> Channel:
    """The channel inside that tells the reading side where tiles end."""
    address_bits = max(1, (params["capacity"] - 1).bit_length())
    return Channel("ends", 1, address_bits, rank, depth=max(2, min(ENDS, params["capacity"])))


def elements(params: Mapping[str, Any], rank: int) -> Channel:
    """The channel inside with one beat per element of a `ref` of wire rank `rank`."""
    return Channel("elements", 0, 0, rank - int(params["ref_base"]))


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside."""
    made = [ends(unit.params, _rank(unit, design, 0))]
    if unit.params["ref_base"]:
        made.append(elements(unit.params, _rank(unit, design, 1)))
    return made


def _rank(unit: Unit, design: Design, index: int) -> int:
    rank = design.channel[unit.inputs[index]].rank
    assert rank is not None
    return rank


def memory_bits(params: Mapping[str, Any], design: Design) -> int:
    """Bits of the replay memory."""
    return int(params["capacity"]) * width(params, design.lanes)
