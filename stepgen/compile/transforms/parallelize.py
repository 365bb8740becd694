"""Several regions work on requests side by side (paper, section 5.3 and Figure 16).

Which region a request goes to is decided before the program starts (`coarse`, `interleaved`), or
while it runs (`dynamic`): then the first requests go round, and each later one goes to the region
that has become free first. The order in which regions finish is what an EagerMerge of their
completions gives out as its selector, which steers the Partition of requests: a cycle.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from ...ir.arguments import checked
from ...ir.dims import static
from ...ir.dtypes import Selector
from ...ir.errors import StepError
from ...ir.fn import fn
from ...ir.graph import Graph
from ...ir.stream import Node, Stream
from . import split
from .requests import Part, part_of
from .rewrite import Rewrite, Transformed, deep

_ONLY = {
    "per_region": ("coarse",),
    "done": ("dynamic",),
    "in_flight": ("dynamic",),
    "routed": ("coarse", "interleaved"),
}
"""By option: which ways of choosing regions have it."""


@checked
def parallelize(
    program: Graph | Transformed,
    *,
    regions: int,
    how: Literal["coarse", "interleaved", "dynamic"] = "dynamic",
    requests: Sequence[str | Stream] | None = None,
    until: Sequence[str | Stream] = (),
    done: str | Stream | None = None,
    per_region: int | None = None,
    in_flight: int = 1,
    routed: bool = False,
) -> Transformed:
    """Copy what works on requests, so that several are worked on at a time.

    Inputs and loads of requests are divided among the regions (`coarse`, `interleaved`) or routed
    to them (`dynamic`). Results that leave the program or are stored one after the other are put
    back in the order of requests; what is stored by address is stored by each region. Tensors
    that are read or written by address, or by reference, are shared.

    Parameters
    ----------
    program : Graph or Transformed
        Works on each request by itself.
    regions : int
        How many regions there are to be at most; none is made that would get no request.
    how : {"coarse", "interleaved", "dynamic"}
        `per_region` consecutive requests per region, round robin, or the next request to the
        region that is free first.
    requests : sequence of str or Stream, optional
        Streams whose outermost dim counts requests, or the names of the nodes that make them;
        by default all inputs and all loads without a reference.
    until : sequence of str or Stream
        Streams behind which the program goes on once for all requests, in their order.
    done : str or Stream, optional
        Stream whose chunk for a request tells that it is finished (`dynamic` only); by default
        what is written or leaves last.
    per_region : int, optional
        For `coarse`: consecutive requests that a region gets before the next region gets some, by
        default so many that each gets some once.
    in_flight : int
        For `dynamic`: requests that each region is given before it has finished any.
    routed : bool
        For `coarse` and `interleaved`: inputs and loads of requests stay whole and are routed, so
        that a region that is behind holds up those whose turn comes after it; by default they are
        divided where that can be done.

    Returns
    -------
    Transformed
        The same program. Selectors that are known beforehand become inputs, which `inputs` adds.

    Raises
    ------
    StepError
        If an option does not fit `how`, the requests are not counted alike, or what works on them
        can't be told apart.
    """
    before = Transformed.of(program)
    numbers = {"regions": regions, "in_flight": in_flight, "per_region": per_region}
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise StepError(f"parallelize needs {name} of at least 1, not {value}")
    _check_options(how, per_region=per_region, done=done, in_flight=in_flight, routed=routed)
    part = part_of(before.graph, requests, until, done)
    rewrite: _Regions
    if how == "dynamic":
        rewrite = _Dynamic(before.graph, part, min(regions, part.count), in_flight)
    else:
        each = per_region or -(-part.count // regions)
        taken = [i // (each if how == "coarse" else 1) % regions for i in range(part.count)]
        rewrite = _Static(before.graph, part, taken, routed)
    rewrite.build()
    return before.then(rewrite.new, rewrite.adapted)


def _check_options(how: str, **given: Any) -> None:
    """Refuse options that another way of choosing regions has."""
    for name, value in given.items():
        if (
            value != inspect.signature(parallelize).parameters[name].default
            and how not in _ONLY[name]
        ):
            raise StepError(
                f"parallelize has {name} with how {' or '.join(_ONLY[name])} only, not with {how}"
            )


class _Regions(Rewrite, ABC):
    """A graph in which a part is there several times.

    Parameters
    ----------
    old : Graph
        The program.
    part : Part
        What there is to be once per region.
    count : int
        How many regions there are.

    Attributes
    ----------
    where : str
        The user's line where requests come in.
    replaced : set of str
        Inputs and tensors of the old program that the new one has no more.
    slices : list of Slice
        What comes in their place.
    constants : dict of str to array
        Inputs of the new program that are known beforehand.
    """

    def __init__(self, old: Graph, part: Part, count: int) -> None:
        super().__init__(old)
        self.part = part
        self.where = part.requests[0].node.where
        self.replaced: set[str] = set()
        self.slices: list[split.Slice] = []
        self.constants: dict[str, Any] = {}
        self._scopes: list[dict[Stream, Stream]] = [{} for _ in range(count)]
        self._route: Stream | None = None

    @property
    def count(self) -> int:
        """How many regions there are."""
        return len(self._scopes)

    def route(self) -> Stream:
        """Selectors: the region of each request."""
        if self._route is None:
            self._route = self.make_route()
        return self._route

    @abstractmethod
    def make_route(self) -> Stream:
        """Add what makes the selectors to the program."""

    def take(self, node: Node) -> None:
        """Copy a node that requests come from, and let each region have its own."""
        self.copy(node)
        for stream in node.outputs:
            if stream in self.part.requests:
                attrs = {"rank": stream.rank, "num_consumers": self.count}
                inputs = [self.streams[stream], self.route()]
                parts = self.add("partition", inputs, attrs, where=node.where).outputs
                for scope, mine in zip(self._scopes, parts, strict=True):
                    scope[stream] = mine

    def build(self) -> None:
        """Copy all nodes, those of the part once for each region."""
        sources = {stream.node for stream in self.part.requests}
        cloned = set(self.part.cloned)
        for node in self.nodes():
            if node in sources:
                self.take(node)
            elif node in cloned:
                for number in range(self.count):
                    with self.inside(number):
                        self.copy(node, name=self.name(f"{node.name}_r{number}"))
            else:
                self.copy(node)
            if self.part.done in node.outputs:
                self.finish(node)
            for stream in node.outputs:
                if stream in self.part.results:
                    self.put(stream, self._joined(stream))
        divided = self.replaced & set(self.old.tensors)
        self.replaced -= divided - set(self.drop_tensors(divided))

    def finish(self, node: Node) -> None:
        """Use what tells that a request is finished."""

    @contextmanager
    def inside(self, number: int) -> Iterator[None]:
        """While it lasts, streams of the old graph mean those of a region."""
        outside, self.streams = self.streams, self._scopes[number]
        try:
            yield
        finally:
            self.streams = outside

    def constant(self, name: str, selectors: Any, hot: int | None) -> Stream:
        """An input of selectors that are known beforehand."""
        name = self.name(name)
        array = np.asarray(selectors, bool)
        self.constants[name] = array
        dtype = Selector(array.shape[1], hot)
        shape = (static(array.shape[0]),)
        attrs = {"dtype": dtype, "shape": shape}
        return self.add("source", [], attrs, where=self.where, name=name).outputs[0]

    def adapted(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of the new program."""
        kept = {name: content for name, content in given.items() if name not in self.replaced}
        for slices in self.slices:
            kept |= slices(given)
        return kept | self.constants

    def _joined(self, stream: Stream) -> Stream:
        """What the regions made of requests, in the order of requests."""
        results = [scope[stream] for scope in self._scopes]
        order = deep(self.route(), max(2, self.part.count))
        attrs = {"rank": stream.rank, "order": "index"}
        where = stream.node.where
        joined = self.add("reassemble", [*results, order], attrs, where=where).outputs[0]
        attrs = {"lo": stream.rank, "hi": stream.rank + 1}
        return self.add("flatten", [joined], attrs, where=where).outputs[0]


