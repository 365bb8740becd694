"""What a run gives, in each form that it can be kept in, is taken as an input again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.cli.app import execute
from stepgen.ir.dtypes import STORED
from stepgen.program import inputs
from stepgen.semantics.executor import Result, run
from stepgen.semantics.numbers import bfloat16
from stepgen.semantics.streamfile import save

KINDS = [*STORED.values(), "selector"]
"""Element types of tensors, and of tiles where they are not packed; and selectors."""


def copies(kind: Any) -> sg.Graph:
    """A program whose results, `x` and `m`, are its inputs."""
    g = sg.Graph("copies")
    if kind == "selector":
        g.output(g.input("x", sg.Selector(4), (3, 2)), "y")
        return g
    g.output(g.input("x", sg.Tile(2, 4, kind.on_chip), (3, 2)), "y")
    m = g.tensor("m", (4, 4), kind)
    kept = g.tensor("kept", (4, 4), kind.on_chip)
    read = sg.linear_offchip_load(m, tile=(2, 4), shape=(2,), stride=(1,))
    sg.linear_offchip_store(read, kept)
    return g


def arrays(result: Result, path: Path) -> None:
    """As a user keeps them from Python."""
    found = {"m": result.tensors["kept"]} if result.tensors else {}
    np.savez(path, x=np.array(result.nested("y")), **found)


def streams(result: Result, path: Path) -> None:
    """As ``-o`` of the commands keeps them."""
    found = {"m": result.tensors["kept"]} if result.tensors else {}
    inputs.save(path, {"x": (result.streams["y"], 1)}, found)


def a_stream(result: Result, path: Path) -> None:
    """A stream alone."""
    save(path, result.streams["y"], 1)


def numpy_stream(result: Result, path: Path) -> None:
    """A stream file that is written by hand."""
    values = np.array(result.nested("y"))
    stops = np.tile([0, 1], len(values))
    np.savez(path, stops=stops, values=values.reshape(-1, *values.shape[2:]))


@pytest.mark.parametrize("form", [arrays, streams, a_stream, numpy_stream])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_results_are_inputs(
    kind: Any, form: Callable[[Result, Path], None], tmp_path: Path
) -> None:
    g, path = copies(kind), tmp_path / "results.npz"
    given = inputs.complete(g, {}, seed=3)
    first = run(g, given)
    form(first, path)
    again = run(g, given | inputs.load(path, g))
    assert again.streams["y"] == first.streams["y"]
    for name, matrix in first.tensors.items():
        assert np.array_equal(again.tensors[name], matrix)
    if form is arrays:
        with np.load(path) as kept:  # and as a user gives them in Python
            given |= dict(kept)
        assert run(g, given).streams["y"] == first.streams["y"]


PROGRAM = """
import stepgen as sg


def copies():
    g = sg.Graph("copies")
    g.output(g.input("x", sg.bf16[1, 4], (3,)).map(sg.fn.scale(0.5)), "y")
    return g
"""


def test_commands_take_what_numpy_made_of_bf16(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(PROGRAM)
    x = np.array([[[1, -2.5, 3, 4]]] * 3, bfloat16)
    np.savez("x.npz", x=x)
    for command in ("show", "metrics", "run", "time", "simulate"):
        assert execute([command, "p.py:copies", "--inputs", "x.npz"]) == 0, command
    assert execute(["run", "p.py:copies", "--inputs", "x.npz", "-o", "y.npz"]) == 0
    assert "0.5" in capsys.readouterr().out
