"""What is missing or undefined is shown in words: no command prints None, nan or inf."""

from __future__ import annotations

import re

import pytest
from seeds import others_slow

from stepgen.program.program import examples

SIZES = {
    "alignment": "batch=2 longest=3 count=2 columns=4",
    "attention": "batch=1 mean=4 stdev=1 rows=2 width=8 tile=4",
    "decoder": "batch=2 mean=4 stdev=1 kv_heads=1 head=8 cache_tile=4 tile=2",
    "gelu": "rows=2 width=4 inner=8 tile=2 columns=4",
    "gnn": "nodes=3 degree=1 width=4 hidden=4 tile=2 columns=4",
    "hierarchical": "m=4 n=8 k=4 block_n=4 tile_m=2 tile_n=4 tile_k=4",
    "matmul": "m=2 n=4 k=4 tile_m=2 tile_n=2 tile_k=2",
    "matvec": "vectors=3 selected=2 width=4 columns=4",
    "moe": "tokens=4 experts=2 top=1 width=8 hidden=8 columns=8",
    "moe_swiglu": "experts=2 top=1 width=8 inner=8 tokens=4 tile=2 columns=4",
    "perceptron": "rows=2 width=4 inner=4 tile=2",
    "quantized": "batch=2 width=4 inner=4 tile_batch=2 tile_inner=4",
    "swiglu": "batch=2 width=8 inner=8 tile_batch=2 tile_inner=4",
}
"""Small parameters of the shipped examples."""

OWN = {"p.py:soft": "", "empty.py:empty": "", "recipes:relu": "", "normalize:rms_norm": "rows=8"}
EMPTY = """
import stepgen as sg


def empty():
    g = sg.Graph("empty")
    x = g.input("x", sg.int8[1, 4], ("N",))
    w = g.tensor("w", (4, 4), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(4, 4), shape=(1,), stride=(1,), ref=x)
    g.output(loaded.flatten(0, 1), "y")
    return g, {"x": []}
"""
COMMANDS = [
    "show",
    "show --design",
    "metrics",
    "metrics --policy published",
    "metrics --policy hardware",
    "run",
    "time --all",
    "simulate",
]
UNDEFINED = re.compile(r"^.*\b(?:None|nan|inf)\b.*$", re.IGNORECASE | re.MULTILINE)


def test_every_example_has_small_parameters() -> None:
    assert {*SIZES, "language_models", "models", "normalize", "recipes", "transformer"} == set(
        examples()
    )


@pytest.mark.parametrize(
    "program", others_slow([*SIZES, *OWN], ("p.py:soft", "empty.py:empty", "recipes:relu"))
)
def test_no_command_prints_what_is_undefined(stepgen, here, program) -> None:
    (here / "empty.py").write_text(EMPTY)
    settings = " ".join(f"--set {pair}" for pair in {**SIZES, **OWN}[program].split())
    good = set()
    for command in COMMANDS:
        name, *options = command.split()
        said = stepgen(" ".join([name, program, settings, *options]))
        limits = (" has no ", "can't travel", "needs a bound")
        assert said.code == 0 or any(limit in said.err for limit in limits), said.err
        assert UNDEFINED.findall(said.out + said.err) == [], command
        good |= {command} if said.code == 0 else set()
    assert {"show", "metrics", "run", "simulate"} <= good
    assert program not in ("moe", "empty.py:empty") or good == set(COMMANDS)


@pytest.mark.parametrize("command", ["machine", "doctor"])
def test_nor_do_those_without_a_program(stepgen, command) -> None:
    said = stepgen(command)
    assert UNDEFINED.findall(said.out + said.err) == []
