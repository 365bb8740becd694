"""Rewriting the operations of a model, and of the loops in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stepgen.frontend.kind import Kind
from stepgen.frontend.model import Model, Op, walk
from stepgen.frontend.weight import Weight


@dataclass
class Body:
    """Operations that read each other: those of a model, or of a loop.

    Attributes
    ----------
    ops : list of Op
        To be rewritten in place.
    needed : frozenset of str
        Values that something outside reads.
    weights : dict of str to Weight
        All of the model; new ones are added.
    shared : frozenset of str
        Weights that all layers of a loop share.
    reads : dict of str to int
        How many operations of the model read each weight.
    """

    ops: list[Op]
    needed: frozenset[str]
    weights: dict[str, Weight]
    shared: frozenset[str]
    reads: dict[str, int] = field(default_factory=dict)

    def readers(self, name: str) -> list[Op]:
        """The operations that read a value, those in loops too."""
        return [op for op in walk(self.ops) if name in op.inputs]

    def maker(self, name: str) -> Op | None:
        """The operation that makes a value; None for what comes from outside."""
        return next((op for op in self.ops if op.name == name), None)

    def alone(self, op: Op) -> bool:
        """Whether an operation shares no weight with another one or another layer."""
        names = op.weights.values()
        return all(self.reads[name] == 1 and name not in self.shared for name in names)

    def only(self, name: str, *kinds: type[Kind]) -> list[Op] | None:
        """What reads a value, if it is all of these kinds and nothing outside reads it."""
        found = self.readers(name)
        inside = found and name not in self.needed and all(op in self.ops for op in found)
        return found if inside and all(isinstance(op.kind, kinds) for op in found) else None

    def put(self, old: Op, *new: Op) -> None:
        """Put operations in the place of one."""
        index = self.ops.index(old)
        self.ops[index : index + 1] = new

    def rename(self, old: str, new: str) -> None:
        """Let operations read another value."""
        self.ops[:] = renamed(self.ops, {old: new})

    def reweigh(self, op: Op, made: Mapping[str, Weight], kind: Kind | None = None) -> Op:
        """Give an operation other weights, under the names of its old ones."""
        roles = {}
        for role, weight in made.items():
            roles[role] = op.weights.get(role, f"{op.name}.{role}")
            self.weights[roles[role]] = weight
            self.reads[roles[role]] = 1
        return replace(op, weights=roles, kind=kind or op.kind)

    def of(self, op: Op) -> dict[str, Weight]:
        """The weights of an operation by role."""
        return {role: self.weights[name] for role, name in op.weights.items()}


def renamed(ops: Sequence[Op], names: Mapping[str, str]) -> list[Op]:
    """Operations, those in loops too, that read values under other names."""
    made = []
    for op in ops:
        loop = op.kind.loop()
        kind = op.kind
        if loop is not None:
            kind = replace(
                loop, body=tuple(renamed(loop.body, names)), end=names.get(loop.end, loop.end)
            )
        inputs = tuple(names.get(name, name) for name in op.inputs)
        made.append(replace(op, inputs=inputs, kind=kind))
    return made


def rewritten(model: Model, rewrite: Callable[[Body], None]) -> Model:
    """The model after a rewriting of its operations, and of those in each loop.

    Parameters
    ----------
    model : Model
    rewrite : callable
        Changes `Body.ops`.
    """
    weights = {**model.weights}
    reads = {name: len(ops) for name, ops in model.used().items()}

    def done(ops: Sequence[Op], needed: frozenset[str], shared: frozenset[str]) -> list[Op]:
        made = []
        for op in ops:
            loop = op.kind.loop()
            if loop is not None:
                inside = done(loop.body, frozenset([loop.end]), shared | {*loop.shared})
                op = replace(op, kind=replace(loop, body=tuple(inside)))
            made.append(op)
        body = Body(made, needed, weights, shared, reads)
        rewrite(body)
        return body.ops

    ops = done(model.ops, frozenset(model.outputs), frozenset())
    return with_ops(model, ops, weights)


def with_ops(
    model: Model,
    ops: Sequence[Op],
    weights: Mapping[str, Weight] | None = None,
    outputs: tuple[str, ...] | None = None,
) -> Model:
    """The model with other operations, and only the weights that they read."""
    known = {**model.weights, **(weights or {})}
    used = {name for op in walk(ops) for name in op.weights.values()}
    kept = {name: weight for name, weight in known.items() if name in used}
    return replace(model, ops=tuple(ops), weights=kept, outputs=outputs or model.outputs)
