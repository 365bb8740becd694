"""From the nodes of an ONNX file to the operations of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from stepgen.frontend.builder import Builder, Handle
from stepgen.frontend.formulas import chain_for, close, pair_for, with_constant
from stepgen.frontend.kind import Kind
from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.onnxfile.needed import onnx
from stepgen.frontend.onnxfile.reading import OnnxFile
from stepgen.frontend.weight import Array
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn

_REDUCING = ("ReduceMean", "ReduceSum", "ReduceSumSquare")


@dataclass(frozen=True)
class Val:
    """A value of the model.

    Attributes
    ----------
    handle : Handle
    features : tuple of int
        Extents for each token; their numbers are a row.
    linear : tuple or None
        Of a linear: its input, weight [in, out] and bias, so that what follows can go into them.
    """

    handle: Handle
    features: tuple[int, ...]
    linear: tuple[Val, Array, Array | None, str] | None = None

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return math.prod(self.features)


class Translator:
    """Builds a model of an ONNX file, from its outputs back to its inputs."""

    def __init__(self, file: OnnxFile, builder: Builder) -> None:
        self.file, self.b = file, builder
        self.values: dict[str, Val] = {}
        for x in file.inputs:
            self.values[x.name] = self._input(x)

    def _input(self, x: Any) -> Val:
        features, kinds = self.file.features(x.name), onnx().TensorProto
        element = x.type.tensor_type.elem_type
        if element in (kinds.INT32, kinds.INT64) and features == ():
            return Val(self.b.ids(x.name), ())
        if features is None or element not in (kinds.FLOAT, kinds.FLOAT16, kinds.DOUBLE):
            dims = ", ".join(str(d) for d in self.file.dims[x.name])
            raise StepError(
                f"{self.file.path}: its input {x.name} must be rows of numbers [T, width], or ids "
                f"[T], not {kinds.DataType.Name(element).lower()} [{dims}]"
            )
        return Val(self.b.input(x.name, math.prod(features)), features)

    def value(self, name: str) -> Val:
        """A value; the operations that make it are added at the first call.

        Raises
        ------
        StepError
            If a node is not known.
        """
        if name not in self.values:
            if name in self.file.constants:
                raise StepError(f"{self.file.path}: {name} is a constant, no value with tokens")
            self.values[name] = self._made(self.file.nodes[name])
        return self.values[name]

    def _fail(self, node: Any, message: str) -> StepError:
        return StepError(
            f"{self.file.path}: node {node.name or node.output[0]} ({node.op_type}): {message}"
        )

    def _made(self, node: Any) -> Val:
        method: Callable[[Any], Val] | None = getattr(self, f"_on_{node.op_type}", None)
        return self._row(node) if method is None else method(node)

    def _add(self, node: Any, kind: Kind, *xs: Val, where: str = "", **weights: Any) -> Handle:
        path = where or self._path(node)
        given = {role: w for role, w in weights.items() if w is not None}
        handles = [x.handle for x in xs]
        return self.b.add(kind, *handles, weights=given, name=path, line=str(self.file.path.name))

    def _path(self, node: Any) -> str:
        """The module that a node comes from, as exporters note it, or by its weights or name."""
        settings = next((p.value for p in node.metadata_props if p.key == "namespace"), "")
        if (
            settings.count("/") > 1
        ):  # ": package.Model/layers.0: package.Block/add: aten.add.Tensor"
            scope: str = settings.split("/")[-2].partition(":")[0]
            return scope
        for name in node.input:
            module, dot, _ = str(name).rpartition(".")
            if dot and name in self.file.constants and "::" not in name:
                return module
        parts = [part for part in node.name.split("/") if part]
        found: str = ".".join(parts[:-1] if len(parts) > 1 else parts)
        return found

    def _constant(self, name: str) -> Array | None:
        return self.file.constants.get(name) if name else None

    def _on_Identity(self, node: Any) -> Val:
        return self.value(node.input[0])

    _on_Dropout = _on_Identity

    def _on_Cast(self, node: Any) -> Val:
        x, kinds = self.value(node.input[0]), onnx().TensorProto
        to = onnx().helper.get_node_attr_value(node, "to")
        real = to in (kinds.FLOAT, kinds.FLOAT16, kinds.DOUBLE, kinds.BFLOAT16)
        ids = not x.features and to in (kinds.INT32, kinds.INT64)
        if not real and not ids:
            raise self._fail(node, "models compute with real numbers")
        return x

    def _on_Flatten(self, node: Any) -> Val:
        x, features = self.value(node.input[0]), self.file.features(node.output[0])
        if features is None or math.prod(features) != x.width:
            raise self._fail(node, "it mixes tokens with other dims")
        return replace(x, features=features)

    _on_Reshape = _on_Squeeze = _on_Unsqueeze = _on_Flatten

    def _on_Transpose(self, node: Any) -> Val:
        order = onnx().helper.get_node_attr_value(node, "perm")
        dims = self.file.dims[node.input[0]]
        if [d for d in order if dims[d] != 1] != [d for d in sorted(order) if dims[d] != 1]:
            raise self._fail(node, "models move no dims but those of one")
        return replace(self.value(node.input[0]), features=self.file.features(node.output[0]) or ())

    def _on_Gather(self, node: Any) -> Val:
        table, x = self._constant(node.input[0]), self.value(node.input[1])
        axis = _attributes(node).get("axis", 0)
        if table is None or table.ndim != 2 or axis != 0 or x.features:
            raise self._fail(node, "only rows of a table are looked up, by ids")
        return Val(self._add(node, Embedding(), x, table=table), (table.shape[1],))

    def _on_Gemm(self, node: Any) -> Val:
        settings = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0, **_attributes(node)}
        weight = self._constant(node.input[1])
        bias = self._constant(node.input[2]) if len(node.input) > 2 else None
        if weight is None or settings["transA"] or (len(node.input) > 2 and bias is None):
            raise self._fail(
                node, "only a constant matrix is multiplied with, and a constant added"
            )
        weight = weight.T if settings["transB"] else weight
        if settings["alpha"] != 1:
            weight = weight * np.float32(settings["alpha"])
        if bias is not None and settings["beta"] != 1:
            bias = bias * np.float32(settings["beta"])
        return self._linear(node, self.value(node.input[0]), weight, bias)

    def _on_MatMul(self, node: Any) -> Val:
        weight = self._constant(node.input[1])
        if weight is None or weight.ndim != 2:
            raise self._fail(node, "it multiplies two values; only constant matrices are known")
        return self._linear(node, self.value(node.input[0]), weight, None)

    def _linear(self, node: Any, x: Val, weight: Array, bias: Array | None, where: str = "") -> Val:
        if (x.width,) != weight.shape[:1] or len(x.features) > 1:
            raise self._fail(
                node, f"a matrix of {weight.shape[0]} rows, and {x.features} numbers for each token"
            )
        if bias is not None:
            bias = np.broadcast_to(bias, (1, weight.shape[1])).reshape(-1)
        where = where or self._path(node)
        kept = np.ascontiguousarray(weight)
        handle = self._add(node, Linear(), x, where=where, weight=kept, bias=bias)
        return Val(handle, (weight.shape[1],), (x, weight, bias, where))

    def _on_LeakyRelu(self, node: Any) -> Val:
        x, slope = self.value(node.input[0]), float(_attributes(node).get("alpha", 0.01))
        if not 0 <= slope <= 1:
            raise self._fail(node, f"its slope must be in 0 to 1, not {slope:g}")
        low = replace(x, handle=self._add(node, Map(fn.scale(slope)), x))
        return replace(x, handle=self._add(node, Map(fn.maximum()), x, low), linear=None)

    def _on_LayerNormalization(self, node: Any) -> Val:
        return self._norm(node, "layer", 1e-5)

    def _on_RMSNormalization(self, node: Any) -> Val:
        return self._norm(node, "rms", 1e-5)

    def _norm(self, node: Any, how: Literal["layer", "rms"], eps: float) -> Val:
        x, settings = self.value(node.input[0]), _attributes(node)
        weight, bias = (self._constant(name) for name in [*node.input[1:3], ""][:2])
        if len(x.features) != 1 or (weight is not None and weight.shape != x.features):
            raise self._fail(node, "norms are of the last dim")
        kind = Norm(how, float(settings.get("epsilon", eps)))
        return replace(x, handle=self._add(node, kind, x, weight=weight, bias=bias), linear=None)

    def _on_BatchNormalization(self, node: Any) -> Val:
        x, eps = self.value(node.input[0]), _attributes(node).get("epsilon", 1e-5)
        held = [self._constant(name) for name in node.input[1:5]]
        if any(c is None for c in held):
            raise self._fail(node, "its numbers must be constants")
        factor, shift, mean, var = (np.asarray(c, np.float64) for c in held)
        factor = factor / np.sqrt(var + eps)
        return self._affine(node, x, factor, shift - mean * factor)

    def _affine(self, node: Any, x: Val, factor: Array, shift: Array) -> Val:
        """A row times a constant one and plus another: both go into the linear before."""
        if x.linear is None:
            raise self._fail(
                node, "it joins a value with a row of numbers, which only linears and norms do"
            )
        before, weight, bias, where = x.linear
        wide = (weight * factor).astype(np.float32)
        moved = ((0 if bias is None else bias) * factor + shift).astype(np.float32)
        return self._linear(node, before, wide, np.atleast_1d(moved), where)

    def _row(self, node: Any) -> Val:
        """What computes each number, or each row, by itself: by the numbers that it makes."""
        for nodes, source in self._trees(node):
            made = self._function(node, nodes, source) or self._normed(node, nodes, source)
            if made is not None:
                return made
        values = [name for name in node.input if name and name not in self.file.constants]
        if node.op_type in _REDUCING:
            raise self._fail(node, "norms are known, other sums of a row are not")
        if len(values) == 2 and len(node.input) == 2:
            return self._pair(node, *values)
        (name,) = dict.fromkeys(values) if len({*values}) == 1 else ("",)
        made = self._function(node, [node], name) if name else None
        return made or self._with_row(node, name)

    def _trees(self, node: Any) -> Iterator[tuple[list[Any], str]]:
        """Nodes up to one that all depend on a single value, largest trees first."""
        nodes, sources = self._tree(node)
        for name in [*sources, *(part.output[0] for part in nodes[:-1])]:
            inner, found = self._tree(node, name)
            if found == [name]:
                yield inner, name

    def _tree(self, node: Any, cut: str = "") -> tuple[list[Any], list[str]]:
        """The nodes before one that have no form of their own, in order, and what they read."""
        nodes: dict[str, Any] = {}
        sources: dict[str, None] = {}

        def visit(name: str) -> None:
            found = self.file.nodes.get(name)
            if not name or name in self.file.constants or name in nodes:
                return
            if name == cut or found is None or hasattr(self, f"_on_{found.op_type}"):
                sources[name] = None
                return
            for read in found.input:
                visit(read)
            nodes[name] = found

        visit(node.output[0])
        return [*nodes.values()], [*sources]

    def _evaluated(self, node: Any, nodes: list[Any], **given: Array) -> Array | None:
        name = node.output[0]
        try:
            made = self.file.evaluate([name], given, nodes)[name]
        except Exception:  # the shapes of its constants do not fit these inputs
            return None
        return np.asarray(made, np.float64)

    def _function(self, node: Any, nodes: list[Any], source: str) -> Val | None:
        """A function of single numbers."""
        x = np.linspace(-7, 7, 120, dtype=np.float32).reshape(8, 15)
        made = self._evaluated(node, nodes, **{source: x})
        if made is None or made.shape != x.shape:
            return None
        functions = chain_for(x.astype(np.float64), made)
        held = {
            float(c.item())
            for part in nodes
            for c in map(self._constant, part.input)
            if c is not None and c.size == 1
        }
        if functions is None and len(nodes) == 1:
            for c in held:
                functions = functions or with_constant(x.astype(np.float64), made, c)
        if functions is None:
            return None
        value = self.value(source)
        for function in functions:
            handle = self._add(node, Map(function), value)
            value = replace(value, handle=handle, linear=None)
        return value

    def _normed(self, node: Any, nodes: list[Any], source: str) -> Val | None:
        """A norm, of the constants that its nodes read."""
        features = self.file.features(source)
        if not features or len(features) != 1 or not any(n.op_type in _REDUCING for n in nodes):
            return None
        x = np.random.default_rng(0).normal(1, 3, (5, *features)).astype(np.float32)
        made = self._evaluated(node, nodes, **{source: x})
        read = {
            name: None for part in nodes for name in part.input if self._constant(name) is not None
        }
        held = [self.file.constants[name] for name in read]
        rows = [None, *(c.reshape(-1) for c in held if c.size == features[0])]
        smalls = [0.0, *(float(c.item()) for c in held if c.size == 1 and 0 < c.item() < 0.1)]
        wide = x.astype(np.float64)
        hows: tuple[Literal["layer", "rms"], ...] = ("layer", "rms")
        for how, eps, weight, bias in product(hows, smalls, rows, rows):
            kind = Norm(how, eps)
            z, root = kind.parts(wide)
            want = z / root * (1.0 if weight is None else weight)
            want = want + (0.0 if bias is None else bias)
            if made is not None and close(want, made):
                value = self.value(source)
                handle = self._add(node, kind, value, weight=weight, bias=bias)
                return replace(value, handle=handle, linear=None)
        return None

    def _pair(self, node: Any, *names: str) -> Val:
        a, b = np.random.default_rng(0).normal(size=(2, 9, 7)).astype(np.float32)
        x, y = (self.value(name) for name in names)
        given = dict(zip(names, (a, b), strict=True))
        made = self._evaluated(node, [node], **given)
        wide = [given[name].astype(np.float64) for name in names]
        function = None if made is None else pair_for(wide[0], wide[1], made)
        if function is None or x.features != y.features:
            what = f"of {x.features} and {y.features} numbers"
            raise self._fail(node, f"there is no such function of two values {what}")
        return replace(x, handle=self._add(node, Map(function), x, y), linear=None)

    def _with_row(self, node: Any, name: str) -> Val:
        """A sum or product of a value with a constant row."""
        held = [c for c in map(self._constant, node.input) if c is not None]
        if not name or len(held) != 1 or node.op_type not in ("Add", "Sub", "Mul", "Div"):
            raise self._fail(node, _hint(node.op_type))
        value, c = self.value(name), held[0].astype(np.float64)
        if c.size not in (1, value.width):
            raise self._fail(node, f"a constant of {c.size} numbers, and rows of {value.width}")
        c = c.reshape(-1)
        right, one, none = node.input[0] == name, np.ones(1), np.zeros(1)
        if node.op_type == "Add":
            return self._affine(node, value, one, c)
        if node.op_type == "Sub":
            return self._affine(node, value, one if right else -one, -c if right else c)
        if node.op_type == "Div" and not right:
            raise self._fail(node, "it divides a constant by a value")
        return self._affine(node, value, c if node.op_type == "Mul" else 1 / c, none)


def _attributes(node: Any) -> dict[str, Any]:
    return {a.name: onnx().helper.get_attribute_value(a) for a in node.attribute}


def _hint(kind: str) -> str:
    """What to do about a node that models have not."""
    if kind in ("Softmax", "LogSoftmax", "ArgMax"):
        return "models end with scores: leave it out, the largest score stays the largest"
    if kind.startswith(("Conv", "MaxPool", "AveragePool", "GlobalAveragePool")):
        return "models have no convolutions and pools; nearest is a linear of the whole image"
    if "Quantize" in kind or kind.endswith("Integer") or kind.startswith("QLinear"):
        return "quantized files can't be imported yet: export the model in f32"
    return (
        "there is no such operation in models; nearest are Gemm or MatMul with a constant, "
        "LayerNormalization, and functions of single numbers"
    )
