"""Memory map: the address range of every tensor, and the width of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stepgen.hw.design.table import Bus, Region, width_of
from stepgen.ir.arguments import ADDRESS_BITS
from stepgen.ir.dtypes import Tile, address
from stepgen.ir.function import Function
from stepgen.ir.graph import Graph
from stepgen.ir.offchip import layout_of, say_layout, tile_of, tiles_of
from stepgen.ir.operator import operators
from stepgen.ir.stream import Node
from stepgen.ir.tensor import Tensor
from stepgen.ir.wire import number_bits

ALIGNMENT = 4096
"""Alignment of tensors in bytes: AXI bursts must not cross such a boundary."""


FREE_NUMBER_BITS = 32
"""Bits of an address on a wire of a design that accesses nothing by address, or sends addresses."""


def place_tensors(graph: Graph, others: Mapping[str, Region] | None = None) -> dict[str, Region]:
    """Assign an address range to each tensor that an operator uses.

    A tensor without a given address is placed behind all those before it, where no other's is.

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
        If one overlaps another in the same memory, is used in different layouts, or ends beyond the
        widest address.
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
            base = _free(tensor, behind) if tensor.base is None else tensor.base
            region = _region(node, tensor, tile, base)
            _check_apart(node, tensor.name, region, apart)
            regions[tensor.name] = region
            behind = max(behind, _aligned(region.end))
            continue
        its, layout = None if known.tile[1] == known.cols else known.tile, layout_of(node)
        if its != layout:
            raise node.failure(
                f"tensor {tensor.name} lies off chip {say_layout(its)} and can't be accessed "
                f"{say_layout(layout)}"
            )
    return regions


def widened(bus: Bus, regions: dict[str, Region]) -> Bus:
    """The bus with addresses wide enough for all regions."""
    needed = max((width_of(region.end) for region in regions.values()), default=0)
    return replace(bus, address_bits=max(bus.address_bits, needed))


def number_bits_of(graph: Graph) -> int:
    """Bits of an address on a wire: for all tiles that are accessed, and numbers that are used.

    Where addresses leave by a port or are stored, they may be any numbers.
    """
    taking = [
        node
        for node in graph.nodes
        for x in node.inputs
        if isinstance(x.dtype, Tile) and x.dtype.element == address
    ]
    tiles = [tiles_of(node) for node in taking if "tile" in node.attrs]
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
    """Shape of the tiles by which a tensor lies in memory; of rows where it lies row by row.

    Of these a host may take any number as a tile: here as many as the node has in one.
    """
    height, width = node.graph.tensors[node.attrs["tensor"]].shape
    layout, tile = layout_of(node), tile_of(node)
    if layout is None:
        whole = tile is not None and tile[1] == width and height % tile[0] == 0
        return tile if tile is not None and whole else (1, width)
    return layout


def _free(tensor: Tensor, behind: int) -> int:
    """The first address from `behind` on at which no other tensor was put by its user."""
    given = [(t.base, t.bytes) for t in tensor.graph.tensors.values() if t.base is not None]
    for base, size in sorted(given):
        if behind < base + size and base < behind + tensor.bytes:
            behind = _aligned(base + size)
    return behind


def _region(node: Node, tensor: Tensor, tile: tuple[int, int], base: int) -> Region:
    region = Region(base, tensor.bytes, *tensor.shape, tile, tensor.element.name)
    if width_of(region.end) > ADDRESS_BITS:
        raise node.failure(
            f"tensor {tensor.name} of {region.size} bytes at {base} does not fit into the "
            f"{ADDRESS_BITS} bits of an address"
        )
    return region


def _check_apart(node: Node, name: str, region: Region, others: Mapping[str, Region]) -> None:
    for other, known in others.items():
        if region.base < known.end and known.base < region.end:
            raise node.failure(
                f"tensor {name} of {region.size} bytes at {region.base} overlaps tensor "
                f"{other} of {known.size} bytes at {known.base}"
            )
