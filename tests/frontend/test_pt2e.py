"""Import of modules that PyTorch's pt2e quantized; without torchao nothing of it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgen import frontend
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.model import Model, walk
from stepgen.ir.errors import StepError

WIDTH = 8


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch")
    pytest.importorskip("torchao")
    found.manual_seed(0)
    found.set_num_threads(1)
    return found


def converted(t: Any, *, channels: bool, symmetric: bool = True, values: bool = True) -> Any:
    """Two linears, a function and a sum, which pt2e has quantized; and an example."""
    from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
    from torchao.quantization.pt2e import quantizer as q
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    class Block(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = t.nn.Linear(WIDTH, 12), t.nn.Linear(12, WIDTH)

        def forward(self, x: Any) -> Any:
            return x + self.down(t.nn.functional.gelu(self.up(x)))

    whole = t.per_tensor_symmetric if symmetric else t.per_tensor_affine
    small = {"dtype": t.int8, "quant_min": -128, "quant_max": 127}
    read = q.QuantizationSpec(
        observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=2**-20), qscheme=whole, **small
    )
    way = {"ch_axis": 0, "qscheme": t.per_channel_symmetric} if channels else {"qscheme": whole}
    observer = PerChannelMinMaxObserver if channels else MinMaxObserver
    weight = q.QuantizationSpec(
        observer_or_fake_quant_ctr=observer.with_args(eps=2**-20),
        **{**small, "quant_min": -127, **way},
    )

    class Linears(q.Quantizer):
        """Also of what a linear makes, which then is rounded for whatever reads it."""

        def annotate(self, model: Any) -> Any:
            for node in model.graph.nodes:
                if "linear" in str(node.target) and node.op == "call_function":
                    inputs = {node.args[1]: weight, **({node.args[0]: read} if values else {})}
                    node.meta["quantization_annotation"] = q.QuantizationAnnotation(
                        input_qspec_map=inputs,
                        output_qspec=read if values else None,
                        _annotated=True,
                    )
            return model

        def validate(self, model: Any) -> None:
            pass

    example = (t.randn(1, 9, WIDTH),)
    shapes = ({1: t.export.Dim("T", min=2, max=64)},)
    module = t.export.export(Block().eval(), example, dynamic_shapes=shapes).module()
    prepared = prepare_pt2e(module, Linears())
    prepared(*example)
    return convert_pt2e(prepared), example


def linears(model: Model) -> list[Any]:
    return [op for op in walk(model.ops) if isinstance(op.kind, ScaledLinear)]


@pytest.mark.parametrize("channels", [True, False])
def test_linears_have_the_integers_of_the_module(torch: Any, channels: bool) -> None:
    module, example = converted(torch, channels=channels)
    model = frontend.from_torch(module, example, dims={"T": (1, 64)})
    assert len(linears(model)) == 2
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    wanted = [a.numpy().T for a in held.values() if a.dtype == torch.int8]
    for op in linears(model):
        whole = model.weights[op.weights["weight"]].array
        assert any(whole.shape == a.shape and (whole == a).all() for a in wanted)
        assert model.weights[op.weights["step"]].array > 0
        scales = {*model.weights[op.weights["scale"]].array.ravel()}
        assert len(scales) == (whole.shape[1] if channels else 1)
    x = example[0].numpy()[0]
    found = model.run({"x": x})[model.outputs[0]]
    want = module(*example).detach().numpy()[0]
    assert np.abs(found - want).max() < 0.02 * np.abs(want).max()
    graph, weights = frontend.lower(model)
    assert {t.element.name for t in graph.tensors.values()} >= {"int8", "int32", "f32"}
    assert {*weights} == {*graph.tensors}


def test_weights_alone(torch: Any) -> None:
    module, example = converted(torch, channels=True, values=False)
    model = frontend.from_torch(module, example, dims={"T": (1, 64)})
    assert ["step" in op.weights for op in linears(model)] == [False, False]


def test_a_zero_point_is_refused(torch: Any) -> None:
    module, example = converted(torch, channels=True, symmetric=False)
    with pytest.raises(StepError, match=r"zero point is .*; only 0 can be imported: have the qu"):
        frontend.from_torch(module, example, dims={"T": (1, 64)})
