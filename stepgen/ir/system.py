"""Several programs as one system: output streams of some are input streams of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, TypeVar

from stepgen.ir.arguments import checked, shown
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import DataType, Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.names import identifier
from stepgen.ir.stream import Node, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.where import user_line
from stepgen.ir.wire import LANES, check_lanes

V = TypeVar("V")

_OF_PROGRAMS = (
    *("feedbacks", "symbols", "routings", "spans"),
    *("_names", "_counts", "_uses", "_counted"),
)
"""What a graph has and a system has not."""


class SystemGraph(Graph):
    """Programs whose streams are joined: each becomes a design, with lanes of its own.

    What belongs to a part has the part's name before its own: ``first_x``. There are no nodes of
    the system itself: what goes through the nodes of a program has to look at the parts.

    Parameters
    ----------
    parts : mapping of str to Graph
        Complete programs, by name; one program may be several parts.
    connect : mapping of str to str
        By output of a part, the input of another that it feeds.
    name : str
        Of the system, an identifier.
    lanes : int or mapping of str to int
        Lanes of a beat: of all parts or by part.

    Attributes
    ----------
    parts : dict of str to Graph
        In an order in which each is behind those that feed it.
    links : dict of str to str
        As `connect`.
    lanes : dict of str to int
        By part.

    Raises
    ------
    StepError
        If names are wrong or not unique, streams that are joined do not fit, or parts feed each
        other in a circle.
    """

    @partial(checked, name="System")
    def __init__(
        self,
        parts: Mapping[str, Graph],
        connect: Mapping[str, str],
        *,
        name: str = "system",
        lanes: int | Mapping[str, int] = LANES,
    ) -> None:
        self.where = f"system at {user_line(self)}"
        self.name = identifier(name, f"{self.where}: its name")
        self.links = dict(connect)
        self.parts = dict(parts)
        self._check_parts()
        self.lanes = self._lanes(lanes)
        self._ends: dict[str, tuple[str, str]] = {
            f"{part}_{port}": (part, port) for part, graph in parts.items() for port in graph.ports
        }
        self._check_links()
        self.parts = {part: self.parts[part] for part in self._order()}
        self.tensors: dict[str, Tensor] = {
            f"{part}_{t.name}": replace(t, name=f"{part}_{t.name}")
            for part, graph in self.parts.items()
            for t in graph.tensors.values()
        }
        self._check_names()
        for name, tensor in self.tensors.items():
            others = [other for other in self.tensors.values() if other.name != name]
            tensor.check_place(f"{self.where}: tensor {name}:", others)

    @property
    def nodes(self) -> list[Node]:  # type: ignore[override]
        """None are of the system.

        Raises
        ------
        StepError
            Always.
        """
        raise self.refusal()

    def refusal(self) -> StepError:
        """The error where one program is needed."""
        return StepError(
            f"the system {self.name} is made of several programs, and this takes one of them: "
            f"{' or '.join(self.parts)}"
        )

    def __getattr__(self, name: str) -> Any:
        """Attributes that only programs have raise `refusal`."""
        if name in _OF_PROGRAMS:
            raise self.refusal()
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def ports(self) -> dict[str, Stream]:
        """The inputs and outputs that nothing is joined to, by name."""
        return {**self.inputs, **self.outputs}

    @property
    def inputs(self) -> dict[str, Stream]:
        """The inputs that no part feeds, by name."""
        fed = {*self.links.values()}
        return {
            f"{part}_{port}": stream
            for part, graph in self.parts.items()
            for port, stream in graph.inputs.items()
            if f"{part}_{port}" not in fed
        }

    @property
    def outputs(self) -> dict[str, Stream]:
        """The outputs that feed no part, by name."""
        return {
            f"{part}_{port}": stream
            for part, graph in self.parts.items()
            for port, stream in graph.outputs.items()
            if f"{part}_{port}" not in self.links
        }

    def end(self, name: str) -> tuple[str, Stream]:
        """The part that a port belongs to, and its stream there."""
        part, port = self._ends[name]
        return part, self.parts[part].ports[port]

    def own(self, part: str, names: Mapping[str, V]) -> dict[str, V]:
        """What belongs to a part, by the names in it."""
        begin = f"{part}_"
        return {
            name.removeprefix(begin): value
            for name, value in names.items()
            if name.startswith(begin)
        }

    def node(self, name: str) -> Node:
        """The node of a part.

        Raises
        ------
        StepError
            If there is none of this name.
        """
        for part, graph in self.parts.items():
            if name.startswith(f"{part}_"):
                return graph.node(name.removeprefix(f"{part}_"))
        raise StepError(f"node at {user_line()}: the system {self.name} has no node {shown(name)}")

    def check(self) -> None:
        """Nothing is left to check: this was done at the beginning."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SystemGraph) and all(
            getattr(self, key) == getattr(other, key) for key in ("name", "parts", "links", "lanes")
        )

    __hash__ = None

    def __str__(self) -> str:
        made = [f"system {self.name}"]
        made += [f"{part} ({self.lanes[part]} lanes): {g}" for part, g in self.parts.items()]
        return "\n\n".join([*made, *(f"{y} -> {x}" for y, x in self.links.items())])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {', '.join(self.parts)})"

    def _fail(self, message: str) -> StepError:
        return StepError(f"{self.where}: {message}")

    def _check_parts(self) -> None:
        if not self.parts:
            raise self._fail("it needs at least 1 part")
        for part, graph in self.parts.items():
            identifier(part, f"{self.where}: the name of a part")
            if isinstance(graph, SystemGraph):
                raise self._fail(f"the part {part} must be one program, not {graph!r}")
            graph.check()
        for part in self.parts:
            for other in self.parts:
                if other.startswith(f"{part}_"):
                    raise self._fail(
                        f"the names {part} and {other} of parts are ambiguous: what is in "
                        f"{other} could be called {other.removeprefix(f'{part}_')}_... in {part}"
                    )

    def _check_names(self) -> None:
        """Names of a part are those of its nodes and tensors; ports and tensors are inputs."""
        for part, graph in self.parts.items():
            for name in (*graph.ports, *graph.tensors):
                identifier(f"{part}_{name}", f"{self.where}: the name of {name} of {part}")

    def _lanes(self, lanes: int | Mapping[str, int]) -> dict[str, int]:
        if isinstance(lanes, int):
            lanes = dict.fromkeys(self.parts, lanes)
        for part in lanes:
            if part not in self.parts:
                raise self._fail(
                    f"lanes are given for {shown(part)}, but the parts are {', '.join(self.parts)}"
                )
        for part, count in lanes.items():
            check_lanes(count, f"{self.where}: the lanes of {part}")
        return {part: lanes.get(part, LANES) for part in self.parts}

    def _check_links(self) -> None:
        gives, takes = (
            [
                f"{part}_{port}"
                for part, g in self.parts.items()
                for port in (g.inputs if side else g.outputs)
            ]
            for side in (0, 1)
        )
        for y, x in self.links.items():
            for name, known, what in ((y, gives, "output"), (x, takes, "input")):
                if name not in known:
                    raise self._fail(
                        f"no part has an {what} {shown(name)}, those are "
                        f"{', '.join(known) or 'none'}"
                    )
            if list(self.links.values()).count(x) > 1:
                both = " and ".join(one for one, other in self.links.items() if other == x)
                raise self._fail(f"{both} can't both feed {x}")
            (_, made), (_, taken) = self.end(y), self.end(x)
            if said := unfit(made, taken):
                raise self._fail(f"{y} is {made}, which can't feed {x}, {taken}: {said}")

    def _order(self) -> list[str]:
        by = {(self._ends[y][0], self._ends[x][0]): f"{y} feeds {x}" for y, x in self.links.items()}
        above: TopologicalSorter[str] = TopologicalSorter({part: () for part in self.parts})
        for before, after in by:
            above.add(after, before)
        try:
            return list(above.static_order())
        except CycleError as error:
            circle = error.args[1]
        feeds = " and ".join(by[edge] for edge in pairwise(circle))
        raise self._fail(
            f"parts can't feed each other in a circle, but {feeds}: make one program of them"
        )


