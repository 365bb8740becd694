"""Compile log: what each operation of a model became, why, and its least cycles for a token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stepgen.compile.lower import lower as circuit_of
from stepgen.frontend.bounds import Bound, Costs
from stepgen.frontend.caches import Caches
from stepgen.frontend.kind import shape_text
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.kinds.split import Split
from stepgen.frontend.lowering import lowered
from stepgen.frontend.model import Model, Op, short, walk
from stepgen.frontend.orders import Joint
from stepgen.frontend.site import Lowering
from stepgen.functions.products import Matmul, MatmulAdd
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.arguments import checked
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import LANES


@dataclass(frozen=True)
class Entry:
    """What became of one operation.

    Attributes
    ----------
    name, kind : str
    layers : int
        How often it runs for a token.
    shape : str
        That of its largest weight, or the type of what it makes.
    units : dict of str to int
        Its units by kind, with their number.
    within : tuple of str
        Operations whose units compute parts of it.
    multipliers : int
    read, written : int
        Bytes off chip, for a token and layer.
    cycles : int or None
        The least for a token and layer; None where data decide.
    bound : str
        What takes them: ``memory``, or the kind of a unit.
    reasons : tuple of str
        Why it has this form, where there was a choice.
    """

    name: str
    kind: str
    layers: int
    shape: str
    units: dict[str, int]
    within: tuple[str, ...]
    multipliers: int
    read: int
    written: int
    cycles: int | None
    bound: str
    reasons: tuple[str, ...]

    @property
    def made_of(self) -> str:
        """The units as a text."""
        own = [kind if n == 1 else f"{n} {kind}" for kind, n in self.units.items()]
        return ", ".join([*own, *(f"in {short(name)}" for name in self.within)])

    def __str__(self) -> str:
        cycles = "?" if self.cycles is None else f"{self.cycles:,}"
        parts = [f"{self.name}: {self.shape}", self.made_of, f"{self.read:,} bytes"]
        parts.append(f"{cycles} cycles ({self.bound})" if self.bound else f"{cycles} cycles")
        return "; ".join(filter(None, [*parts, *self.reasons]))


@dataclass(frozen=True)
class CompileLog(Sequence[Entry]):
    """The operations of a model as a program, in order.

    Attributes
    ----------
    name : str
        Of the model.
    entries : tuple of Entry
    lanes, bus_bits : int
        Of the circuit.
    tokens : int
        Of a run, or of a tile.
    rows : tuple of int
        In the caches of each request before the run; empty without caches.
    joints : tuple of Joint
        Values that are read in another order than they are made, and their converters.
    direct : int
        How many values are read in the order in which they are made.
    port, busiest : int
        Least cycles for a token of the whole model: those of the memory port, and of the operator
        that takes most.
    """

    name: str
    entries: tuple[Entry, ...]
    lanes: int
    bus_bits: int
    tokens: int
    rows: tuple[int, ...]
    joints: tuple[Joint, ...]
    direct: int
    port: int
    busiest: int

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: Any) -> Any:
        return self.entries[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def head(self) -> str:
        """One line about the program."""
        filled = f", {', '.join(map(str, self.rows))} tokens in the caches" if self.rows else ""
        return (
            f"{self.name}: {self.lanes} lanes, memory port of {self.bus_bits} bits, tiles of "
            f"{self.tokens} token{'s' * (self.tokens > 1)}{filled}"
        )

    def orders(self) -> str:
        """One line about values and their converters."""
        bits, joints = sum(joint.bits for joint in self.joints), len(self.joints)
        values = "1 value is read in the order in which it is"
        if self.direct != 1:
            values = f"{self.direct} values are read in the order in which they are"
        take = "1 converter takes" if joints == 1 else f"{joints} converters take"
        return f"{values} made, through a FIFO; {take} {bits:,} bits"

    def total(self) -> str:
        """One line about the whole model."""
        return (
            f"a token takes at least {max(self.port, self.busiest):,} cycles: {self.port:,} of the "
            f"memory port, {self.busiest:,} of the busiest operator"
        )

    def __str__(self) -> str:
        lines = [*(f"  {entry}" for entry in self), *(f"  {joint}" for joint in self.joints)]
        return "\n".join([self.head(), *lines, self.orders(), self.total()])


@checked
def compile_log(
    model: Model,
    *,
    filled: int | Sequence[int] | None = None,
    lanes: int = LANES,
    design: Design | None = None,
    **settings: Any,
) -> CompileLog:
    """What each operation of a model becomes as a circuit, why, and its least cycles for a token.

    Parameters
    ----------
    model : Model
    filled : int or sequence of int, optional
        Tokens in the caches before the run, or those of each request; by default a half.
    lanes : int
        Lanes of a beat.
    design : Design, optional
        The circuit, if it has been made: it says the lanes, too.
    **settings
        Parameters of `lower`, such as ``phase="prefill"``.

    Returns
    -------
    CompileLog

    Raises
    ------
    StepError
        If the model can't be lowered, or has no circuit.

    Examples
    --------
    >>> log = sg.frontend.compile_log(model, phase="decode")
    >>> log[0].units
    {'load': 1}
    """
    made = lowered(model, **{**settings, "data": False})
    found = circuit_of(made.graph, lanes=lanes) if design is None else design
    return log_of(model, made, found, filled)


def log_of(
    model: Model, made: Lowering, design: Design, filled: int | Sequence[int] | None = None
) -> CompileLog:
    """As `compile_log`, of a model that was lowered."""
    if made.caches is None and filled is not None:
        raise StepError(f"{model.name} keeps no caches, so filled can't be {filled}")
    behind = half(made.caches) if filled is None and made.caches else filled or 0
    costs = Costs(made, behind, design.lanes)
    before = {op.name: op for op in walk(model.ops)}
    maker = _Maker(made, design, costs, before)
    rows: tuple[int, ...] = ()
    if made.caches is not None:
        rows = (behind,) if isinstance(behind, int) else tuple(behind)
    return CompileLog(
        model.name,
        tuple(maker.entry(op) for op in walk(made.model.ops)),
        design.lanes,
        8 * design.bus.bytes,
        costs.tokens,
        rows,
        *_joints(made),
        costs.port(design.bus.bytes),
        costs.busiest(),
    )


def _joints(made: Lowering) -> tuple[tuple[Joint, ...], int]:
    """The converters, and the number of values that need none."""
    joints = tuple(joint for joint in made.joints if joint.made != joint.read)
    types = made.model.types
    values = {
        (name, op.name)
        for op in walk(made.model.ops)
        for name in op.inputs
        if name in types and (types[name].element != "int32" or types[name].places is not None)
    }
    return joints, len(values - {(joint.value, joint.reader) for joint in joints})


def half(sizes: Caches) -> int:
    """Tokens that fill a half of caches, of chunks a multiple of theirs."""
    chunk = sizes.chunk or 1
    return sizes.rows // 2 // chunk * chunk


@dataclass(frozen=True)
class _Maker:
    made: Lowering
    design: Design
    costs: Costs
    before: dict[str, Op]

    def entry(self, op: Op) -> Entry:
        nodes, bound = self.costs.nodes[op.name], self.costs.bounds[op.name]
        units, within = self._units(nodes, op.name)
        word = self.design.bus.bytes
        least = bound.least(word)
        return Entry(
            op.name,
            op.kind.name,
            self.costs.trips[op.name],
            self._shape(op),
            dict(Counter(unit.kind for unit in units)),
            within,
            sum(unit.params.multipliers(self.design) for unit in units),
            bound.each(bound.read),
            bound.each(bound.written),
            None if least is None else bound.each(least),
            self._limit(bound, word),
            tuple(dict.fromkeys([*self._passes(op), *self._own(op, nodes)])),
        )

    def _units(self, nodes: Sequence[Node], name: str) -> tuple[list[Unit], tuple[str, ...]]:
        """The units of an operation, and other operations in whose units nodes of it are."""
        names = {node.name for node in nodes}
        own = [u for u in self.design.units if u.origin in names and u.params.main]
        origin = {unit.name: unit.origin for unit in self.design.units}
        others = {
            self.made.owner.get(origin.get(self.design.fused[node], ""), name)
            for node in sorted(names & {*self.design.fused})
            if "fn" in self.made.graph.node(node).attrs
        }
        return own, tuple(sorted(others - {name}))

    def _shape(self, op: Op) -> str:
        """The largest weight of a layer, or the type of the result."""
        placed = next(one for one in self.made.model.placed if one.op.name == op.name)
        shapes = [shape for shape in placed.given.weights.values() if len(shape) > 1]
        if shapes:
            return shape_text(max(shapes, key=lambda shape: (len(shape), shape)))
        return str(self.made.model.types[op.name])

    def _limit(self, bound: Bound, word: int) -> str:
        """What takes the least cycles of an operation."""
        if bound.beats is None or not bound.least(word):
            return ""
        if bound.port(word) >= bound.beats:
            return "memory"
        unit = self.design.fused.get(bound.of, bound.of)
        kinds = {u.origin: u.kind for u in self.design.units} | {
            u.name: u.kind for u in self.design.units
        }
        return kinds.get(unit, bound.of)

    def _passes(self, op: Op) -> Iterator[str]:
        """What passes on the tensor graph did to it."""
        old = self.before.get(op.name)
        if old is None:
            return
        if isinstance(old.kind, Split):
            yield f"columns of {old.inputs[0].rpartition('.')[2]}, as a linear of its own"
        if isinstance(op.kind, Norm) and old.weights and not op.weights:
            yield "its weight is part of what reads it"

    def _own(self, op: Op, nodes: Sequence[Node]) -> Iterator[str]:
        """Why it has its form, and its products their units."""
        yield from self.made.reasons.get(op.name, ())
        for node in nodes:
            function = node.attrs.get("fn")
            if not isinstance(function, Matmul | MatmulAdd):
                continue
            tiles = [s.dtype for s in node.inputs[:2] if isinstance(s.dtype, Tile)]
            rows, cols = tiles[1].dims
            why, unit = function.kept_because(tiles), "matrix unit"
            if any(u.origin == node.name and u.kind == "matvec" for u in self.design.units):
                why, unit = "one row", "matvec"
            yield f"{unit} for weights of {rows} x {cols}: {why or 'sums over several tiles'}"