class _Static(_Regions):
    """Each request has its region beforehand.

    Parameters
    ----------
    old : Graph
        The program.
    part : Part
        What there is to be once per region.
    taken : sequence of int
        By request, the number of its region.
    routed : bool
        Whether what is read stays whole.
    """

    def __init__(self, old: Graph, part: Part, taken: Sequence[int], routed: bool = False) -> None:
        used = sorted(set(taken))
        super().__init__(old, part, len(used))
        self._region = [used.index(region) for region in taken]
        self._shares = [[i for i, r in enumerate(taken) if r == region] for region in used]
        self._rows: dict[str, int] = {}
        self._routed = routed

    def route(self) -> Stream:
        """Selectors, all of which may wait: what is known beforehand need not hold anybody up."""
        return deep(super().route(), max(2, self.part.count))

    def make_route(self) -> Stream:
        """The selectors are an input."""
        return self.constant("regions", np.eye(self.count)[self._region], 1)

    def take(self, node: Node) -> None:
        """Divide what is read, if all requests come from where that can be done."""
        if self._routed or not all(split.is_source(stream.node) for stream in self.part.requests):
            super().take(node)
            return
        (stream,) = node.outputs
        parts: dict[str, Sequence[int]] = {}
        for number, share in enumerate(self._shares):
            name = f"{node.name}_r{number}"
            if node.face.port == "in":
                attrs: dict[str, Any] = {"shape": (static(len(share)), *node.attrs["shape"][1:])}
                name = self.name(name)
                parts[name] = share
            else:
                attrs = self._load(node, number)
            with self.inside(number):
                self.copy(node, attrs=attrs, name=name)
        if node.face.port == "in":
            self.replaced.add(node.name)
            self.slices.append(split.of_stream(node.name, stream.rank, self.part.count, parts))

    def _load(self, node: Node, number: int) -> dict[str, Any]:
        """Parameters of a load of the requests of one region, from a tensor of their own."""
        old = self.old.tensors[node.attrs["tensor"]]
        share = self._shares[number]
        rows = split.rows_per_request(node, old, self.part.count)
        if self._rows.setdefault(old.name, rows) != rows:
            raise StepError(
                f"parallelize can't divide tensor {old.name} among regions, since {node.name} at "
                f"{node.where} reads {rows} rows of it for each request and another load "
                f"{self._rows[old.name]}"
            )
        name = f"{old.name}_r{number}"
        while name in self.old.tensors:
            name += "_"
        if name not in self.new.tensors:
            self.new.tensor(name, (rows * len(share), old.shape[1]), old.element)
            self.slices.append(split.of_tensor(old.name, rows, {name: share}))
        self.replaced.add(old.name)
        return {"tensor": name, "shape": (len(share), *node.attrs["shape"][1:])}


