"""Train the small mixture of experts that talks, on text that comes with Python.

The text is Python's own help (`pydoc_data.topics`), character by character. The model is a stock
``MixtralForCausalLM`` of transformers: 2 layers of 64 columns, 4 experts of which each character
goes to 2. Needs the extra ``torch``::

    python examples/talk/train.py talk
    stepgen import talk -o talk.stepgen

writes ``config.json`` and ``model.safetensors`` as any checkpoint, the ids of text that the model
has not seen as ``unseen.npy``, those that it was trained on as ``seen.npy``, and the characters by
id as ``characters.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from pathlib import Path

import numpy as np

TEXT = "sha256 2a95af4ac93f5b71: the topics of Python 3.11.7"
LAYERS, WIDTH, EXPERTS, CONTEXT = 2, 64, 4, 256
BATCH, STEPS, RATE = 8, 1600, 3e-3
UNSEEN = 0.1
"""Share of the text, its end, that the model never sees."""


def text() -> str:
    """The help of all topics, printable characters only."""
    import pydoc_data.topics as known

    whole = "\n".join(known.topics[name] for name in sorted(known.topics))
    found = hashlib.sha256(whole.encode()).hexdigest()[:16]
    if found not in TEXT:
        print(f"this Python's topics have sha256 {found}, not {TEXT}: the loss will differ")
    return "".join(c for c in whole if c == "\n" or 32 <= ord(c) < 127)


def train(steps: int = STEPS, seed: int = 0):  # type: ignore[no-untyped-def]
    """Train from scratch.

    Returns
    -------
    model : MixtralForCausalLM
    characters : list of str
        By id.
    seen, unseen : array of int
        Ids.
    """
    import torch
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    letters = text()
    characters = sorted(set(letters))
    at = {c: i for i, c in enumerate(characters)}
    ids = torch.tensor([at[c] for c in letters])
    border = int(len(ids) * (1 - UNSEEN))
    seen, unseen = ids[:border], ids[border:]
    config = MixtralConfig(
        # A multiple of 32, so that the head's columns come in equal slices.
        vocab_size=-(-len(characters) // 32) * 32,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=EXPERTS,
        num_experts_per_tok=2,
        max_position_embeddings=CONTEXT,
        rope_theta=10000.0,
        rms_norm_eps=1e-5,
        sliding_window=None,
        output_router_logits=True,
        router_aux_loss_coef=0.01,
        # Of the size that the rates below are chosen for.
        initializer_range=WIDTH**-0.5,
    )
    model = MixtralForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * max(0.02, 0.5 * (1 + math.cos(math.pi * step / steps)))
        starts = torch.randint(len(seen) - CONTEXT, (BATCH,)).tolist()
        rows = torch.stack([seen[a : a + CONTEXT] for a in starts])
        loss = model(input_ids=rows, labels=rows).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {steps}: loss {loss.item():.3f}", flush=True)
    model.eval()
    return model, characters, seen.numpy(), unseen.numpy()


def loss(model, ids: np.ndarray, rows: int = 16) -> float:  # type: ignore[no-untyped-def, type-arg]
    """Mean loss in nats of rows of the context's length, from the start of the ids."""
    import torch

    starts = range(0, min(rows * CONTEXT, len(ids) - CONTEXT), CONTEXT)
    given = torch.tensor(np.stack([ids[a : a + CONTEXT] for a in starts]))
    with torch.no_grad():
        logits = model(input_ids=given).logits[:, :-1]
    return float(torch.nn.functional.cross_entropy(logits.flatten(0, 1), given[:, 1:].flatten()))


def main() -> None:
    """Train, and write a checkpoint."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    model, characters, seen, unseen = train(options.steps)
    model.save_pretrained(options.folder)
    np.save(options.folder / "seen.npy", seen[-8192:].astype(np.int32))
    np.save(options.folder / "unseen.npy", unseen.astype(np.int32))
    (options.folder / "characters.json").write_text(json.dumps(characters))
    print(f"loss of unseen text: {loss(model, unseen):.4f} nats a character")


if __name__ == "__main__":
    main()
