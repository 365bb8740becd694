"""Runs the command line inside the test's own process and folder."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from stepgen.cli.app import execute

PROGRAM = '''
import stepgen as sg


def layer(rows: int = 4, width: int = 8):
    """Rows through a gate, then a matrix from off-chip memory."""
    g = sg.Graph("layer")
    x = g.input("x", sg.int8[1, width], (rows,))
    gate = g.input("gate", sg.Selector(1), (rows,))
    w = g.tensor("w", (width, 4), sg.int8)
    y = g.tensor("y", (rows, 4), sg.int8)
    (passed,) = sg.partition(x, gate, rank=0)
    tile = passed.promote().accum(sg.fn.retile_row(), rank=1)
    loaded = sg.linear_offchip_load(w, tile=(width, 4), shape=(1,), stride=(1,), ref=tile)
    product = tile.map(sg.fn.matmul(), loaded.flatten(0, 1))
    small = product.map(sg.fn.requantize(shift=4))
    out = small.flat_map(sg.fn.retile_streamify("row"), rank=0)
    sg.linear_offchip_store(out, y)
    g.output(out, "out")
    return g, {"gate": [[1], [0], [1], [1]]}


def soft():
    g = sg.Graph("soft")
    k = sg.dynamic("K", positive=True)
    x = g.input("x", sg.Tile(1, k, sg.f32), (2,))
    g.output(x.map(sg.fn.matmul(), g.input("w", sg.Tile(k, 4, sg.f32), (2,))), "y")
    return g, {"x": [[[1.0] * 8]] * 2, "w": [[[1.0] * 4] * 8] * 2}


def dynamic():
    g = sg.Graph("dynamic")
    x = g.input("x", sg.int8[1, 4], ("N",))
    g.output(x.promote(), "y")
    return g


def broken(n: int = 0):
    return 1 // n


def mismatch():
    g = sg.Graph("mismatch")
    x = g.input("x", sg.int8[1, 4], (3,))
    w = g.input("w", sg.int8[8, 4], (3,))
    g.output(x.map(sg.fn.matmul(), w), "y")
    return g


def mlp(width: int = 8):
    b = sg.frontend.Builder("mlp", tokens=(1, 16))
    x = b.input("x", width)
    hidden = b.map(sg.fn.silu(), b.linear(x, [[0.5] * 12] * width))
    return b.model(b.linear(hidden, [[0.25] * 4] * 12, name="y"))
'''


@dataclass
class Said:
    """What a command left: exit code and texts."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """What it printed, read as JSON."""
        return json.loads(self.out)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of the user's own, with a file of programs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def language_model(here):
    """The config of a small language model, and a text for it, beside the programs."""
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "vocab_size": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8}
    config = {"model_type": "llama", "rms_norm_eps": 1e-6, "hidden_act": "silu", **sizes, **heads}
    (here / "config.json").write_text(json.dumps(config))
    np.save(here / "ids.npy", np.arange(8))


@pytest.fixture
def stepgen(here, capsys):
    """Call ``stepgen`` with a command line."""

    def call(line: str) -> Said:
        code = execute(line.split())
        return Said(code, *capsys.readouterr())

    return call