class _Dynamic(_Regions):
    """The next request goes to the region that has become free first.

    Parameters
    ----------
    old : Graph
        The program.
    part : Part
        What there is to be once per region.
    count : int
        How many regions there are.
    in_flight : int
        How many requests each is given before it has finished any.
    """

    def __init__(self, old: Graph, part: Part, count: int, in_flight: int) -> None:
        super().__init__(old, part, count)
        self._first = min(part.count, count * in_flight)
        self._freed: Any = None

    def make_route(self) -> Stream:
        """The first requests go round, the others where completions say."""
        everyone, one = self.part.count, np.eye(self.count)
        first = self.constant("regions_first", one[np.arange(self._first) % self.count], 1)
        if self._first == everyone:
            return first
        self._freed = self.new.feedback(
            Selector(self.count, 1), (everyone,), self.name("regions_freed")
        )
        # As many as there are requests left to give out; nobody waits for the last completions.
        is_kept = np.arange(everyone) < everyone - self._first
        keep = self.constant("regions_kept", is_kept[:, None], None)
        attrs: dict[str, Any] = {"rank": 0, "num_consumers": 1}
        kept = self.add("partition", [self._freed, keep], attrs, where=self.where).outputs[0]
        is_later = np.arange(everyone) >= self._first
        later = self.constant("regions_later", np.stack([~is_later, is_later], axis=1), 1)
        attrs = {"rank": 0, "order": "index"}
        both = self.add("reassemble", [first, kept, later], attrs, where=self.where).outputs[0]
        return self.add("flatten", [both], {"lo": 0, "hi": 1}, where=self.where).outputs[0]

    def finish(self, node: Node) -> None:
        """The order in which regions finish requests is the order in which they get new ones."""
        self.route()
        if self._freed is None:
            return
        stream = self.part.done
        completions = [scope[stream] for scope in self._scopes]
        if stream.rank:
            attrs = {"fn": fn.count(), "rank": stream.rank, "init": None}
            completions = [
                self.add("accum", [each], attrs, where=node.where).outputs[0]
                for each in completions
            ]
        name = self.name("regions_done")
        merge = self.add("eager_merge", completions, {"rank": 0}, where=node.where, name=name)
        self._freed.connect(merge.outputs[1])
