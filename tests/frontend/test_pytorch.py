"""Import of PyTorch modules; where PyTorch is missing, only that this is said."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stepgen
from frontend.decoders import logits
from stepgen import fn, frontend
from stepgen.cli.app import execute
from stepgen.frontend.kinds.attention import Attention
from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.model import Model
from stepgen.frontend.pytorch import formulas
from stepgen.ir.errors import StepError


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (None, r"needs PyTorch, which is missing: pip install 'stepgen\[torch\]'"),
        (SimpleNamespace(__version__="2.1.0+cpu"), r"needs PyTorch 2\.6 or later, not 2\.1\.0"),
    ],
)
def test_pytorch_is_missing_or_too_old(
    module: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", module)
    with pytest.raises(StepError, match=sentence):
        frontend.from_torch(object())


def test_operations_compute_by_themselves() -> None:
    """Formulas of blocks are tried without a model around them."""
    rng = np.random.default_rng(0)
    x, q = rng.normal(size=(5, 4)), rng.normal(size=(5, 2, 3))
    roles = {"router": (4, 3), "gate": (3, 4, 6), "up": (3, 4, 6), "down": (3, 6, 4)}
    weights = {role: rng.normal(size=shape) for role, shape in roles.items()}
    mixed = Experts(2, fn.silu(), True).compute(formulas.ALONE, x, **weights)
    attended = Attention(0.5, causal=False).compute(formulas.ALONE, q, q, q)
    assert np.abs(mixed).sum() > 0
    assert attended.shape == q.shape


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = pytest.importorskip("torch")
    found.manual_seed(0)
    found.set_num_threads(1)
    return found


def causal(name: str, seed: int) -> Any:
    """A small model of transformers, with drawn sizes and random weights."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    groups, shared = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    each = 4 * int(rng.integers(1, 4))
    sizes = {
        **{"vocab_size": 31, "hidden_size": groups * shared * each, "intermediate_size": 20},
        **{"num_hidden_layers": 3, "num_attention_heads": groups * shared},
        **{"num_key_value_heads": groups, "max_position_embeddings": 64},
    }
    window = int(rng.integers(3, 9))
    more: dict[str, Any] = {
        "GPT2": {},
        "Llama": {"attention_bias": bool(rng.integers(2))},
        "Qwen2": {"use_sliding_window": True, "sliding_window": window, "max_window_layers": 1},
        "Qwen3": {"head_dim": each + 2},
        "Gemma3": {"head_dim": each, "sliding_window": window, "sliding_window_pattern": 2},
        "Mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": window},
        "Qwen3Moe": {
            **{"num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 8},
            **{"head_dim": each, "norm_topk_prob": bool(rng.integers(2))},
        },
    }[name]
    if name == "GPT2":
        sizes = {"vocab_size": 31, "n_embd": 24, "n_layer": 3, "n_head": 3, "n_positions": 64}
    config = f"{name}{'Text' if name == 'Gemma3' else ''}Config"
    kind = "GPT2LMHeadModel" if name == "GPT2" else f"{name}ForCausalLM"
    ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0)
    made = getattr(transformers, kind)(getattr(transformers, config)(**sizes, **more, **ends))
    with torch.no_grad():
        for p in made.parameters():
            p.normal_(0, 0.3 if p.ndim > 1 else 0.5)
    return made.eval()


FAMILIES = ("GPT2", "Llama", "Qwen2", "Qwen3", "Gemma3", "Mixtral", "Qwen3Moe")


def of_module(module: Any, ids: Any) -> Any:
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        return module(input_ids=torch.as_tensor(ids)[None]).logits[0].double().numpy()


