"""From an exported program to the operations of a model."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stepgen.frontend.formulas import with_constant
from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.kinds.rope import Rope
from stepgen.frontend.model import Model
from stepgen.frontend.pytorch.formulas import Block, chain_of, numbers, pair_of
from stepgen.frontend.pytorch.needed import torch
from stepgen.frontend.pytorch.quantized import Quantized
from stepgen.frontend.pytorch.values import Val, short

_SAME = (
    *("contiguous", "clone", "_to_copy", "to", "alias", "detach", "detach_", "dropout"),
    *("lift_fresh_copy", "_assert_tensor_metadata", "type_as"),
)
"""Operations that leave numbers as they are."""


class Translator(Quantized):
    """Builds a model while it goes through the operations of an exported program."""

    def translate(self, name: Callable[[str], tuple[str, str]]) -> Model:
        """The model.

        Parameters
        ----------
        name : callable
            Gives name and dims of an input by that of the exported program.
        """
        last = self.graph.output_node()
        live, todo = set(), [last]
        while todo:
            node = todo.pop()
            if node not in live:
                live.add(node)
                todo += node.all_input_nodes
        for node in self.graph.nodes:
            self.node = node
            if node.op == "placeholder" and node.name not in self.constants:
                self._input(*name(node.name))
            elif node.op == "call_function" and node in live:
                self._call()
        outputs = [self._value(node) for node in last.args[0]]
        return self.b.model(*(self._rows(value).handle for value in outputs))

    def _input(self, name: str, dims: str) -> None:
        tensor = self.node.meta["val"]
        if dims.endswith("D"):
            width = int(tensor.shape[-1])
            handle = self.b.input(name, width)
        else:
            width, handle = 0, self.b.positions() if name == "positions" else self.b.ids(name)
        self.values[self.node] = Val(handle, dims, width)

    def _call(self) -> None:
        node, name = self.node, short(self.node)
        inputs = [a for a in node.args if isinstance(a, torch().fx.Node)]
        if name == "block":
            self.values[node] = self._block(*node.args)
        elif node.target is operator.getitem:
            if node.args[0] in self.parts:
                self.values[node] = self.parts[node.args[0]][node.args[1]]
        elif inputs and inputs[0].name in self.constants and name in (*_SAME, "view", "unsqueeze"):
            self.constants[node.name] = self.constants[inputs[0].name]
            self.names[node.name] = self.names[inputs[0].name]
        elif not isinstance(node.meta.get("val"), torch().Tensor | list | tuple):
            return  # a size, or a check of one
        elif name in _SAME:
            self.values[node] = self._value(inputs[0])
        elif (method := getattr(self, f"_on_{name}", None)) is not None:
            made = method(*node.args, **node.kwargs)
            if made is not None:
                self.values[node] = made
        elif any(a in self.values for a in inputs):
            self.values[node] = self._elements(inputs)
        # What is made of no value, as a mask, is refused by the operation that reads it.

    def _block(self, xs: Any, kind: str, key: str) -> Val:
        found = self.blocks[key]
        attributes, path = dict(found.attributes), key.partition("/")[0]
        x = self._value(xs[0])
        if kind == "turns":
            return replace(x, turns=found)
        if kind == "rope":
            turns = self._value(xs[1])
            assert turns.turns is not None
            x, settings = self._heads(x), turns.turns.attributes
            weight = self.b.weight(settings["weight"], turns.turns.weights["frequencies"])
            rope = Rope(attributes["pairs"], settings["factor"])
            made = self._add(rope, x, turns, weights={"frequencies": weight})
            return replace(x, handle=made)
        if kind == "attention":
            window = attributes.pop("window")
            q, k, v = (self._heads(self._value(node)) for node in xs)
            return self._attention(q, k, v, window=window, path=f"{path}.attention", **attributes)
        if kind == "self_attention":
            return self._self_attention(x, found, path)
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

    def _self_attention(self, x: Val, found: Block, path: str) -> Val:
        both, out = (found.weights[role] for role in ("in", "out"))
        first, last = (found.weights.get(role) for role in ("in_bias", "out_bias"))
        width, heads = int(out.shape[0]), found.attributes["heads"]
        parts = []
        for number, name in enumerate(("q", "k", "v")):
            where = slice(number * width, (number + 1) * width)
            bias = None if first is None else first[where]
            value = self._linear(x, both[where], bias, transposed=True, path=f"{path}.{name}")
            parts.append(self._heads(replace(value, width=width // heads)))
        scale = (width // heads) ** -0.5
        made = self._attention(
            *parts,
            scale=scale,
            window=0,
            path=f"{path}.attention",
            causal=found.attributes["causal"],
        )
        rows = replace(self._rows(made), dims=x.dims)
        return self._linear(rows, out, last, transposed=True, path=f"{path}.out_proj")

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
                x = torch().linspace(-3, 3, 13)
                functions = with_constant(numbers(x), numbers(apply(x)), float(numbers_[0]))
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
        if weight.name in self.narrow:
            return self._scaled_linear(self._value(x), weight, bias)
        if self._value(x).step is not None:
            raise self._fail("it reads int8, and its weight is of real numbers")
        held = [self._constant(w) for w in (weight, bias)]
        return self._linear(self._value(x), *held, transposed=True, path="")

    def _on_addmm(self, bias: Any, x: Any, weight: Any) -> Val:
        held = [self._constant(w) for w in (weight, bias)]
        return self._linear(self._value(x), *held, transposed=False, path="")

    def _on_matmul(self, x: Any, weight: Any) -> Val:
        return self._linear(self._value(x), self._constant(weight), None, transposed=False, path="")

    _on_mm = _on_matmul

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
