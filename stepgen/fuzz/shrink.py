"""Makes a failing case small: fewer operators, less data, plainer circumstances."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from stepgen.fuzz.case import Case
from stepgen.hw.design.table import Bus
from stepgen.ir import text
from stepgen.ir.dims import Dim, dynamic, ragged
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import usual_lanes
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.operator import operators
from stepgen.ir.stalls import Stalls
from stepgen.ir.stream import Stream
from stepgen.semantics import executor
from stepgen.semantics.tokens import Token, decode

Oracle = Callable[[Case], bool]
"""Whether a case still fails in the same way."""


def shrink(case: Case, fails: Oracle, tries: int = 400) -> Case:
    """The smallest case that is found which still fails.

    Parameters
    ----------
    case : Case
        One that fails.
    fails : function of a case
        Called for each smaller one.
    tries : int
        How often it may be called.

    Returns
    -------
    Case
        A case that `fails` accepted, or the one that was given.
    """
    left = tries
    found = True
    while found and left > 0:
        found = False
        for smaller in _smaller(case):
            left -= 1
            if fails(smaller):
                case, found = smaller, True
                break
            if left <= 0:
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Smaller cases, those that leave out most first; what can't be built is left out."""
    for make in (_circumstances, _programs, _data):
        for smaller in make(case):
            if smaller is not None:
                yield smaller


def _circumstances(case: Case) -> Iterator[Case | None]:
    plain: dict[str, Any] = {
        "aborts": (),
        "early": (),
        "stalls": Stalls(),
        "depths": {},
        "refused": {},
        "junk": False,
        "fuse": False,
        "loaders": "own",
        "onchip": None,
    }
    plain |= {"memory": MemoryTiming(), "bus": Bus()}
    for name, value in plain.items():
        if getattr(case, name) != value:
            yield replace(case, **{name: value})
    for n in range(len(case.aborts)):
        yield replace(case, aborts=(*case.aborts[:n], *case.aborts[n + 1 :]))
    for name in (*case.refused,) if len(case.refused) > 1 else ():
        yield replace(case, refused={name: case.refused[name]})
    for n in range(len(case.early)):
        yield replace(case, early=(*case.early[:n], *case.early[n + 1 :]))
    for lanes in (1, 2, 4, 8):
        if lanes < usual_lanes(case.lanes) or not isinstance(case.lanes, int):
            yield replace(case, lanes=lanes)
    own = {} if isinstance(case.lanes, int) else case.lanes
    for name in own:
        yield replace(case, lanes={k: v for k, v in own.items() if k != name})
    shares = case.stalls.probability
    for name in shares:
        if shares[name]:
            yield replace(case, stalls=Stalls(case.stalls.seed, {**shares, name: 0.0}))
    for name in case.depths:
        yield replace(case, depths={k: v for k, v in case.depths.items() if k != name})


def _programs(case: Case) -> Iterator[Case | None]:
    record = json.loads(text.dumps(case.graph, lines=False))
    nodes = record["nodes"]
    inner = [n for n in case.graph.nodes if n.name not in case.graph.inputs and n.outputs]
    outputs = [n for n in nodes if n["name"] in case.graph.outputs]
    stores = [n for n in nodes if _is_end(n) and n not in outputs]
    # Ends earlier: one stream is all that leaves.
    for node in inner:
        for stream in node.outputs:
            end = {"op": "output", "name": "result", "inputs": [_from(stream)], "attrs": {}}
            for gone in ([*outputs, *stores], outputs):
                if [n["inputs"] for n in gone] != [end["inputs"]]:
                    yield _rebuilt(case, record, [*(n for n in nodes if n not in gone), end])
    # Without one of its outputs, or one of its stores.
    for end in [*outputs, *stores]:
        yield _rebuilt(case, record, [n for n in nodes if n is not end])
    # Begins later: what an operator gives comes from outside.
    try:
        streams = executor.run(case.graph, case.inputs, lanes=case.lanes).streams
    except StepError:
        return
    for node in reversed(inner):
        for stream in node.outputs:
            if (tokens := streams.get(stream.name)) is not None:
                yield _begun(case, record, stream, tokens)


def _is_end(node: dict[str, Any]) -> bool:
    return operators()[node["op"]].is_sink


def _from(stream: Stream) -> dict[str, Any]:
    source = stream.resolved()
    return {"from": [source.node.name, source.port]}


def _begun(case: Case, record: dict[str, Any], stream: Stream, tokens: list[Token]) -> Case | None:
    name = "begun"
    while any(n["name"] == name for n in record["nodes"]):
        name += "_"
    shape = [_dim(dim, f"B{k}", outer=k > 0) for k, dim in enumerate(stream.shape)]
    graph = Graph("dims")
    try:
        graph.input(name, stream.dtype, shape)
    except StepError:
        return None
    (entry,) = json.loads(text.dumps(graph, lines=False))["nodes"]
    origin = _from(stream)["from"]
    nodes = [
        {**n, "inputs": [_moved(use, origin, name) for use in n["inputs"]]} for n in record["nodes"]
    ]
    at = next(k for k, n in enumerate(nodes) if n["name"] == origin[0])
    data = {name: decode(tokens, stream.rank)}
    return _rebuilt(case, record, [*nodes[:at], entry, *nodes[at:]], data)


