"""Values of an exported program, and how they become values of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from stepgen.frontend.builder import Builder, Handle
from stepgen.frontend.kind import Kind
from stepgen.frontend.kinds.attention import Attention
from stepgen.frontend.kinds.heads import Heads
from stepgen.frontend.kinds.join import Join
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.pytorch.formulas import Block
from stepgen.frontend.pytorch.needed import torch
from stepgen.ir.errors import StepError

WRAPPED = "m"
"""Name of the module in what is exported around it."""


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
    step : float or None
        Of a value that was rounded to int8: what 1 stands for.
    """

    handle: Handle
    dims: str
    width: int
    heads: bool = False
    turns: Block | None = None
    step: float | None = None


class Values:
    """Keeps values, and adds operations to a builder.

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
            if short(node) == "embedding" and node.args[0].name in self.constants:
                tables.add(self.constants[node.args[0].name].data_ptr())
        return tables

    def _path(self) -> str:
        stack = [*(self.node.meta.get("nn_module_stack") or {}).values()]
        path = stack[-1][0] if stack else ""
        return re.sub(rf"^(L__self___)?{WRAPPED}(\.|$)", "", path)

    def _line(self) -> str:
        found = re.findall(r'File "([^"]+)", line (\d+)', self.node.meta.get("stack_trace") or "")
        others = (str(Path(__file__).parent), str(Path(torch().__file__).parent))
        users = [(f, n) for f, n in found if not f.startswith(others)]
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

    def _constant(self, node: Any) -> Any:
        if node is None:
            return None
        if node.name not in self.constants:
            raise self._fail("it multiplies two values; only attention does that in models")
        return self.constants[node.name]

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


def short(node: Any) -> str:
    """The name of what a node calls, without its package and overload."""
    return str(node.target).split(".")[1] if str(node.target).count(".") else str(node.target)
