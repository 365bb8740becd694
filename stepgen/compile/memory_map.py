"""Memory map: the address range of every tensor, and the width of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..hw.design.table import Bus, Region, width_of
from ..ir.arguments import ADDRESS_BITS
from ..ir.dtypes import Tile, address
from ..ir.function import Function
from ..ir.graph import Graph
from ..ir.operator import operators
from ..ir.stream import Node
from ..ir.tensor import Tensor
from ..ir.wire import number_bits

ALIGNMENT = 4096
"""Alignment of tensors in bytes: AXI bursts must not cross such a boundary."""


FREE_NUMBER_BITS = 32
"""Bits of an address on a wire of a design that accesses nothing by address, or sends addresses."""


def place_tensors(graph: Graph, others: Mapping[str, Region] | None = None) -> dict[str, Region]:
    """Assign an address range to each tensor that an operator uses.

    A tensor without a given address is placed behind all those before it.

    Parameters
    ----------
    graph : Graph
        A checked graph.
    others : mapping of str to Region, optional
        What is in the same memory already.

    Returns
    -------
    dict of str to Region
        By tensor, in the order of first use.

    Raises
    ------
    StepError
        If tensors overlap, are used in different tiles, or end beyond the widest address.
    """
    regions: dict[str, Region] = {}
    apart = others or {}
    behind = max((_aligned(region.end) for region in apart.values()), default=0)
    for node in graph.nodes:
        if "tensor" not in node.attrs:
            continue
        tensor, tile = graph.tensors[node.attrs["tensor"]], _tile(node)
        known = regions.get(tensor.name)
        if known is None:
            region = _region(node, tensor, tile, behind if tensor.base is None else tensor.base)
            _check_apart(node, tensor.name, region, {**apart, **regions})
            regions[tensor.name] = region
            behind = max(behind, _aligned(region.end))
        elif known.tile != tile:
            raise node.failure(
                f"tensor {tensor.name} lies off chip in tiles of {known.tile[0]}x{known.tile[1]} "
                f"and can't be accessed in tiles of {tile[0]}x{tile[1]}"
            )
    return regions


def widened(bus: Bus, regions: dict[str, Region]) -> Bus:
    """The bus with addresses wide enough for all regions."""
    needed = max((width_of(region.end) for region in regions.values()), default=0)
    return replace(bus, address_bits=max(bus.address_bits, needed))


def number_bits_of(graph: Graph, regions: Mapping[str, Region]) -> int:
    """Bits of an address on a wire: for all tiles that are accessed, and numbers that are used.

    Where addresses leave by a port or are stored, they may be any numbers.
    """
    taking = [
        node
        for node in graph.nodes
        for x in node.inputs
        if isinstance(x.dtype, Tile) and x.dtype.element == address
    ]
    tiles = [regions[node.attrs["tensor"]].tiles for node in taking if "tensor" in node.attrs]
    leave = any(_leaves(node) for node in taking)
    functions = [node for node in graph.nodes if isinstance(node.attrs.get("fn"), Function)]
    used = (n.attrs["fn"].largest_number(*(s.dtype for s in n.inputs)) for n in functions)
    starts = (
        node.attrs.get("init") or 0 for node in functions if node.outputs[0].dtype == address[1, 1]
    )
    least = number_bits(max([0, *tiles, *used, *starts]))
    return least if tiles and not leave else max(least, FREE_NUMBER_BITS)


def _leaves(node: Node) -> bool:
    """Whether what a node takes last leaves by a port or is stored."""
    face, x = operators()[node.op], node.inputs[-1].dtype
    stored = face.writes == "tensor" and isinstance(x, Tile) and x.element == address
    return face.port == "out" or stored


def _aligned(address: int) -> int:
    return -(-address // ALIGNMENT) * ALIGNMENT


def _tile(node: Node) -> tuple[int, int]:
    """Shape of the tiles in which a node reads or writes its tensor."""
    if "tile" in node.attrs:
        rows, cols = node.attrs["tile"]
        return rows, cols
    dtype = node.inputs[-1].dtype
    assert isinstance(dtype, Tile)
    rows, cols = dtype.rows.static, dtype.cols.static
    if rows is None or cols is None:
        raise node.failure(f"off-chip tiles must have static extents, not {dtype}")
    return rows, cols


def _region(node: Node, tensor: Tensor, tile: tuple[int, int], base: int) -> Region:
    region = Region(base, tensor.bytes, *tensor.shape, tile, tensor.element.name)
    if width_of(region.end) > ADDRESS_BITS:
        raise node.failure(
            f"tensor {tensor.name} of {region.size} bytes at {base} does not fit into the "
            f"{ADDRESS_BITS} bits of an address"
        )
    return region


def _check_apart(node: Node, name: str, region: Region, others: dict[str, Region]) -> None:
    for other, known in others.items():
        if region.base < known.end and known.base < region.end:
            raise node.failure(
                f"tensor {name} of {region.size} bytes at {region.base} overlaps tensor "
                f"{other} of {known.size} bytes at {known.base}"
            )
