"""A model as successive programs: operations in groups whose memories fit on chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from stepgen.compile.cost import unit_bits
from stepgen.compile.grouping import Grouping, KernelEdge, greedy, least_traffic
from stepgen.compile.lower import lower as circuit_of
from stepgen.frontend.lowering import lowered
from stepgen.frontend.model import Model, Op, inside, walk
from stepgen.frontend.orders import OUTPUT
from stepgen.frontend.rows import Rows
from stepgen.frontend.site import Lowering
from stepgen.frontend.weight import Array
from stepgen.ir.arguments import checked
from stepgen.ir.dtypes import Tile, bf16
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.wire import LANES
from stepgen.ops.linear_offchip_load import linear_offchip_load
from stepgen.semantics import executor
from stepgen.semantics.numbers import DTYPES

RENAMED = ("heads", "join", "split")
"""Operations that make no value of their own."""

SEARCHED = 24
"""Most kernels whose groups are searched for; of more, the published rule says them."""


@dataclass(frozen=True)
class Group:
    """Operations that are one program.

    Attributes
    ----------
    names : tuple of str
        The operations.
    memory : int
        Bits of their units, without FIFOs.
    graph : Graph
    weights : dict of str to array
        Contents of tensors by name.
    reads, writes : tuple of str
        Tensors through which values come from earlier groups, and go to later ones.
    """

    names: tuple[str, ...]
    memory: int
    graph: Graph
    weights: dict[str, Array]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Fused:
    """A model in groups, which run one after the other on one off-chip memory.

    Attributes
    ----------
    name : str
        Of the model.
    onchip_bits, lanes : int
        The budget, and the lanes for which it holds.
    kernels : dict of str to int
        Bits of the units of each operation.
    uses : tuple of Use
        Values between operations, with their bytes.
    grouping, published : Grouping
        The groups that move least, and those of the published rule.
    groups : tuple of Group
    """

    name: str
    onchip_bits: int
    lanes: int
    kernels: dict[str, int]
    uses: tuple[KernelEdge, ...]
    grouping: Grouping
    published: Grouping
    groups: tuple[Group, ...]

    @property
    def inside(self) -> list[KernelEdge]:
        """Values that stay on chip."""
        number = {name: k for k, group in enumerate(self.groups) for name in group.names}
        return [use for use in self.uses if number[use.source] == number[use.target]]

    def inputs(self, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Contents of the tensors and input streams of a group; earlier ones are run for them.

        Parameters
        ----------
        number : int
            Of the group.
        given : mapping of str to array
            Input streams of the model's program, and contents of caches.
        """
        memory: dict[str, Any] = {}
        for place, group in enumerate(self.groups):
            known = {*group.graph.inputs, *group.graph.tensors}
            own = {name: array for name, array in given.items() if name in known}
            whole = {**group.weights, **own, **{name: memory[name] for name in group.reads}}
            if place == number:
                return whole
            result = executor.run(group.graph, whole, lanes=self.lanes)
            memory |= {name: result.tensors[name] for name in group.writes}
        raise StepError(f"{self.name} has groups 0 to {len(self.groups) - 1}, not {number}")


@checked
def fused(model: Model, onchip_bits: int, *, lanes: int = LANES, **settings: Any) -> Fused:
    """Put the operations of a model into groups whose memories fit on chip.

    Within a group values are streams. Between groups they are written to off-chip memory and read
    again, as they were made, so that the converters of an operation are its own.

    Parameters
    ----------
    model : Model
    onchip_bits : int
        Most bits of the memories of a group's units: buffers, tiles that units keep, converters.
    lanes : int
        Lanes of a beat.
    **settings
        Parameters of `lower`, with ``phase="decode"`` or ``phase="prefill"``.

    Returns
    -------
    Fused

    Raises
    ------
    StepError
        If an operation does not fit alone, or a run takes more than one tile of tokens.

    Notes
    -----
    StreamTensor, section 5.2. A layer loop is one operation.

    Examples
    --------
    >>> fusion = sg.frontend.fused(block, 200_000, phase="prefill", rows=4)
    >>> [group.names for group in fusion.groups]
    """
    data = settings.pop("data", True)
    whole = lowered(model, **settings, data=False)
    if whole.caches is None or whole.caches.last or whole.caches.writes:
        raise StepError(
            f"{model.name}: groups run one after the other on one tile of tokens, so phase must be "
            "decode or prefill, and last false"
        )
    kernels = _memories(whole, lanes)
    for name, own in kernels.items():
        if own > onchip_bits:
            raise StepError(
                f"{model.name}: {name} alone takes {own:,} bits on chip, more than the "
                f"{onchip_bits:,} of onchip_bits; tile_rows and tile_cols give linears smaller "
                "tiles, and rows fewer tokens"
            )
    uses = tuple(_uses(whole))
    published = greedy(kernels, uses, onchip_bits)
    best = published
    if len(kernels) <= SEARCHED:
        best = least_traffic(kernels, uses, onchip_bits)
    ops = {op.name: op for op in whole.model.ops}
    groups = []
    for names, memory in zip(best.groups, best.memory, strict=True):
        groups.append(_group(whole, [ops[name] for name in names], memory, data=data))
    return Fused(model.name, onchip_bits, lanes, kernels, uses, best, published, tuple(groups))


