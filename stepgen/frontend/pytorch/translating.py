"""From an exported program to the operations of a model."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ...ir.errors import StepError
from ...ir.fn import fn
from ...ir.where import _PACKAGE
from ..builder import Builder, Handle
from ..kind import Kind
from ..kinds.attention import Attention
from ..kinds.embedding import Embedding
from ..kinds.experts import Experts
from ..kinds.heads import Heads
from ..kinds.join import Join
from ..kinds.linear import Linear
from ..kinds.map import Map
from ..kinds.norm import Norm
from ..kinds.rope import Rope
from ..kinds.split import Split
from ..model import Model
from .formulas import Block, chain_of, numbers, pair_of
from .needed import torch

WRAPPED = "m"
"""Name of the module in what is exported around it."""

_SAME = (
    *("contiguous", "clone", "_to_copy", "to", "alias", "detach", "detach_", "dropout"),
    *("lift_fresh_copy", "_assert_tensor_metadata", "type_as"),
)
"""Operations that leave numbers as they are."""


@dataclass(frozen=True)
class Val:
    """A value of the exported program.

    Attributes
    ----------
    handle : Handle or None
        Of the builder.
    dims : str
        A letter for each dim: T tokens, H heads, D width, 1 for a dim of one.
    width : int
        Of the last dim of the model's value.
    heads : bool
        Whether the model's value is of heads.
    turns : Block or None
        Instead of a handle: angles of positions.
    """

    handle: Handle
    dims: str
    width: int
    heads: bool = False
    turns: Block | None = None


class Translator:
    """Builds a model while it goes through the operations of an exported program.

    Parameters
    ----------
    exported : ExportedProgram
    blocks : dict of str to Block
    builder : Builder
    half : bool
        Whether weights of bf16 were widened for the export.
    """

    def __init__(
        self, exported: Any, blocks: Mapping[str, Block], builder: Builder, *, half: bool
    ) -> None:
        self.b, self.blocks, self.half = builder, blocks, half
        self.graph = exported.graph
        signature = exported.graph_signature
        arrays = {**exported.state_dict, **exported.constants}
        self.constants = {s.arg.name: arrays[s.target] for s in signature.input_specs if s.target}
        self.names = {s.arg.name: s.target for s in signature.input_specs if s.target}
        self.values: dict[Any, Val] = {}
        self.parts: dict[Any, list[Val]] = {}
        self.embedded = self._embedded()
        self.node: Any = None

    def _embedded(self) -> set[int]:
        """Places of the tables of embeddings, which heads may share."""
        tables = set()
        for node in self.graph.nodes:
            if _short(node) == "embedding" and node.args[0].name in self.constants:
                tables.add(self.constants[node.args[0].name].data_ptr())
        return tables

    def translate(self, name: Callable[[str], tuple[str, str]]) -> Model:
        """The model.

        Parameters
        ----------
        name : callable
            Gives name and dims of an input by that of the exported program.
        """
        live, todo = set(), [node for node in self.graph.nodes if node.op == "output"]
        while todo:
            node = todo.pop()
            if node not in live:
                live.add(node)
                todo += node.all_input_nodes
        outputs: list[Val] = []
        for node in self.graph.nodes:
            self.node = node
            if self.node.op == "placeholder" and self.node.name not in self.constants:
                self._input(*name(self.node.name))
            elif self.node.op == "output":
                outputs = [self._value(node) for node in self.node.args[0]]
            elif self.node.op == "call_function" and self.node in live:
                self._call()
        return self.b.model(*(self._rows(value).handle for value in outputs))

    def _input(self, name: str, dims: str) -> None:
        tensor = self.node.meta["val"]
        if dims.endswith("D"):
            width = int(tensor.shape[-1])
            handle = self.b.input(name, width)
        else:
            width, handle = 0, self.b.positions() if name == "positions" else self.b.ids(name)
        self.values[self.node] = Val(handle, dims, width)

    # What is said of an operation.

    def _path(self) -> str:
        stack = [*(self.node.meta.get("nn_module_stack") or {}).values()]
        path = stack[-1][0] if stack else ""
        return re.sub(rf"^(L__self___)?{WRAPPED}(\.|$)", "", path)

    def _line(self) -> str:
        found = re.findall(r'File "([^"]+)", line (\d+)', self.node.meta.get("stack_trace") or "")
        users = [(f, n) for f, n in found if not f.startswith(str(_PACKAGE))]
        return f"{users[-1][0].rpartition('/')[2]}:{users[-1][1]}" if users else ""

    def _fail(self, message: str) -> StepError:
        path, line = self._path(), self._line()
        where = (f" in {path}" if path else "") + (f" at {line}" if line else "")
        return StepError(f"{self.node.target}{where}: {message}")

    def _add(self, kind: Kind, *inputs: Val, weights: Any = None, path: str = "") -> Handle:
        where = path or self._path()
        scope, _, last = where.rpartition(".") if path else (where, "", "")
        handles = [value.handle for value in inputs]
        line = self._line() or "the module"
        if not scope:
            return self.b.add(kind, *handles, weights=weights, name=last, line=line)
        with self.b.scope(scope):
            return self.b.add(kind, *handles, weights=weights, name=last, line=line)

    # Values in the form that an operation needs.

    def _value(self, node: Any) -> Val:
        if node not in self.values:
            raise self._fail("it reads something else than a value with tokens")
        return self.values[node]

    def _rows(self, value: Val) -> Val:
        """A value of rows, with heads joined."""
        if not value.heads:
            return value
        return Val(self._add(Join(), value), value.dims.replace("H", ""), 0)

    def _heads(self, value: Val) -> Val:
        """A value of heads; a row is one of them."""
        if value.heads:
            return value
        return replace(value, handle=self._add(Heads(value.width), value), heads=True)

    def _array(self, given: Any) -> Any:
        """Numbers of a parameter, in the type that it had."""
        if isinstance(given, np.ndarray):
            return given
        array = given.detach().cpu().float().numpy()
        narrow = array.astype(ml_dtypes.bfloat16)
        return narrow if self.half and (narrow.astype(np.float32) == array).all() else array

    def _table(self, tensor: Any) -> str:
        """The weight of a table, which other operations may read too."""
        pointer = tensor.data_ptr()
        name = next(n for n, t in self.constants.items() if t.data_ptr() == pointer)
        path = re.sub(rf"^{WRAPPED}\.", "", self.names[name]).removesuffix(".weight")
        return self.b.weight(path, self._array(tensor))

    def _linear(self, x: Val, weight: Any, bias: Any, *, transposed: bool, path: str) -> Val:
        x = self._rows(x)
        weights: dict[str, Any] = {} if bias is None else {"bias": self._array(bias)}
        width = int(weight.shape[0 if transposed else 1])
        if transposed and weight.data_ptr() in self.embedded:
            kind, weights["weight"] = Linear(transposed=True), self._table(weight)
        else:
            array = self._array(weight)
            kind = Linear()
            weights["weight"] = np.ascontiguousarray(array.T) if transposed else array
        return Val(self._add(kind, x, weights=weights, path=path), x.dims, width)

    # Operations.

    def _call(self) -> None:
        node, short = self.node, _short(self.node)
        inputs = [a for a in node.args if isinstance(a, torch().fx.Node)]
        if short == "block":
            self.values[node] = self._block(*node.args)
        elif node.target is operator.getitem:
            if node.args[0] in self.parts:
                self.values[node] = self.parts[node.args[0]][node.args[1]]
        elif inputs and inputs[0].name in self.constants and short in (*_SAME, "view", "unsqueeze"):
            self.constants[node.name] = self.constants[inputs[0].name]
            self.names[node.name] = self.names[inputs[0].name]
        elif not isinstance(node.meta.get("val"), torch().Tensor | list | tuple):
            return  # a size, or a check of one
        elif short in _SAME:
            self.values[node] = self._value(inputs[0])
        elif (method := getattr(self, f"_on_{short}", None)) is not None:
            made = method(*node.args, **node.kwargs)
            if made is not None:
                self.values[node] = made
        else:
            self.values[node] = self._elements(inputs)

    def _block(self, xs: Any, kind: str, key: str) -> Val:
        found = self.blocks[key]
        attributes, path = dict(found.attributes), key.partition("/")[0]
        x = self._value(xs[0])
        if kind == "turns":
            return replace(x, turns=found)
        if kind == "rope":
            turns = self._value(xs[1])
            assert turns.turns is not None
            x, told = self._heads(x), turns.turns.attributes
            weight = self.b.weight(told["weight"], turns.turns.weights["frequencies"])
            rope = Rope(attributes["pairs"], told["factor"])
            made = self._add(rope, x, turns, weights={"frequencies": weight})
            return replace(x, handle=made)
        if kind == "attention":
            window = attributes.pop("window")
            q, k, v = (self._heads(self._value(node)) for node in xs)
            return self._attention(q, k, v, window=window, path=f"{path}.attention", **attributes)
        weights = {role: self._array(w) for role, w in found.weights.items()}
        if kind == "linear":
            bias, turned = found.weights.get("bias"), attributes["transposed"]
            return self._linear(x, found.weights["weight"], bias, transposed=turned, path=path)
        if kind == "norm":
            if x.heads is False and x.width != len(weights["weight"]):
                raise self._fail(f"it is of {len(weights['weight'])} columns, not of {x.width}")
            made = self._add(Norm(**attributes), x, weights=weights, path=path)
            return replace(x, handle=made)
        if kind == "experts":
            x = self._rows(x)
            experts = Experts(attributes["top"], attributes["activation"], attributes["normalise"])
            return replace(x, handle=self._add(experts, x, weights=weights, path=path))
        return self._chain(x, attributes["functions"], path)

    def _attention(
        self, q: Val, k: Val, v: Val, *, scale: float, window: int, path: str, **more: Any
    ) -> Val:
        weights = {}
        if window:
            weights["window"] = self.b.weight(f"window.{window}", np.int32(window))
        elif any(b.attributes.get("window") for b in self.blocks.values()):
            weights["window"] = self.b.weight("window.0", np.int32(0))
        kind = Attention(scale, **more)
        made = self._add(kind, q, k, v, weights=weights, path=path.lstrip("."))
        return Val(made, "1THD", v.width, heads=True)

    def _chain(self, x: Val, functions: Any, path: str = "") -> Val:
        for function in functions:
            x = replace(x, handle=self._add(Map(function), x, path=path))
        return x

    def _elements(self, inputs: list[Any]) -> Val:
        """Functions of numbers, by what they make of random ones."""
        node = self.node
        values = [self._value(a) for a in inputs if a.name not in self.constants]
        held = [self._scalar(a) for a in inputs if a.name in self.constants]

        def apply(*xs: Any) -> Any:
            given, own = iter(xs), iter(held)
            args = [
                a
                if not isinstance(a, torch().fx.Node)
                else next(own if a.name in self.constants else given)
                for a in node.args
            ]
            return node.target(*args, **node.kwargs)

        numbers_ = [a for a in (*node.args, *held) if type(a) in (int, float)]
        if len(values) == 1:
            functions = chain_of(apply)
            if functions is None and len(numbers_) == 1:
                functions = _with_constant(apply, float(numbers_[0]))
            if functions is not None:
                return self._chain(values[0], functions)
        elif len(values) == 2:
            a, b = values
            function = pair_of(apply)
            if function is not None:
                if a.heads != b.heads:
                    a, b = self._rows(a), self._rows(b)
                if a.dims.replace("1", "") != b.dims.replace("1", ""):
                    raise self._fail(f"it joins values whose dims differ: {a.dims} and {b.dims}")
                return replace(a, handle=self._add(Map(function), a, b))
        raise self._fail(
            "there is no such operation in models; nearest are linear, norm, attention with "
            "scaled_dot_product_attention, experts, and functions of single numbers"
        )

    def _scalar(self, node: Any) -> float:
        held = self.constants[node.name]
        if held.numel() != 1:
            raise self._fail("it joins a value with a parameter, which only linears and norms do")
        return float(held)

    def _on_linear(self, x: Any, weight: Any, bias: Any = None) -> Val:
        held = [self._constant(w) for w in (weight, bias)]
        return self._linear(self._value(x), *held, transposed=True, path="")

    def _on_addmm(self, bias: Any, x: Any, weight: Any) -> Val:
        held = [self._constant(w) for w in (weight, bias)]
        return self._linear(self._value(x), *held, transposed=False, path="")

    def _on_matmul(self, x: Any, weight: Any) -> Val:
        return self._linear(self._value(x), self._constant(weight), None, transposed=False, path="")

    _on_mm = _on_matmul

    def _constant(self, node: Any) -> Any:
        if node is None:
            return None
        if node.name not in self.constants:
            raise self._fail("it multiplies two values; only attention does that in models")
        return self.constants[node.name]

    def _on_embedding(self, table: Any, ids: Any, *_: Any) -> Val:
        tensor, x = self._constant(table), self._value(ids)
        made = self._add(Embedding(), x, weights={"table": self._table(tensor)}, path=self._path())
        return Val(made, f"{x.dims}D", int(tensor.shape[1]))

    def _on_layer_norm(
        self, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
    ) -> Val:
        return self._normed(x, shape, Norm("layer", eps), weight=weight, bias=bias)

    def _on_rms_norm(self, x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Val:
        small = float(np.finfo(np.float32).eps) if eps is None else eps
        return self._normed(x, shape, Norm("rms", small), weight=weight)

    def _normed(self, x: Any, shape: Any, kind: Norm, **held: Any) -> Val:
        if len(shape) != 1:
            raise self._fail(f"norms are of the last dim, not of {len(shape)}")
        weights = {r: self._array(self._constant(n)) for r, n in held.items() if n is not None}
        value = self._value(x)
        return replace(value, handle=self._add(kind, value, weights=weights))

    def _on_scaled_dot_product_attention(
        self,
        q: Any,
        k: Any,
        v: Any,
        mask: Any = None,
        dropout: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Val:
        if mask is not None:
            raise self._fail("it has a mask; is_causal=True is the one that is known")
        heads = [self._heads(self._value(node)) for node in (q, k, v)]
        made = self._attention(
            *heads,
            scale=heads[0].width ** -0.5 if scale is None else scale,
            window=0,
            path="",
            causal=is_causal,
        )
        return replace(made, dims=self._value(q).dims)

    # Layout.

    def _on_view(self, x: Any, *_: Any) -> Val:
        value = self._value(x)
        core = [
            int(n) if isinstance(n, int) else "T" for n in self.node.meta["val"].shape if n != 1
        ]
        old = value.dims.replace("1", "")
        wide = [n for n in core if n != "T"]
        if "T" not in core or old[:1] != "T" or core[0] != "T":
            raise self._fail("it mixes tokens with other dims")
        if len(core) == len(old) or (value.heads and len(core) == 2 and len(old) == 2):
            dims, made = old, value
        elif len(core) == len(old) - 1 and old == "THD":
            made = replace(self._rows(value), width=int(wide[0]))
            dims = "TD"
        elif len(core) == len(old) + 1 and old == "TD":
            made = replace(value, width=int(wide[-1]), heads=True)
            made = replace(made, handle=self._add(Heads(int(wide[-1])), value))
            dims = "THD"
        else:
            raise self._fail(f"it makes {core} of a value of dims {value.dims}")
        return replace(made, dims=_with_ones(dims, self.node.meta["val"].shape))

    _on_reshape = _on__unsafe_view = _on_flatten = _on_unflatten = _on_view

    def _on_transpose(self, x: Any, a: int, b: int) -> Val:
        value = self._value(x)
        dims = [*value.dims]
        dims[a], dims[b] = dims[b], dims[a]
        return replace(value, dims="".join(dims))

    def _on_permute(self, x: Any, order: Any) -> Val:
        value = self._value(x)
        return replace(value, dims="".join(value.dims[i] for i in order))

    def _on_unsqueeze(self, x: Any, dim: int) -> Val:
        value = self._value(x)
        at = dim % (len(value.dims) + 1)
        return replace(value, dims=f"{value.dims[:at]}1{value.dims[at:]}")

    def _on_squeeze(self, x: Any, dim: int) -> Val:
        value = self._value(x)
        at = dim % len(value.dims)
        return replace(value, dims=value.dims[:at] + value.dims[at + 1 :])

    def _on_select(self, x: Any, dim: int, index: int) -> Val:
        value = self._value(x)
        if value.dims[dim] != "1":
            raise self._fail(f"it takes one of the dim {value.dims[dim]}")
        return self._on_squeeze(x, dim)

    def _on_expand(self, x: Any, *_: Any, **__: Any) -> Val:
        value = self._value(x)
        if tuple(x.meta["val"].shape) != tuple(self.node.meta["val"].shape):
            raise self._fail("it repeats a value")
        return value

    def _on_slice(
        self, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
    ) -> Val:
        value, size = self._value(x), x.meta["val"].shape[dim]
        whole = start in (None, 0) and (end is None or end == sys.maxsize or end is size)
        if whole and step == 1:
            return value
        columns = dim % len(value.dims) == len(value.dims) - 1 and value.dims[-1] == "D"
        if not columns or step != 1 or value.heads:
            raise self._fail(f"it takes a part of the dim {value.dims[dim]}")
        first = (start or 0) % value.width
        last = value.width if end in (None, sys.maxsize) else end % (value.width + 1)
        return self._columns(value, first, last - first)

    def _columns(self, value: Val, first: int, count: int) -> Val:
        return replace(value, handle=self._add(Split(first, count), value), width=count)

    def _on_split(self, x: Any, *_: Any) -> None:
        value, first = self._rows(self._value(x)), 0
        parts = []
        for tensor in self.node.meta["val"]:
            count = int(tensor.shape[-1])
            parts.append(self._columns(value, first, count))
            first += count
        if first != value.width:
            raise self._fail("it splits another dim than the last one")
        self.parts[self.node] = parts

    _on_split_with_sizes = _on_chunk = _on_split


def _with_constant(apply: Callable[..., Any], c: float) -> Any:
    """A function of each number and a constant, by what it makes of random ones."""
    x = torch().linspace(-3, 3, 13)
    made, plain = numbers(apply(x)), numbers(x)
    tries = [fn.scale(c), fn.offset(c), fn.offset(-c), fn.at_least(c), fn.at_most(c)]
    tries += [fn.scale(1 / c)] if c else []
    for function in tries:
        if np.allclose(function.exact(plain), made, rtol=1e-6, atol=1e-7):  # type: ignore[attr-defined]
            return (function,)
    return None


def _with_ones(dims: str, shape: Any) -> str:
    """Letters of dims for a shape, of which those of one are between them."""
    left, made = [*dims], ""
    for extent in shape:
        made += "1" if extent == 1 else left.pop(0)
    return made + "".join(left)


def _short(node: Any) -> str:
    """The name of what a node calls, without its package and overload."""
    return str(node.target).split(".")[1] if str(node.target).count(".") else str(node.target)
