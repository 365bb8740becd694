"""Puts one custom operation in place of each block that is recognised, until the export is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np

from stepgen.frontend.formulas import close
from stepgen.frontend.pytorch.formulas import Block, numbers, recognised
from stepgen.frontend.pytorch.needed import torch
from stepgen.ir.errors import StepError

ROPE = "apply_rotary_pos_emb"
"""Of the modules of transformers: what turns queries and keys."""

BLOCKS: dict[str, Block] = {}
"""What was recognised, by the path of the module; while a module is exported."""


@cache
def operation() -> Callable[..., Any]:
    """The custom operation, which an exported program has in place of blocks.

    It takes tensors, the kind of a block and its key in `BLOCKS`.
    """
    t = torch()

    def block(xs: Any, kind: str, key: str) -> Any:
        raise StepError("a model that is exported for stepgen can't run, it only names blocks")

    tensor: Any = t.Tensor
    block.__annotations__ = {"xs": list[tensor], "kind": str, "key": str, "return": tensor}
    made = t.library.custom_op("stepgen::block", block, mutates_args=())

    def fake(xs: Any, kind: str, key: str) -> Any:
        x, width = xs[0], BLOCKS[key].width
        if kind == "attention":  # [1, heads, T, width] becomes [1, T, heads, width]
            return x.new_empty(x.shape[0], x.shape[2], x.shape[1], xs[2].shape[3])
        if kind == "turns":
            return x.new_empty(*x.shape, width, dtype=t.float32)
        return x.new_empty(*x.shape[:-1], width or x.shape[-1])

    made.register_fake(fake)
    called: Callable[..., Any] = made
    return called


@contextmanager
def patched(module: Any) -> Iterator[dict[str, Block]]:
    """Recognise the blocks of a module, and trace them as custom operations until the block ends.

    Yields
    ------
    dict of str to Block
        By the path of the module; more are added while it is traced.
    """
    BLOCKS.clear()
    with ExitStack() as undo:
        undo.callback(BLOCKS.clear)
        for path, part in module.named_modules():
            if any(path.startswith(f"{done}.") for done in BLOCKS) or path == "":
                continue
            if _is_rotary(part):
                _rotary(part, path, undo)
                continue
            found = recognised(part)
            if found is not None:
                BLOCKS[path] = found
                traced = _attending if found.kind == "self_attention" else _traced
                _replace(part, traced(found.kind, path), undo)
        _transformers(module, undo)
        yield BLOCKS


def _replace(part: Any, forward: Callable[..., Any], undo: ExitStack) -> None:
    _set(vars(part), "forward", forward, undo)


def _set(place: dict[str, Any], key: str, value: Any, undo: ExitStack) -> None:
    if key in place:
        undo.callback(place.__setitem__, key, place[key])
    else:
        undo.callback(place.pop, key)
    place[key] = value


def _traced(kind: str, key: str) -> Callable[..., Any]:
    return lambda x, *_, **__: operation()([x], kind, key)


def _attending(kind: str, key: str) -> Callable[..., Any]:
    """A module that takes queries, keys and values, which are to be one tensor."""

    def forward(
        query: Any,
        key_: Any = None,
        value: Any = None,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        **options: Any,
    ) -> Any:
        its = [value, *[options[name] for name in ("key", "value") if name in options]]
        if any(x is not query for x in (key_, *its) if x is not None):
            raise StepError(f"{key}: it reads keys of another value than queries")
        if key_padding_mask is not None or (attn_mask is not None and not is_causal):
            raise StepError(f"{key}: it has a mask; is_causal=True is the one that is known")
        BLOCKS[key].attributes["causal"] = is_causal
        return operation()([query], kind, key), None

    return forward


def _is_rotary(part: Any) -> bool:
    return type(part).__name__.endswith("RotaryEmbedding") and any(
        name.endswith("inv_freq") for name, _ in part.named_buffers(recurse=False)
    )


def _rotary(part: Any, path: str, undo: ExitStack) -> None:
    """The module that makes cosines and sines of positions: one block for each of its tables."""
    for name, buffer in part.named_buffers(recurse=False):
        if not name.endswith("inv_freq") or "original" in name:
            continue
        layers = name.removesuffix("inv_freq").rstrip("_")
        scaling = getattr(part, f"{layers}_attention_scaling" if layers else "attention_scaling", 1)
        frequencies = np.asarray(numbers(buffer), np.float32)
        attributes = {"factor": float(scaling or 1), "weight": f"{path}.{name}"}
        weights = {"frequencies": frequencies}
        BLOCKS[f"{path}/{layers}"] = Block("turns", attributes, weights, 2 * len(frequencies))

    def forward(x: Any, position_ids: Any, layer_type: str | None = None) -> Any:
        made = operation()([position_ids], "turns", f"{path}/{layer_type or ''}")
        return made, made

    _replace(part, forward, undo)


def _transformers(module: Any, undo: ExitStack) -> None:
    """What modules of transformers call as functions: the attention, and what turns heads."""
    spaces = {type(m).__module__ for m in module.modules()}
    for name in sorted(spaces):
        space = vars(sys.modules[name])
        if name.startswith("transformers.models") and ROPE in space:
            key = f"{name}.{ROPE}"
            BLOCKS[key] = Block("rope", {"pairs": _pairs(space[ROPE])})

            def turned(q: Any, k: Any, cos: Any, *_: Any, key: str = key, **__: Any) -> Any:
                return tuple(operation()([x, cos], "rope", key) for x in (q, k))

            _set(space, ROPE, turned, undo)
    configs = [m.config for m in module.modules() if hasattr(m, "config")]
    configs = [c for c in configs if hasattr(c, "_attn_implementation")]
    if not configs:
        return
    try:
        from transformers.masking_utils import AttentionMaskInterface
        from transformers.modeling_utils import AttentionInterface
    except ImportError:
        raise StepError(
            "importing a model of transformers needs a version with AttentionInterface: "
            "pip install --upgrade transformers"
        ) from None
    paths = {id(part): path for path, part in module.named_modules()}

    def attend(part: Any, q: Any, k: Any, v: Any, mask: Any, **options: Any) -> Any:
        key = f"{paths[id(part)]}/attention"
        causal = options.get("is_causal")
        BLOCKS[key] = Block(
            "attention",
            {
                "scale": float(options.get("scaling") or q.shape[-1] ** -0.5),
                "window": int(options.get("sliding_window") or 0),
                "softcap": float(options.get("softcap") or 0),
                "causal": bool(getattr(part, "is_causal", True) if causal is None else causal),
            },
        )
        return operation()([q, k, v], "attention", key), None

    AttentionInterface.register("stepgen", attend)
    AttentionMaskInterface.register("stepgen", lambda *_, **__: None)
    for config in {id(c): c for c in configs}.values():
        undo.callback(setattr, config, "_attn_implementation", config._attn_implementation)
        config._attn_implementation = "stepgen"


def _pairs(turn: Callable[..., Any]) -> str:
    """Which columns a function turns together."""
    t = torch()
    q, angle = t.randn(1, 2, 3, 8), t.rand(1, 3, 4)
    both = t.cat([angle, angle], -1)
    made = numbers(turn(q, q, both.cos(), both.sin())[0])
    x, c, s = numbers(q), np.cos(numbers(angle))[:, None], np.sin(numbers(angle))[:, None]
    a, b = np.split(x, 2, -1)
    if close(np.concatenate([a * c - b * s, b * c + a * s], -1), made):
        return "halves"
    a, b = x[..., ::2], x[..., 1::2]
    if close(np.stack([a * c - b * s, b * c + a * s], -1).reshape(x.shape), made):
        return "neighbours"
    raise StepError(f"{turn.__module__}: {ROPE} turns columns in a way that is not known")
