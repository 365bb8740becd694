"""Import of ONNX files: against plain numpy, and what can't be imported."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from stepgen import frontend
from stepgen.frontend.onnxfile.importing import imported
from stepgen.ir.errors import StepError

RNG = np.random.default_rng(0)


def r(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


class File:
    """Writes an ONNX file node by node."""

    def __init__(self, *dims: int | str, element: int = TensorProto.FLOAT, **more: Any) -> None:
        self.inputs = [helper.make_tensor_value_info("x", element, dims)]
        self.inputs += [helper.make_tensor_value_info(n, element, d) for n, d in more.items()]
        self.nodes: list[Any] = []
        self.held: list[Any] = []

    def held_as(self, array: Any, name: str = "") -> str:
        name = name or f"c{len(self.held)}"
        self.held.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, *reads: Any, scope: str = "", **attributes: Any) -> str:
        """A node, whose inputs are names or arrays; the name of what it makes."""
        names = [read if isinstance(read, str) else self.held_as(read) for read in reads]
        made, domain = f"v{len(self.nodes)}", attributes.pop("domain", "")
        made_node = helper.make_node(kind, names, [made], f"n{made}", domain=domain, **attributes)
        if scope:
            path = f": pack.Model/{scope}: pack.Block/some: aten.some"
            made_node.metadata_props.add(key="namespace", value=path)
        self.nodes.append(made_node)
        return made

    def write(self, folder: Path, *outputs: str, **how: Any) -> Path:
        known = [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["p", "q"]) for y in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, known, self.held)
        sets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        path = folder / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=sets), str(path), **how)
        return path


def gelu(f: File, x: str) -> str:
    """As exporters of older versions write it."""
    half = f.node("Div", x, np.float32(math.sqrt(2)))
    shifted = f.node("Add", f.node("Erf", half), np.float32(1))
    return f.node("Mul", f.node("Mul", x, shifted), np.float32(0.5))


def layer_norm(f: File, x: str, weight: Any, bias: Any) -> str:
    less = f.node("Sub", x, f.node("ReduceMean", x, np.array([-1])))
    var = f.node("ReduceMean", f.node("Pow", less, np.float32(2)), np.array([-1]))
    root = f.node("Sqrt", f.node("Add", var, np.float32(1e-5)))
    return f.node("Add", f.node("Mul", f.node("Div", less, root), weight), bias)


def rms_norm(f: File, x: str, weight: Any, scope: str = "") -> str:
    mean = f.node("ReduceMean", f.node("Mul", x, x, scope=scope), np.array([-1]), scope=scope)
    root = f.node("Sqrt", f.node("Add", mean, np.float32(1e-6), scope=scope), scope=scope)
    unit = f.node("Mul", x, f.node("Reciprocal", root, scope=scope), scope=scope)
    return f.node("Mul", unit, weight, scope=scope)


def compare(path: Path, x: Any, want: Any) -> frontend.Model:
    """The model of a file gives these numbers."""
    found = imported(path)
    assert found.error is not None
    assert found.error < 1e-4
    (made,) = found.model.run({"x": x}).values()
    assert np.abs(made - want).max() < 1e-5 * max(1, np.abs(want).max())
    return found.model


def erf(x: Any) -> Any:
    return np.vectorize(math.erf)(x)


@pytest.mark.parametrize(
    "dims", [("N", 1, 4, 4), (3, 1, 4, 4), ("N", 16), (1, "N", 16), (1, 7, 16)]
)
def test_an_mlp_in_any_layout(dims: tuple[Any, ...], tmp_path: Path) -> None:
    f = File(*dims)
    w, b, v, c = r(10, 16), r(10), r(10, 5), r(5)
    x = f.node("Flatten", "x", axis=1) if len(dims) == 4 else "x"
    if dims[0] == 1:
        x = f.node("Add", b, f.node("MatMul", x, np.ascontiguousarray(w.T)))
    else:
        x = f.node("Gemm", x, w, b, transB=1)
    x = f.node("Relu", x)
    x = f.node("Add", f.node("MatMul", f.node("Cast", x, to=TensorProto.FLOAT), v), c)
    given = r(6, 16).astype(np.float64)
    want = np.maximum(given @ w.T + b, 0) @ v + c
    model = compare(f.write(tmp_path, x), given, want)
    assert [op.kind.short for op in model.ops] == ["linear", "at_least", "linear"]


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (gelu, lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
        (lambda f, x: f.node("Mul", x, f.node("Sigmoid", x)), lambda x: x / (1 + np.exp(-x))),
        (lambda f, x: f.node("Gelu", x), lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
        (lambda f, x: f.node("Tanh", x), np.tanh),
        (lambda f, x: f.node("Clip", x, np.float32(0), np.float32(6)), lambda x: np.clip(x, 0, 6)),
        (lambda f, x: f.node("LeakyRelu", x, alpha=0.2), lambda x: np.maximum(x, 0.2 * x)),
        (lambda f, x: f.node("Div", x, np.float32(3)), lambda x: x / 3),
        (lambda f, x: f.node("Sub", x, np.float32(0.5)), lambda x: x - 0.5),
        (lambda f, x: f.node("Add", x, f.node("Tanh", x)), lambda x: x + np.tanh(x)),
        (lambda f, x: f.node("Sub", f.node("Exp", x), x), lambda x: np.exp(x) - x),
        (lambda f, x: f.node("Dropout", f.node("Identity", x)), lambda x: x),
    ],
)
def test_functions_by_their_numbers(
    made: Callable[[File, str], str], want: Callable[[Any], Any], tmp_path: Path
) -> None:
    f, w = File("N", 6), r(6, 6)
    end = made(f, f.node("MatMul", "x", w))
    x = r(5, 6).astype(np.float64)
    compare(f.write(tmp_path, end), x, want(x @ w))


def test_norms_of_several_nodes(tmp_path: Path) -> None:
    f, w, g, b, s = File("N", 6), r(6, 6), r(6), r(6), r(6)
    end = rms_norm(f, f.node("MatMul", layer_norm(f, "x", g, b), w), s)
    x = r(5, 6).astype(np.float64)
    z = x - x.mean(-1, keepdims=True)
    z = (z / np.sqrt((z * z).mean(-1, keepdims=True) + 1e-5) * g + b) @ w
    model = compare(
        f.write(tmp_path, end), x, z / np.sqrt((z * z).mean(-1, keepdims=True) + 1e-6) * s
    )
    assert [op.kind.name for op in model.ops] == ["norm", "linear", "norm"]


def test_what_is_affine_goes_into_the_linear_before(tmp_path: Path) -> None:
    f, w, b, scale, shift, mean, k = File("N", 6), r(6, 4), r(4), r(4), r(4), r(4), r(4)
    var = np.abs(r(4)) + np.float32(0.5)
    y = f.node("Gemm", "x", w, b, alpha=0.5, beta=2.0)
    y = f.node("BatchNormalization", y, scale, shift, mean, var)
    end = f.node("Sub", k, f.node("Mul", y, k))
    x = r(5, 6).astype(np.float64)
    want = k - k * ((x @ w / 2 + 2 * b - mean) / np.sqrt(var + 1e-5) * scale + shift)
    model = compare(f.write(tmp_path, end), x, want)
    assert [op.kind.name for op in model.ops] == ["linear"]


def test_layers_that_are_alike_become_a_loop(tmp_path: Path) -> None:
    f, x, given = File("N", 6), "x", r(5, 6).astype(np.float64)
    want = given
    for layer in range(3):
        scope, g, up, down = f"layers.{layer}", r(6), r(6, 8), r(8, 6)
        h = f.node("MatMul", rms_norm(f, x, g, f"{scope}.norm"), up, scope=f"{scope}.up")
        h = f.node("MatMul", f.node("Relu", h, scope=scope), down, scope=f"{scope}.down")
        x = f.node("Add", x, h, scope=scope)
        z = want / np.sqrt((want * want).mean(-1, keepdims=True) + 1e-6) * g
        want = want + np.maximum(z @ up, 0) @ down
    model = compare(f.write(tmp_path, x), given, want)
    assert [op.kind.name for op in model.ops] == ["loop"]


def test_words_are_looked_up(tmp_path: Path) -> None:
    f, table, w = File(1, "N", element=TensorProto.INT64), r(9, 4), r(4, 9)
    end = f.node("MatMul", f.node("Gather", table, "x"), w)
    ids = np.array([3, 0, 8])
    compare(f.write(tmp_path, end), ids, (table @ w)[ids])


def refused(kind: str, *more: Any, **attributes: Any) -> Callable[[], tuple[File, str]]:
    def build() -> tuple[File, str]:
        f = File("N", 6)
        return f, f.node(
            kind, f.node("MatMul", "x", np.eye(6, dtype=np.float32)), *more, **attributes
        )

    return build


def of_dims(*dims: Any, **more: Any) -> Callable[[], tuple[File, str]]:
    def build() -> tuple[File, str]:
        f = File(*dims, **more)
        return f, f.node("Relu", "x")

    return build


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (refused("Softmax"), r"node nv1 \(Softmax\): models end with scores: leave it out"),
        (refused("Softplus"), r"node nv1 \(Softplus\): there is no such operation in models; near"),
        (refused("Some", domain="com.microsoft"), r"node nv1 \(Some\): there is no such operation"),
        (refused("CumSum", np.array(1)), r"node nv1 \(CumSum\): there is no such operation"),
        (refused("Transpose", perm=[1, 0]), r"\(Transpose\): models move no dims but those of one"),
        (refused("ReduceMean", np.array([-1])), r"norms are known, other sums of a row are not"),
        (refused("MatMul", "x"), r"it multiplies two values; only constant matrices are known"),
        (refused("Cast", to=TensorProto.INT32), r"models compute with real numbers"),
        (of_dims("B", "S", 6), r"its input x has the dynamic dims B and S; models have one"),
        (of_dims("N", 6, element=TensorProto.STRING), r"must be rows of numbers \[T, width\]"),
        (of_dims(2, "N", 6), r"must be rows of numbers \[T, width\], or ids \[T\], not float"),
    ],
)
def test_what_can_not_be_imported_is_named(
    build: Callable[[], tuple[File, str]], sentence: str, tmp_path: Path
) -> None:
    f, end = build()
    path = f.write(tmp_path, end)
    with pytest.raises(StepError, match=sentence) as raised:
        frontend.from_onnx(path)
    assert str(raised.value).startswith(str(path))


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = File("N", 6)
    path = f.write(
        tmp_path,
        f.node("MatMul", "x", r(6, 600)),
        **{"save_as_external_data": True, "location": "m.data", "size_threshold": 0},
    )
    frontend.from_onnx(path)
    content = path.read_bytes()
    for broken in (b"", b"no", content[:40]):
        path.write_bytes(broken)
        with pytest.raises(StepError, match=r"m.onnx (is not a valid ONNX file|has no)"):
            frontend.from_onnx(path)
    path.write_bytes(content.replace(b"m.data", b"../m.d"))
    with pytest.raises(StepError, match=r"m.onnx (is not a valid ONNX file|can't be read): "):
        frontend.from_onnx(path)
    path.write_bytes(content)
    (tmp_path / "m.data").unlink()
    with pytest.raises(StepError, match=r"m.onnx (is not a valid ONNX file|can't be read): "):
        frontend.from_onnx(path)
    with pytest.raises(StepError, match=r"none.onnx can't be read: No such file"):
        frontend.from_onnx(tmp_path / "none.onnx")
    with pytest.raises(StepError, match=r"a run must have at least 1 token, not 0"):
        frontend.from_onnx(path, tokens=0)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(StepError, match=r"needs the package onnx.*pip install 'stepgen\[onnx\]'"):
        frontend.from_onnx(path)