def _moved(use: dict[str, Any], origin: list[Any], name: str) -> dict[str, Any]:
    return {**use, "from": [name, 0]} if use["from"] == origin else use


def _dim(dim: Dim, name: str, *, outer: bool) -> int | Dim:
    if dim.static is not None:
        return dim.static
    return ragged(name, bound=dim.bound) if outer else dynamic(name, bound=dim.bound)


def _rebuilt(
    case: Case, record: dict[str, Any], nodes: list[dict[str, Any]], more: Any = None
) -> Case | None:
    """The case of a graph with these nodes, as far as an output or a store needs them."""
    if record["feedbacks"]:
        return None  # loops are not cut
    ends = [n["name"] for n in nodes if _is_end(n)]
    by_name, needed = {n["name"]: n for n in nodes}, set(ends)
    waiting = list(ends)
    while waiting:
        for use in by_name[waiting.pop()]["inputs"]:
            name = use["from"][0]
            if name not in by_name:
                return None
            if name not in needed:
                needed.add(name)
                waiting.append(name)
    kept = [n for n in nodes if n["name"] in needed]
    used = {n["attrs"].get("tensor") for n in kept}
    tensors = [t for t in record["tensors"] if t["name"] in used]
    try:
        graph = text.loads(json.dumps({**record, "nodes": kept, "tensors": tensors}))
    except StepError:
        return None
    inputs = {**case.inputs, **(more or {})}
    names = {*graph.inputs, *graph.tensors}
    return _with_graph(case, graph, {k: v for k, v in inputs.items() if k in names})


def _with_graph(case: Case, graph: Graph, inputs: dict[str, Any]) -> Case:
    ports = {*graph.inputs, *graph.outputs}
    shares = {
        name: share
        for name, share in case.stalls.probability.items()
        if name in ports or name.startswith("mem.")
    }
    early = tuple(name for name in case.early if name in graph.inputs)
    late = {name: cycles for name, cycles in case.stalls.late.items() if name in ports}
    stalls = Stalls(case.stalls.seed, shares, late)
    return replace(case, graph=graph, inputs=inputs, stalls=stalls, early=early, depths={})


def _data(case: Case) -> Iterator[Case | None]:
    yield from _shorter(case)
    for name, value in case.inputs.items():
        for smaller in _plainer(value):
            yield replace(case, inputs={**case.inputs, name: smaller})


def _shorter(case: Case) -> Iterator[Case | None]:
    """One item less in all inputs that share a dim."""
    streams = case.graph.inputs
    lists = {name: _lists(case.inputs[name], len(s.shape)) for name, s in streams.items()}
    dims = {str(dim): 0 for s in streams.values() for dim in s.shape if dim.static is None}
    for dim in dims:
        levels = {
            name: [str(d) for d in s.shape].index(dim)
            for name, s in streams.items()
            if dim in map(str, s.shape)
        }
        longest = max(_longest(lists[name], level) for name, level in levels.items())
        for n in range(longest):
            less = {name: _without(lists[name], level, n) for name, level in levels.items()}
            yield replace(case, inputs={**case.inputs, **less})


def _lists(value: Any, depth: int) -> Any:
    return [_lists(item, depth - 1) for item in value] if depth else np.asarray(value)


def _longest(value: Any, level: int) -> int:
    if level == 0:
        return len(value)
    return max((_longest(item, level - 1) for item in value), default=0)


def _without(value: Any, level: int, n: int) -> Any:
    if level == 0:
        return [*value[:n], *value[n + 1 :]]
    return [_without(item, level - 1, n) for item in value]


def _plainer(value: Any) -> Iterator[Any]:
    """Nested lists with fewer items, arrays with plainer numbers."""
    if isinstance(value, np.ndarray):
        if not value.any():
            return
        yield np.zeros_like(value)
        if value.dtype != bool and (value != np.sign(value)).any():
            yield np.sign(value)
        yield from _blanked(value)
        return
    for n in range(len(value)):
        yield [*value[:n], *value[n + 1 :]]
    for n, item in enumerate(value):
        for smaller in _plainer(item):
            yield [*value[:n], smaller, *value[n + 1 :]]


def _blanked(value: np.ndarray) -> Iterator[np.ndarray]:
    """With zeros in a half of what is not 0, then in a quarter, down to one number."""
    places = np.flatnonzero(value)
    size = len(places)
    while size > 1:
        size = (size + 1) // 2
        for begin in range(0, len(places), size):
            less = value.copy()
            less.flat[places[begin : begin + size]] = 0
            yield less
