"""What modules may compute: each formula is tried on random input."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from stepgen.frontend.formulas import chain_for, chains, close, pair_for
from stepgen.frontend.kinds.attention import Attention
from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.pytorch.needed import torch
from stepgen.frontend.weight import Array
from stepgen.ir.function import Function

ALONE: Any = SimpleNamespace(run=SimpleNamespace(state=None), note=lambda what, made: None)
"""In place of the step of a run, for operations that are computed by themselves."""


@dataclass(frozen=True)
class Block:
    """What a module was found to compute.

    Attributes
    ----------
    kind : str
        Of the operation.
    attributes : dict
        What the builder takes.
    weights : dict of str to array or Parameter
        By role. A Parameter may be shared with another module.
    width : int
        Of its result; 0 if it is that of its input.
    """

    kind: str
    attributes: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    width: int = 0

    @property
    def same(self) -> bool:
        """Whether the module changes nothing, as one that drops out."""
        return self.attributes.get("functions") == ()


def numbers(tensor: Any) -> Array:
    """A tensor as doubles."""
    return np.asarray(tensor.detach().cpu().double().numpy())


def recognised(module: Any) -> Block | None:
    """The block that a module computes, by its numbers; None for one that has parts."""
    for formula in (_function, _norm, _linear, _self_attention, _experts):
        found = formula(module)
        if found is not None:
            return found
    return None


def _called(module: Callable[..., Any], *xs: Any, first: bool = False) -> Array | None:
    """What a module makes of tensors; None where it does not take them.

    Of several results it is None, or the first.
    """
    try:
        with torch().no_grad():
            made = module(*xs)
    except Exception:  # it takes something else
        return None
    made = made[0] if first and isinstance(made, tuple) else made
    return numbers(made) if isinstance(made, torch().Tensor) else None


def _plain(module: Any) -> bool:
    return not list(module.children())


def chain_of(apply: Callable[[Any], Any]) -> tuple[Function, ...] | None:
    """The functions that something applies to each number; none if it changes nothing."""
    x = torch().linspace(-7, 7, 120).reshape(8, 15)
    made = _called(apply, x)
    return None if made is None or made.shape != (8, 15) else chain_for(numbers(x), made)


def pair_of(apply: Callable[[Any, Any], Any]) -> Function | None:
    """The function that something applies to each pair of numbers."""
    a, b = torch().randn(2, 9, 7)
    made = _called(apply, a, b)
    return None if made is None else pair_for(numbers(a), numbers(b), made)


def _function(module: Any) -> Block | None:
    if not _plain(module) or list(module.parameters()):
        return None
    chain = chain_of(module)
    return None if chain is None else Block("map", {"functions": chain})


def _norm(module: Any) -> Block | None:
    own = dict(module.named_parameters())
    if not _plain(module) or own.keys() - {"weight", "bias"} or "weight" not in own:
        return None
    if own["weight"].ndim != 1:
        return None
    width = own["weight"].shape[0]
    x = torch().randn(5, width) * 3 + 1
    made = _called(module, x)
    stated = [getattr(module, key, None) for key in ("eps", "variance_epsilon")]
    eps = next((float(e) for e in stated if isinstance(e, float)), 1e-6)
    ways: tuple[Literal["rms", "layer"], ...] = ("rms", "layer")
    for how, plus in itertools.product(ways, (0, 1)):
        weights = {key: numbers(p) + (plus if key == "weight" else 0) for key, p in own.items()}
        z = numbers(x)
        z = z if how == "rms" else z - z.mean(-1, keepdims=True)
        z = z / np.sqrt((z * z).mean(-1, keepdims=True) + eps)
        z = z * weights["weight"] + weights.get("bias", 0)
        if made is not None and close(z, made):
            kept: dict[str, Any] = dict(own)
            if plus:
                kept["weight"] = weights["weight"].astype(np.float32)
            return Block("norm", {"how": how, "eps": eps}, kept)
    return None


def _linear(module: Any) -> Block | None:
    own = dict(module.named_parameters())
    if not _plain(module) or own.keys() - {"weight", "bias"} or "weight" not in own:
        return None
    if own["weight"].ndim != 2:
        return None
    weight, bias = own["weight"].detach(), own.get("bias")
    for transposed in (True, False):
        matrix = weight.T if transposed else weight
        if bias is not None and bias.shape[0] != matrix.shape[1]:
            continue
        x = torch().randn(5, matrix.shape[0])
        made = _called(module, x)
        if made is None:
            continue
        # By PyTorch, so that no weight is copied.
        want = x @ matrix + (0 if bias is None else bias.detach())
        if close(numbers(want), made):
            attributes = {"transposed": transposed}
            return Block("linear", attributes, own, matrix.shape[1])
    return None


def _self_attention(module: Any) -> Block | None:
    """Queries, keys and values of one input, by one matrix, and a linear behind the heads."""
    own, heads = dict(module.named_parameters()), getattr(module, "num_heads", None)
    matrices = [p for p in own.values() if p.ndim == 2]
    if not isinstance(heads, int) or [p.shape[0] // p.shape[1] for p in matrices] != [3, 1]:
        return None
    both, out = matrices
    biases = [p for p in own.values() if p.ndim == 1]
    if [len(p) for p in biases] not in ([], [len(both), len(out)]):
        return None
    x = torch().randn(1, 6, out.shape[0])
    made = _called(module, x, x, x, first=True)
    shift = [numbers(p) for p in biases] or [np.zeros(1), np.zeros(1)]
    parts = np.split(numbers(x)[0] @ numbers(both).T + shift[0], 3, -1)
    q, k, v = (part.reshape(6, heads, -1) for part in parts)
    plain: Any = Attention(q.shape[-1] ** -0.5, causal=False).compute
    want = plain(ALONE, q, k, v).reshape(6, -1) @ numbers(out).T + shift[1]
    if made is None or not close(want[None], made):
        return None
    weights = {"in": both, "out": out} | dict(zip(("in_bias", "out_bias"), biases, strict=False))
    return Block("self_attention", {"heads": heads}, weights)


def _experts(module: Any) -> Block | None:
    arrays = {path: p for path, p in module.named_parameters() if p.ndim in (2, 3)}
    for weights in _weights_of_experts(arrays):
        width, count = weights["router"].shape
        x = torch().randn(7, width)
        made = _called(module, x[None], first=True)
        if made is None or made.shape != (1, 7, width):
            return None
        for top, normalise, (act, *more) in itertools.product(
            _tops(module, count), (True, False), chains()
        ):
            plain: Any = Experts(top, act, normalise).compute
            with np.errstate(all="ignore"):
                if more or not close(plain(ALONE, numbers(x), **weights), made[0]):
                    continue
            attributes = {"top": top, "activation": act, "normalise": normalise}
            kept = {role: w.astype(np.float32) for role, w in weights.items()}
            return Block("experts", attributes, kept)
    return None


def _weights_of_experts(arrays: dict[str, Any]) -> Iterator[dict[str, Array]]:
    """What the weights of experts may be, by the shapes of parameters."""
    cubes = [p for p in arrays.values() if p.ndim == 3]
    alone = [p for path, p in arrays.items() if p.ndim == 2 and "experts." not in path]
    groups: dict[str, list[Any]] = {}
    for path, p in arrays.items():
        _, _, rest = path.partition("experts.")
        number, _, name = rest.partition(".")
        if number.isdigit():
            groups.setdefault(name, []).append(p)
    if len(alone) != 1:
        return
    router = numbers(alone[0]).T
    width, count = router.shape
    if len(cubes) == 2:
        for both, down in itertools.permutations(numbers(p).transpose(0, 2, 1) for p in cubes):
            wide = both.shape[-1]
            if both.shape == (count, width, wide) and down.shape == (count, wide // 2, width):
                gate, up = np.split(both, 2, -1)
                yield {"router": router, "gate": gate, "up": up, "down": down}
    if len(groups) == 3 and all(len(group) == count for group in groups.values()):
        stacks = [np.stack([numbers(p).T for p in group]) for group in groups.values()]
        for gate, up, down in itertools.permutations(stacks):
            if gate.shape == up.shape == (count, width, down.shape[1]) and (down.shape[2] == width):
                yield {"router": router, "gate": gate, "up": up, "down": down}


def _tops(module: Any, count: int) -> list[int]:
    """How many experts a token may go to: what the modules say, then all numbers."""
    stated = [
        getattr(part, key)
        for part in module.modules()
        for key in ("top_k", "num_experts_per_tok")
        if isinstance(getattr(part, key, None), int)
    ]
    return list(dict.fromkeys([t for t in stated if 1 <= t <= count] + list(range(1, count + 1))))
