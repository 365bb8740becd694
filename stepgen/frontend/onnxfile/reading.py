"""An ONNX file: its nodes, constants and shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stepgen.frontend.kind import TOKENS
from stepgen.frontend.onnxfile.needed import onnx
from stepgen.frontend.weight import Array
from stepgen.ir.errors import StepError


class OnnxFile:
    """A graph of nodes; what depends on no input is a constant.

    Attributes
    ----------
    nodes : dict
        By the names of what they make.
    constants : dict of str to array
    dims : dict of str to tuple
        Of each value: numbers, `TOKENS` for the dynamic dim, None where one is not known.
    rows : int or None
        Extent of the dynamic dim, if the file fixes it.

    Raises
    ------
    StepError
        If the file can't be read, is damaged, or has several dynamic dims.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: int | None = None
        self._model = self._read()
        graph = self._model.graph
        held = onnx().numpy_helper.to_array
        self.constants: dict[str, Array] = {w.name: held(w) for w in graph.initializer}
        self.inputs = [x for x in graph.input if x.name not in self.constants]
        for x in self.inputs:
            self._name_tokens(x)
        del graph.value_info[:]
        for y in graph.output:
            y.type.tensor_type.ClearField("shape")
        self.dims = self._inferred()
        self.nodes = {name: node for node in graph.node for name in node.output}
        for node in graph.node:
            if all(name in self.constants for name in node.input if name):
                self.constants |= self.evaluate(node.output, {}, [node])
        self.outputs = [y.name for y in graph.output]

    def _read(self) -> Any:
        lib = onnx()
        try:
            found = lib.load(str(self.path))
            lib.checker.check_model(found)
        except OSError as error:
            raise StepError(f"{self.path} can't be read: {error.strerror or error}") from None
        except Exception as error:  # of protobuf and of the checker, which name no common base
            reason = " ".join(str(error).split())[:200]
            raise StepError(f"{self.path} is not a valid ONNX file: {reason}") from None
        return found

    def _name_tokens(self, x: Any) -> None:
        """Call the dynamic dim of an input `TOKENS`; without one it is that of the rows."""
        dims = x.type.tensor_type.shape.dim
        dynamic = [d for d in dims if not d.HasField("dim_value")]
        if len(dynamic) > 1:
            names = " and ".join(d.dim_param or "?" for d in dynamic)
            raise StepError(
                f"{self.path}: its input {x.name} has the dynamic dims {names}; models have one, "
                f"the number of tokens: export it with a batch of 1"
            )
        if not dims:
            raise StepError(f"{self.path}: its input {x.name} has no dims")
        (tokens,) = dynamic or [dims[1 if len(dims) > 2 and dims[0].dim_value == 1 else 0]]
        if not dynamic:
            self.rows = int(tokens.dim_value)
        tokens.dim_param = TOKENS

    def _inferred(self) -> dict[str, tuple[int | str | None, ...]]:
        infer = onnx().shape_inference.infer_shapes
        found = infer(self._model, data_prop=True).graph
        return {
            value.name: tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                for dim in value.type.tensor_type.shape.dim
            )
            for value in (*found.input, *found.value_info, *found.output)
        }

    def evaluate(
        self, outputs: Sequence[str], given: Mapping[str, Array], nodes: Sequence[Any]
    ) -> dict[str, Array]:
        """What some of the nodes make of values, by the reference implementation of ONNX."""
        lib, read = onnx(), {name for node in nodes for name in node.input}
        values = [lib.helper.make_tensor_value_info(name, 1, None) for name in given]
        graph = lib.helper.make_graph(
            nodes,
            "part",
            values,
            [lib.helper.make_tensor_value_info(name, 1, None) for name in outputs],
            [
                lib.numpy_helper.from_array(array, name)
                for name, array in self.constants.items()
                if name in read and name not in given
            ],
        )
        part = lib.helper.make_model(
            graph, opset_imports=self._model.opset_import, functions=self._model.functions
        )
        with np.errstate(all="ignore"):
            made = lib.reference.ReferenceEvaluator(part).run(None, dict(given))
        return dict(zip(outputs, map(np.asarray, made), strict=True))

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """The outputs of the whole graph."""
        found: list[Array] = (
            onnx().reference.ReferenceEvaluator(self._model).run(None, dict(inputs))
        )
        return found

    def features(self, name: str) -> tuple[int, ...] | None:
        """Extents of a value beside the dynamic dim and dims of one; None if not all are known."""
        # A dim without a number depends on the dynamic one; whoever moves numbers compares widths.
        dims = [TOKENS if isinstance(d, str) else d for d in self.dims.get(name, (None,))]
        if TOKENS not in dims and dims[0] == self.rows:
            dims[0] = TOKENS  # of a file whose shapes were fixed
        if dims.count(TOKENS) != 1 or any(d != 1 for d in dims[: dims.index(TOKENS)]):
            return None
        found = [d for d in dims if d not in (TOKENS, 1)]
        return tuple(d for d in found if isinstance(d, int)) if all(found) else None

    def width(self, name: str) -> int:
        """Numbers of a value for each token."""
        return math.prod(self.features(name) or ())
