"""Off-chip memory: layout of tensors, and reads and writes of operators.

A tensor that is used with tiles of R x C is stored by tiles: the grid of tiles is row-major, each
tile is contiguous and row-major inside. If C is the tensor's width this is the plain row-major
matrix, for any R.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.ir.dtypes import ElementType
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.hazards import hazards
from stepgen.ir.offchip import Layout, layout_of, say_layout
from stepgen.ir.stream import Node
from stepgen.ir.system import programs
from stepgen.ir.tensor import Tensor
from stepgen.semantics.access_order import Past
from stepgen.semantics.numbers import DTYPES, Array, as_element


def as_matrix(tensor: Tensor, contents: Any) -> Array:
    """Return a user's contents of a tensor as elements of its type.

    Raises
    ------
    StepError
        If a shape or an element does not fit.
    """
    element = tensor.element
    matrix = as_element(contents, element.on_chip.name, f"tensor {tensor.name}")
    if element.packed > 1 and matrix.size:
        low, high = element.limits or (0, 0)
        strange = matrix[(matrix < low) | (matrix > high)]
        if strange.size:
            raise StepError(
                f"tensor {tensor.name} holds {strange[0]}, which does not fit into {element}"
            )
    if matrix.shape != tensor.shape:
        raise StepError(
            f"tensor {tensor.name} has shape {list(tensor.shape)}, "
            f"but its contents have shape {list(matrix.shape)}"
        )
    return matrix


def as_bytes(elements: Array, element: ElementType) -> npt.NDArray[np.uint8]:
    """Return elements in memory order as bytes; of several in a byte the first is lowest."""
    raw = np.ascontiguousarray(elements).view(np.uint8).reshape(-1, element.packed)
    if element.packed == 1:
        return raw.ravel()
    places = np.arange(element.packed, dtype=np.uint8) * np.uint8(element.bits)
    mask = np.uint8((1 << element.bits) - 1)
    joined: npt.NDArray[np.uint8] = np.bitwise_or.reduce((raw & mask) << places, axis=1)
    return joined


def from_bytes(data: npt.NDArray[np.uint8], element: ElementType) -> Array:
    """Return the elements in memory order that bytes are; the inverse of `as_bytes`."""
    if element.packed == 1:
        return data.view(DTYPES[element.on_chip.name])
    low = 8 - element.bits
    parts = [data << (low - k * element.bits) for k in range(element.packed)]
    return (np.stack(parts, 1).view(np.int8) >> low).ravel()


def to_image(matrix: Array, layout: Layout) -> Array:
    """Return the elements of a matrix in memory order."""
    if layout is None:
        return matrix.ravel()
    (rows, cols), (r, c) = matrix.shape, layout
    return matrix.reshape(rows // r, r, cols // c, c).swapaxes(1, 2).ravel()


def from_image(image: Array, shape: tuple[int, int], layout: Layout) -> Array:
    """Return the matrix whose elements in memory order are `image`."""
    if layout is None:
        return image.reshape(shape)
    (rows, cols), (r, c) = shape, layout
    return image.reshape(rows // r, cols // c, r, c).swapaxes(1, 2).reshape(shape)


def layouts(graph: Graph) -> dict[str, Layout]:
    """Return the layout of every tensor, as its uses require it.

    Raises
    ------
    StepError
        If two uses of a tensor need different layouts.
    """
    return {
        begin + name: layout
        for begin, one in programs(graph).items()
        for name, layout in _layouts(one).items()
    }


def _layouts(graph: Graph) -> dict[str, Layout]:
    asked: dict[str, tuple[Layout, Node]] = {}
    for node in graph.nodes:
        if "tensor" not in node.attrs:
            continue
        tensor = graph.tensors[node.attrs["tensor"]]
        layout = layout_of(node)
        if tensor.name in asked and asked[tensor.name][0] != layout:
            other, its = asked[tensor.name]
            raise StepError(
                f"tensor {tensor.name} can't be stored {say_layout(other)} for {its.name} and "
                f"{say_layout(layout)} for {node.name} at once; declare two tensors"
            )
        asked[tensor.name] = layout, node
    return {name: asked[name][0] if name in asked else None for name in graph.tensors}


class TensorMemory:
    """The contents of off-chip memory during a run.

    Parameters
    ----------
    graph : Graph
        Declares the tensors.
    contents : mapping of str to array
        Matrices by tensor name; tensors that are only written may be missing.

    Raises
    ------
    StepError
        If a shape or an element does not fit, or a tensor that is only read is missing.
    """

    def __init__(self, graph: Graph, contents: Mapping[str, Any]) -> None:
        self.tensors = graph.tensors
        self.layouts = layouts(graph)
        users: dict[str, list[Node]] = {name: [] for name in graph.tensors}
        for node in graph.nodes:
            if "tensor" in node.attrs:
                users[node.attrs["tensor"]].append(node)
        self._written = {n for n, nodes in users.items() if any(u.face.writes for u in nodes)}
        self._hazards = hazards(graph)
        self._accessors = [n.name for one in self._hazards.values() for n in one.nodes]
        self._pasts: dict[str, Past] = {}
        self.images: dict[str, Array] = {}
        self.stored = {n: np.zeros(self._size(n), np.bool_) for n in sorted(self._written)}
        for name, tensor in graph.tensors.items():
            if name in contents:
                matrix = as_matrix(tensor, contents[name])
                self.images[name] = to_image(matrix, self.layouts[name])
                if name in self._written:
                    self.images[name] = self.images[name].copy()
            elif users[name] and name not in self._written:
                raise StepError(
                    f"tensor {name} is read by {users[name][0].name} but has no contents"
                )
            else:
                self.images[name] = np.zeros(self._size(name), DTYPES[tensor.element.on_chip.name])

    def _size(self, name: str) -> int:
        rows, cols = self.tensors[name].shape
        return rows * cols

    def tiles(self, name: str, tile: tuple[int, int]) -> int:
        """Number of tiles of this shape in a tensor."""
        return self.images[name].size // (tile[0] * tile[1])

    @property
    def ordered(self) -> bool:
        """Whether the order of accesses matters."""
        return bool(self._hazards)

    def fresh(self) -> Past:
        """A past in which nothing has happened."""
        return Past(self._accessors)

    def past(self, node: Node) -> Past:
        """What the process of a node knows."""
        return self._pasts.setdefault(node.name, self.fresh())

    def _note(self, node: Node, number: int) -> None:
        """Note the access of a node's tile, by number.

        Raises
        ------
        StepError
            If nothing decides whether another access comes before it.
        """
        watched = self._hazards.get(node.attrs["tensor"])
        if watched is not None:
            own = self._pasts[node.name]
            watched.access(node, number, lambda other, last: own.of(other.name) >= last)
            own.add(node.name)

    def read(self, node: Node, tile: tuple[int, int], index: int) -> Array:
        """Return tile number `index` of a node's tensor, read-only.

        Raises
        ------
        StepError
            If nothing decides whether a write comes before it.
        """
        name, size = node.attrs["tensor"], tile[0] * tile[1]
        self._note(node, index)
        view = self.images[name][index * size : (index + 1) * size].reshape(tile)
        if name in self._written:
            return view.copy()
        view.flags.writeable = False
        return view

    def write(self, node: Node, start: int, tile: Array) -> None:
        """Write a tile from element number `start` of a node's tensor on.

        Raises
        ------
        StepError
            If nothing decides whether another access comes before it.
        """
        name = node.attrs["tensor"]
        self._note(node, start // tile.size if tile.size else 0)
        self.images[name][start : start + tile.size] = tile.ravel()
        self.stored[name][start : start + tile.size] = True

    def matrices(self) -> dict[str, Array]:
        """Return every tensor as a matrix."""
        return {
            name: from_image(image, self.tensors[name].shape, self.layouts[name])
            for name, image in self.images.items()
        }