def agrees(model: Model, module: Any, ids: Any) -> bool:
    want = of_module(module, ids)
    runs = (logits(model, ids), logits(model, ids, cuts=(7, *range(8, 20))))
    return all(np.abs(got - want).max() <= 1e-5 * np.abs(want).max() for got in runs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_of_transformers_and_its_checkpoint(
    name: str, seed: int, torch: Any, tmp_path: Any
) -> None:
    module, ids = causal(name, seed), np.random.default_rng(seed).integers(0, 31, 20)
    before = {path: vars(part).copy() for path, part in module.named_modules()}
    traced = frontend.from_torch(module, dims={"T": (1, 32)})
    for path, part in module.named_modules():
        assert vars(part).keys() == before[path].keys()
        assert part.training is False
    assert [loop.trips for op in traced.ops if (loop := op.kind.loop())] == [3]
    assert traced.tokens == (1, 32)
    assert agrees(traced, module, ids)
    module.save_pretrained(tmp_path)
    read = frontend.from_checkpoint(tmp_path)
    assert agrees(read, module, ids)
    frontend.save(traced, tmp_path / "m.stepgen")
    assert frontend.load(tmp_path / "m.stepgen") == traced


@pytest.mark.slow
def test_weights_of_bf16_stay_so(torch: Any) -> None:
    module = causal("Llama", 0).bfloat16()
    model = frontend.from_torch(module)
    linears = [p.op for p in model.placed if p.op.kind.name == "linear"]
    assert {model.weights[op.weights["weight"]].element for op in linears} == {"bf16"}
    assert next(module.parameters()).dtype == torch.bfloat16


def blocks(torch: Any) -> dict[str, tuple[Any, Any, str]]:
    """Plain modules, examples, and kinds of the operations that they become."""
    nn, functional = torch.nn, torch.nn.functional

    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(24, 72), nn.Linear(24, 24), nn.RMSNorm(24)

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            parts = self.qkv(self.norm(x)).chunk(3, -1)
            q, k, v = (y.view(b, t, 3, 8).transpose(1, 2) for y in parts)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).reshape(b, t, c))

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Linear(8, 12), nn.Linear(8, 12), nn.Linear(12, 8)

        def forward(self, x: Any) -> Any:
            return self.c(functional.silu(self.a(x)) * self.b(x)) * 0.5 + 1 - x

    mlp = nn.Sequential(
        *(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(), nn.LayerNorm(16), nn.GELU()),
        *(nn.Linear(16, 4), nn.Sigmoid()),
    )
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)
    for p in encoder.parameters():
        nn.init.normal_(p, std=0.3)
    heads = "3 heads, 1 join"
    return {
        "mlp": (mlp, torch.randn(5, 8), "2 linear, 6 map, 1 norm"),
        "gated": (Gated(), torch.randn(1, 5, 8), "3 linear, 5 map"),
        "causal": (
            *(nn.Sequential(Causal(), Causal()), torch.randn(1, 5, 24)),
            f"1 attention, {heads}, 2 linear, 1 loop, 1 map, 1 norm, 3 split",
        ),
        "encoder": (
            *(encoder, torch.randn(1, 5, 16)),
            f"1 attention, {heads}, 6 linear, 1 loop, 3 map, 2 norm",
        ),
        "ids": (
            *(nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9)), torch.tensor([3, 1])),
            "1 embedding, 1 linear",
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "gated", "causal", "encoder", "ids"])
def test_plain_modules(name: str, torch: Any) -> None:
    from stepgen.frontend.pytorch.importing import imported

    module, example, kinds = blocks(torch)[name]
    found = imported(module, example)
    assert found.error <= 1e-6
    assert ", ".join(f"{n} {kind}" for kind, n in sorted(found.kinds.items())) == kinds
    assert module.training
    lines = {p.op.line.partition(":")[0] for p in found.model.placed if p.op.line}
    assert lines <= {"test_pytorch.py", "the module"}


@pytest.mark.slow
def test_what_can_not_be_imported(torch: Any) -> None:
    nn = torch.nn
    x = torch.randn(5, 8)

    class Apply(nn.Module):
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.function, self.weight = function, nn.Parameter(torch.randn(8))

        def forward(self, x: Any) -> Any:
            return self.function(self, x)

    def refused(sentence: str, module: Any, *more: Any, **named: Any) -> None:
        with pytest.raises(StepError, match=sentence) as caught:
            frontend.from_torch(module, *more, **named)
        assert "\n" not in str(caught.value)

    outer = nn.Sequential(Apply(lambda self, x: x.softmax(-1)))
    refused(r"aten\.softmax\.int in 0 at test_pytorch\.py:\d+: there is no such", outer, x)
    refused("multiplies two values", Apply(lambda self, x: x @ x.transpose(0, 1)), x)
    refused("joins a value with a parameter", Apply(lambda self, x: x + self.weight), x)
    refused(r"with inputs \[1, T, 9\]", nn.Conv1d(4, 4, 3), torch.randn(1, 4, 9))
    refused("must be rows", nn.Linear(8, 8), torch.randn(2, 5, 8))
    refused("one dynamic dim, T, and none called 'B'", nn.Linear(8, 8), x, dims={"B": (1, 2)})
    refused("dims must be as", nn.Linear(8, 8), x, dims={"T": 3})
    refused("Linear needs example inputs", nn.Linear(8, 8))
    refused("takes example tensors, not 'x'", nn.Linear(8, 8), "x")
    refused("takes a torch.nn.Module, not 3", 3)

    def masked(self: Any, x: Any) -> Any:
        mask = torch.zeros(x.shape[1], x.shape[1])
        return nn.functional.scaled_dot_product_attention(x, x, x, mask)

    refused("it has a mask; is_causal=True", Apply(masked), x[None])


@pytest.mark.slow
def test_the_page_from_a_module_to_logits(torch: Any, tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("transformers")
    page = Path(stepgen.__file__).parents[1] / "docs" / "from-pytorch.md"
    body = re.findall(
        r"save this as `model.py`:\n\n```python\n(.*?)^```", page.read_text(), re.M | re.S
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(body[0])
    line = "import model.py:make --set layers=3 --tokens 32 -o llama.stepgen"
    assert execute(line.split()) == 0
    model = frontend.load("llama.stepgen")
    assert [loop.trips for op in model.ops if (loop := op.kind.loop())] == [3]
    assert execute(["run", "llama.stepgen", "--golden"]) == 0