def programs(graph: Graph) -> dict[str, Graph]:
    """The programs of a system, or a program itself, by what their names begin with."""
    if not isinstance(graph, SystemGraph):
        return {"": graph}
    return {f"{part}_": one for part, one in graph.parts.items()}


def unfit(made: Stream, taken: Stream) -> str:
    """Why an output can't be an input of a type; empty if it can."""
    if made.rank != taken.rank:
        return f"the one has {made.rank + 1} dims, the other {taken.rank + 1}"
    if said := _other(made.dtype, taken.dtype):
        return said
    for what, given, wanted in _dims(made, taken):
        if said := _beyond(given, wanted):
            return f"{what} {said}"
    return ""


def _other(made: DataType, taken: DataType) -> str:
    """What is wrong with the type of an element, dims of tiles aside."""
    if isinstance(made, Tile) and isinstance(taken, Tile):
        if made.element == taken.element:
            return ""
        return f"elements are {made.element} there and {taken.element} here"
    if isinstance(made, Selector) and isinstance(taken, Selector):
        if made.n == taken.n and taken.hot in (None, made.hot):
            return ""
    elif not isinstance(made, Tile | Selector) or not isinstance(taken, Tile | Selector):
        return "only tiles, selectors and flags go from one design to another"
    return f"{made} is not {taken}"


def _dims(made: Stream, taken: Stream) -> Iterator[tuple[str, Dim, Dim]]:
    """Dims of two streams by pairs, with what they are."""
    for n, (given, wanted) in enumerate(zip(made.shape, taken.shape, strict=True)):
        yield f"D{made.rank - n}", given, wanted
    if isinstance(made.dtype, Tile) and isinstance(taken.dtype, Tile):
        yield "the number of rows of a tile", made.dtype.rows, taken.dtype.rows
        yield "the number of columns of a tile", made.dtype.cols, taken.dtype.cols


def _beyond(given: Dim, wanted: Dim) -> str:
    """How a dim may be one that is not wanted; empty if it never is."""
    if wanted.static is not None:
        if given.static == wanted.static:
            return ""
        return f"is {given} there and must be {wanted} here"
    if given.is_ragged and not wanted.is_ragged:
        return f"differs from group to group there ({given}), but not here ({wanted})"
    most = given.bound if given.static is None else given.static
    if wanted.bound is not None and (most is None or most > wanted.bound):
        at_most = "has no bound" if most is None else f"may be {most}"
        return f"{at_most} there ({given}) and is at most {wanted.bound} here ({wanted})"
    if given.may_be_empty and not wanted.may_be_empty:
        return f"may be 0 there ({given}), but not here ({wanted})"
    return ""
