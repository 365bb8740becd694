"""Several regions process requests in parallel (paper, section 5.3 and Figure 16).

The region of a request is chosen before the program starts (`coarse`, `interleaved`), or while it
runs (`dynamic`): then the first requests are assigned round robin, and each later one goes to the
region that becomes free first. An EagerMerge of the regions' completions gives the order in which
they finish as its selector, which is the selector of the Partition of requests: a cycle.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from stepgen.compile.transforms import split
from stepgen.compile.transforms.borders import check_apart
from stepgen.compile.transforms.requests import Part, part_of
from stepgen.compile.transforms.rewrite import Rewrite, Transformed, deep
from stepgen.ir.arguments import checked
from stepgen.ir.dims import static
from stepgen.ir.dtypes import Selector
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream

_ONLY = {
    "per_region": ("coarse",),
    "done": ("dynamic",),
    "in_flight": ("dynamic",),
    "routed": ("coarse", "interleaved"),
}
"""By option: the values of `how` that it applies to."""


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
    """Copy the operators that process requests, so that several are processed at a time.

    Inputs and loads of requests are divided among the regions (`coarse`, `interleaved`) or routed
    to them (`dynamic`). Results that leave the program or are stored linearly are put back in the
    order of requests; each region stores what is stored by address. Tensors that are read or
    written by address, or by reference, are shared.

    Parameters
    ----------
    program : Graph or Transformed
        Processes each request independently.
    regions : int
        Most regions; none is made that would get no request.
    how : {"coarse", "interleaved", "dynamic"}
        `per_region` consecutive requests per region, round robin, or each request to the region
        that is free first.
    requests : sequence of str or Stream, optional
        Streams whose outermost dim counts requests, or the names of the nodes that make them;
        by default all inputs and all loads without a reference.
    until : sequence of str or Stream
        Streams behind which the program is not copied; they have the order of requests.
    done : str or Stream, optional
        Stream whose chunk for a request means that it is finished (`dynamic` only); by default
        the last result that is stored or leaves the program.
    per_region : int, optional
        For `coarse`: consecutive requests that a region gets before the next one's turn; by
        default each region has one turn.
    in_flight : int
        For `dynamic`: requests that each region is given before it has finished any.
    routed : bool
        For `coarse` and `interleaved`: inputs and loads of requests are not divided but routed, so
        that a slow region delays the requests behind its own (head-of-line blocking); by default
        they are divided where possible.

    Returns
    -------
    Transformed
        The same program. Selectors that are known in advance become inputs, which `inputs` adds.

    Raises
    ------
    StepError
        If an option does not apply to `how`, streams have different numbers of requests, the part
        that processes them can't be separated, or an operator in it works on several requests at a
        time: packs their rows while requests are assigned one by one, or adds them up.
    """
    before = Transformed.of(program)
    numbers = {"regions": regions, "in_flight": in_flight, "per_region": per_region}
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise StepError(f"parallelize needs {name} of at least 1, not {value}")
    _check_options(how, per_region=per_region, done=done, in_flight=in_flight, routed=routed)
    part = part_of(before.graph, requests, until, done)
    check_apart(part, one_by_one=how == "dynamic")
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
    """Reject options that do not apply to `how`."""
    for name, value in given.items():
        if (
            value != inspect.signature(parallelize).parameters[name].default
            and how not in _ONLY[name]
        ):
            raise StepError(
                f"parallelize has {name} with how {' or '.join(_ONLY[name])} only, not with {how}"
            )


class _Regions(Rewrite, ABC):
    """Rewrite that copies a part of a graph once per region.

    Parameters
    ----------
    old : Graph
        The program.
    part : Part
        What is copied.
    count : int
        Number of regions.

    Attributes
    ----------
    where : str
        The user's line of the first stream of requests.
    replaced : set of str
        Inputs and tensors of the old program that the new one does not have.
    slices : list of Slice
        Their replacements.
    constants : dict of str to array
        Inputs of the new program that are known in advance.
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
        """Number of regions."""
        return len(self._scopes)

    def route(self) -> Stream:
        """Selectors: the region of each request."""
        if self._route is None:
            self._route = self.make_route()
        return self._route

    @abstractmethod
    def make_route(self) -> Stream:
        """Add the operators that make the selectors."""

    def take(self, node: Node) -> None:
        """Copy a source of requests, and route them to the regions."""
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
        """Use the stream that signals finished requests."""

    @contextmanager
    def inside(self, number: int) -> Iterator[None]:
        """Context in which streams of the old graph map to those of a region."""
        outside, self.streams = self.streams, self._scopes[number]
        try:
            yield
        finally:
            self.streams = outside

    def constant(self, name: str, selectors: Any, hot: int | None) -> Stream:
        """An input of selectors that are known in advance."""
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
        """The regions' results, in the order of requests."""
        results = [scope[stream] for scope in self._scopes]
        order = deep(self.route(), max(2, self.part.count))
        attrs = {"rank": stream.rank, "order": "index"}
        where = stream.node.where
        joined = self.add("reassemble", [*results, order], attrs, where=where).outputs[0]
        attrs = {"lo": stream.rank, "hi": stream.rank + 1}
        return self.add("flatten", [joined], attrs, where=where).outputs[0]


class _Static(_Regions):
    """The region of each request is known in advance.

    Parameters
    ----------
    old : Graph
        The program.
    part : Part
        What there is to be once per region.
    taken : sequence of int
        By request, the number of its region.
    routed : bool
        Whether sources are routed instead of divided.
    """

    def __init__(self, old: Graph, part: Part, taken: Sequence[int], routed: bool = False) -> None:
        used = sorted(set(taken))
        super().__init__(old, part, len(used))
        self._region = [used.index(region) for region in taken]
        self._shares = [[i for i, r in enumerate(taken) if r == region] for region in used]
        self._rows: dict[str, int] = {}
        self._routed = routed

    def route(self) -> Stream:
        """Selectors, in a FIFO that holds all of them: known in advance, they must not stall."""
        return deep(super().route(), max(2, self.part.count))

    def make_route(self) -> Stream:
        """The selectors are an input."""
        return self.constant("regions", np.eye(self.count)[self._region], 1)

    def take(self, node: Node) -> None:
        """Divide the source, if all sources of requests can be divided."""
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
        """Parameters of a load of the requests of one region, from a separate tensor."""
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
    """The next request goes to the region that becomes free first.

    Parameters
    ----------
    old : Graph
        The program.
    part : Part
        What there is to be once per region.
    count : int
        How many regions there are.
    in_flight : int
        Requests that each region gets before it has finished any.
    """

    def __init__(self, old: Graph, part: Part, count: int, in_flight: int) -> None:
        super().__init__(old, part, count)
        self._first = min(part.count, count * in_flight)
        self._freed: Any = None

    def make_route(self) -> Stream:
        """The first requests round robin, the others in the order of completions."""
        everyone, one = self.part.count, np.eye(self.count)
        first = self.constant("regions_first", one[np.arange(self._first) % self.count], 1)
        if self._first == everyone:
            return first
        self._freed = self.new.feedback(
            Selector(self.count, 1), (everyone,), self.name("regions_freed")
        )
        # Completions behind which no request is left to assign are dropped.
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
        """Regions get new requests in the order in which they finish."""
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
