"""Small models: decoders as a builder makes them, of drawn sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from stepgen.frontend import Builder, Model, State
from stepgen.frontend.quantizing.calibration import Calibration
from stepgen.frontend.quantizing.making import Plan
from stepgen.frontend.quantizing.preparing import prepared
from stepgen.ir.fn import fn

VOCABULARY = 23


@dataclass(frozen=True)
class Sizes:
    """Of a decoder."""

    layers: int = 3
    heads: int = 4
    groups: int = 2
    each: int = 4
    hidden: int = 12
    experts: int = 0
    windows: tuple[int, ...] = (0,)
    layer_norm: bool = False
    head_norm: bool = False
    rotary: bool = True
    joined: bool = False
    tied: bool = False
    scale: float = 1.0

    @property
    def width(self) -> int:
        """Of a row."""
        return self.heads * self.each


def drawn(rng: np.random.Generator) -> Sizes:
    """Some sizes."""
    groups, shared = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    return Sizes(
        layers=int(rng.integers(1, 5)),
        heads=groups * shared,
        groups=groups,
        each=2 * int(rng.integers(1, 4)),
        hidden=int(rng.integers(3, 9)),
        experts=int(rng.choice([0, 3])),
        windows=tuple(int(w) for w in rng.choice([0, 2, 5], rng.integers(1, 3))),
        layer_norm=bool(rng.integers(2)),
        head_norm=bool(rng.integers(2)),
        rotary=bool(rng.integers(2)),
        joined=bool(rng.integers(2)),
        tied=bool(rng.integers(2)),
        scale=float(rng.choice([1.0, 0.5])),
    )


def decoder(sizes: Sizes, seed: int = 0, *, fold: bool = True, element: Any = np.float64) -> Model:
    """A decoder from ids to logits."""
    s, rng = sizes, np.random.default_rng(seed)

    def w(*shape: int) -> Any:
        return (rng.normal(size=shape) / np.sqrt(shape[0])).astype(element)

    b = Builder("decoder", tokens=(1, 40))
    ids, positions = b.ids(), b.positions()
    table = b.weight("table", w(VOCABULARY, s.width))
    frequencies = b.weight("frequencies", np.float32(0.3) ** np.arange(s.each // 2))
    x = b.map(fn.scale(s.scale), b.embedding(ids, table))

    def norm(x: Any, width: int, name: str) -> Any:
        if s.layer_norm:
            return b.norm(x, w(width) + 1, w(width), how="layer", eps=1e-5, name=name)
        return b.norm(x, w(width) + 1, name=name)

    for i in range(s.layers):
        with b.scope(f"model.layers.{i}"):
            h = norm(x, s.width, "first_norm")
            q_cols, k_cols = s.width, s.groups * s.each
            if s.joined:
                all_ = b.linear(h, w(s.width, q_cols + 2 * k_cols), w(q_cols + 2 * k_cols))
                q = b.split(all_, 0, q_cols)
                k = b.split(all_, q_cols, k_cols)
                v = b.split(all_, q_cols + k_cols, k_cols)
            else:
                q, k, v = (b.linear(h, w(s.width, n)) for n in (q_cols, k_cols, k_cols))
            q, k, v = (b.heads(x, s.each) for x in (q, k, v))
            if s.head_norm:
                q, k = norm(q, s.each, "q_norm"), norm(k, s.each, "k_norm")
            if s.rotary:
                q, k = (b.rope(x, positions, frequencies) for x in (q, k))
            window = s.windows[i % len(s.windows)]
            h = b.join(b.attention(q, k, v, scale=s.each**-0.5, window=window))
            x = x + b.linear(h, w(s.width, s.width), name="out")
            h = norm(x, s.width, "second_norm")
            if s.experts:
                n, d, f = s.experts, s.width, s.hidden
                made = b.experts(h, w(d, n), w(n, d, f), w(n, d, f), w(n, f, d), top=2)
            else:
                up = b.linear(h, w(s.width, s.hidden), w(s.hidden), name="up")
                made = b.linear(b.map(fn.silu(), up), w(s.hidden, s.width), name="down")
            x = x + made
    head = table if s.tied else w(VOCABULARY, s.width)
    y = b.linear(norm(x, s.width, "last_norm"), head, transposed=True, name="logits")
    return b.model(y, fold=fold)


def logits(model: Model, ids: Any, *, cuts: tuple[int, ...] = ()) -> Any:
    """What a model makes of ids, at once, or in runs that end at `cuts`."""
    (out,) = model.outputs
    if not cuts:
        return model.run({"ids": ids})[out]
    state, bounds = State(len(ids)), [0, *cuts, len(ids)]
    parts = [ids[a:b] for a, b in pairwise(bounds)]
    return np.concatenate([model.run({"ids": part}, state)[out] for part in parts])


def integers(model: Model, seed: int = 0) -> Model:
    """A model of integers with places by the largest numbers alone, which takes no search."""
    model = prepared(model)
    ids = np.random.default_rng(seed).integers(0, VOCABULARY, 24)
    return Plan(model, Calibration(model, [ids], 1).most).made()