def activations(model: Model, **settings: Any) -> tuple[int, int]:
    """Bytes of the values of a layer: as tensors of bf16, and on chip in converters between them.

    FIFOs, and what an operation keeps for itself, are not counted.

    Parameters
    ----------
    model : Model
        With a layer loop.
    **settings
        Parameters of `lower`, with ``phase="decode"`` or ``phase="prefill"``.
    """
    made = lowered(model, **settings, data=False)
    tokens, types = made.rows, made.model.types
    layers = [op for op in made.model.ops if op.kind.loop() is not None]
    own = [op for op in walk(layers) if op not in layers and op.kind.name not in RENAMED]
    numbers = sum(prod(int(n) for n in types[op.name].shape[1:]) for op in own)
    within = {name for op in layers for name in inside(op)}
    converters = sum(joint.bits for joint in made.joints if joint.reader in within)
    return tokens * numbers * bf16.bits // 8, converters // 8


def _memories(whole: Lowering, lanes: int) -> dict[str, int]:
    """Bits of the units of each operation."""
    design = circuit_of(whole.graph, lanes=lanes)
    around = {inner: op.name for op in whole.model.ops for inner in (op.name, *inside(op))}
    found = {op.name: 0 for op in whole.model.ops}
    for unit in design.units:
        owner = around.get(whole.owner.get(unit.origin, ""))
        if owner is not None:
            found[owner] += unit_bits(unit, design)
    for joint in whole.joints:  # a reader whose group is another one has a buffer of its own
        if joint.reader in around:
            found[around[joint.reader]] += joint.shared
    return found


def _uses(whole: Lowering) -> list[KernelEdge]:
    """The values that operations make for others."""
    made = {op.name for op in whole.model.ops}
    return [
        KernelEdge(name, op.name, 0, _bytes(whole.values[name]), name)
        for op in whole.model.ops
        for name in _read(op)
        if name in made
    ]


def _read(op: Op) -> list[str]:
    """What an operation reads; of a loop, what it reads from outside as well."""
    own = inside(op)
    loop = op.kind.loop()
    begun = set() if loop is None else {loop.begin}
    names = [name for one in walk([op]) for name in one.inputs]
    return [name for name in dict.fromkeys(names) if name not in own and name not in begun]


def _bytes(value: Rows) -> int:
    tile = value.stream.dtype
    assert isinstance(tile, Tile)
    return _rows(tile) * value.slices * value.cols * tile.element.bits // 8


def _rows(tile: Tile) -> int:
    rows = tile.rows.static
    assert rows is not None
    return rows


def _group(whole: Lowering, ops: Sequence[Op], memory: int, *, data: bool) -> Group:
    """The program of some operations."""
    model, names = whole.model, {op.name for op in ops}
    made = whole.anew(data=data)
    read = dict.fromkeys(name for op in ops for name in _read(op) if name not in names)
    for name in model.inputs:
        if name in read:
            made.values[name] = made.input(name, model.inputs[name], made.dims)
    reads = [name for name in read if name not in model.inputs]
    tensors = {name: _tensor(made, name, whole.values[name]) for name in reads}
    for name, tensor in tensors.items():
        value, tile = whole.values[name], whole.values[name].stream.dtype
        assert isinstance(tile, Tile)
        several = value.slices > 1
        loaded = linear_offchip_load(
            tensor,
            tile=(_rows(tile), value.cols),
            shape=(1, value.slices) if several else (1,),
            stride=(0, 1) if several else (0,),
        )
        made.values[name] = Rows(loaded, value.slices)
    made.lower(ops)
    later = {n for op in model.ops if op.name not in names for n in _read(op) if n in names}
    writes = []
    for name in (op.name for op in ops if op.name in later):
        tensor = _tensor(made, name, made.values[name])
        made.values[name].stream.linear_offchip_store(tensor)
        writes.append(tensor.name)
    for name in model.outputs:
        if name in names:
            made.graph.output(made.result(made.noted(name, OUTPUT)), made.name(name))
    return Group(
        tuple(op.name for op in ops),
        memory,
        made.graph,
        made.weights,
        tuple(tensor.name for tensor in tensors.values()),
        tuple(writes),
    )


def _tensor(made: Lowering, name: str, value: Rows) -> Any:
    """The tensor through which a value goes, of the same name in all groups."""
    tile = value.stream.dtype
    assert isinstance(tile, Tile)
    tensor = made.graph.tensor(
        made.name(f"{name}_between"),
        (_rows(tile), value.slices * value.cols),
        tile.element,
    )
    made.weights[tensor.name] = np.zeros(tensor.shape, DTYPES[tile.element.name])
    return tensor
