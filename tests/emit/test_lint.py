"""Verilator's linter accepts the shipped designs but for the waived warnings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from programs import SMALL, every_unit, shipped_functions, shipped_programs

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.emit.elaborate import verilog
from stepgen.emit.lint import control_file, waivers
from stepgen.functions.elementwise import Tabulated
from stepgen.fuzz.generators.plain import draw
from stepgen.hw.design.counting import COUNTING
from stepgen.hw.design.sharing import SHARED
from stepgen.hw.design.table import Bus, Design
from stepgen.hw.names import top_name
from stepgen.ir.function import function_types
from stepgen.program.program import load
from stepgen.tools.external import verilator

NEVER = {"WIDTHTRUNC", "CASEINCOMPLETE", "LATCH", "MULTIDRIVEN"}
BUILT = (
    *(
        f"recipes:{name}"
        for name in ("bias", "clip", "masked", "masked_columns", "relu", "routed", "softmax")
    ),
    *(
        f"recipes:{name}"
        for name in (
            "cache_window",
            "grouped_weights",
            "kept_by_flags",
            "masked_mean",
            "next_token",
        )
    ),
    *(f"recipes:{name}" for name in ("expert_of_layer", "ragged_attention", "safe_softmax")),
    *(f"normalize:{name}" for name in ("layer_norm", "rms_norm", "softmax")),
    *("alignment", "gelu", "gnn", "matmul", "matvec", "perceptron"),
    *("transformer:decode", "transformer:prefill"),
)
"""Those that are small anyway."""


def shipped(name: str, **settings: str) -> sg.Graph:
    """The graph of an example, small where it has a circuit."""
    return load(name, SMALL.get(name, {}) | settings, draw=False, tensors=False).graph


def rounded_products() -> sg.Graph:
    """Products of f32, of weights of dynamic rows."""
    g, n = sg.Graph("rounded_products"), sg.dynamic("T", bound=9, positive=True)
    x = g.input("x", sg.f32[2, 5], (2,))
    k, v = (g.input(name, sg.Tile(n, 5, sg.f32), (2,)) for name in "kv")
    g.output(x.map(sg.fn.matmul(transpose=True), k).map(sg.fn.matmul(), v), "y")
    return g


def only_reads() -> sg.Graph:
    """A program that uses the read channels of the bus alone."""
    g = sg.Graph("only_reads")
    w = g.tensor("w", (12, 8), sg.int8)
    g.output(sg.linear_offchip_load(w, tile=(4, 8), shape=(3,), stride=(1,)), "y")
    return g


def only_writes() -> sg.Graph:
    """A program that uses the write channels of the bus alone."""
    g = sg.Graph("only_writes")
    x = g.input("x", sg.int8[4, 8], (3,))
    sg.linear_offchip_store(x, g.tensor("y", (12, 8), sg.int8))
    return g


def dense() -> sg.Graph:
    """Rows that end within a beat and tiles that end within a word, in wide and narrow beats."""
    g = sg.Graph("dense")
    for n, (tile, element) in enumerate({(1, 1): sg.bf16, (3, 5): sg.int8, (2, 7): sg.f32}.items()):
        x = g.tensor(f"x{n}", (6 * tile[0], tile[1]), element)
        y = g.tensor(f"y{n}", (6 * tile[0], tile[1]), element)
        loaded = sg.linear_offchip_load(x, tile=tile, shape=(2, 3), stride=(1, 2))
        sg.linear_offchip_store(loaded, y)
    return g


def narrow_matrices() -> sg.Graph:
    """Weights whose rows and columns are not multiples of the lanes, transposed or not."""
    g = sg.Graph("narrow_matrices")
    for name, element in (("a", sg.int8), ("b", sg.bf16)):
        x, w, v = (g.input(f"{name}{n}", element[3 + n // 2, (3, 7, 3)[n]], (2,)) for n in range(3))
        g.output(x.map(sg.fn.matmul(), w), f"y_{name}")
        g.output(x.map(sg.fn.matmul(transpose=True), v), f"z_{name}")
    return g


def elementary() -> sg.Graph:
    """Every function that is a table, and divisions."""
    g = sg.Graph("elementary")
    x = g.input("x", sg.bf16[1, 8], (3,))
    for name in shipped_functions():
        if issubclass(kind := function_types()[name], Tabulated):
            g.output(x.map(kind()), name)
    g.output(x.map(sg.fn.div(), x), "div")
    return g


def shared_bus(loads: int, stores: int) -> sg.Graph:
    """Several units of one kind on the bus."""
    g = sg.Graph("shared_bus")
    for n in range(loads):
        w = g.tensor(f"w{n}", (12, 8), sg.int8)
        g.output(sg.linear_offchip_load(w, tile=(4, 8), shape=(3,), stride=(1,)), f"y{n}")
    for n in range(stores):
        x = g.input(f"x{n}", sg.int8[4, 8], (3,))
        sg.linear_offchip_store(x, g.tensor(f"z{n}", (12, 8), sg.int8))
    return g


def built(program: Callable[..., sg.Graph], *args: object, **how: object) -> Callable[[], Design]:
    """Lowers a program when it is asked for."""
    return lambda: lower(program(*args), **how)


def designs() -> Iterator[tuple[str, Callable[[], Design]]]:
    """Examples that have a circuit, and what they don't have."""
    for tiling in ("static", "dynamic"):
        tiled = partial(shipped, "moe", tiling=tiling)
        yield f"moe, {tiling}", built(tiled)
        yield f"moe, {tiling}, narrow bus", built(tiled, lanes=8, bus=Bus(data_bits=32, burst=4))
    for name in ("moe_swiglu", "swiglu", "attention", "hierarchical", "quantized"):
        yield name, built(shipped, name, lanes=2)
    for name in BUILT:
        yield name, built(shipped, name, lanes=2)
    yield "every unit", built(every_unit, loaders=SHARED)
    yield "only reads", built(only_reads)
    yield "dense", built(dense)
    yield "dense, wide bus", built(dense, lanes=2, bus=Bus(data_bits=256))
    yield "products of f32", built(rounded_products, lanes=2)
    yield "narrow matrices", built(narrow_matrices, lanes=2)
    yield "only writes", built(only_writes, lanes=1)
    yield "elementary", built(elementary, lanes=1)
    for loads, stores in ((0, 2), (2, 3), (3, 2), (2, 9)):
        yield f"{loads} loads, {stores} stores", built(shared_bus, loads, stores)
    for seed in (1, 5, 6, 9):
        yield f"drawn {seed}", built(lambda n: draw(n)[0].graph, seed, lanes=2)
    for counters in COUNTING:
        yield f"counts {counters}", partial(counting, counters)


def counting(counters: str) -> Design:
    """With banks of which all, some or no channels are counted."""
    return replace(lower(draw(1)[0].graph, lanes=2), counters=counters)


DESIGNS = dict(designs())


INSTALLED = shutil.which("verilator_bin")
"""The host's own Verilator, such as that of a distribution."""


def said(text: str, name: str, place: Path, *options: str, program: str | None = None) -> list[str]:
    """Warnings and errors of the linter: of `program`, or of the Python package."""
    (place / f"{name}.v").write_text(text)
    (place / f"{name}.vlt").write_text(control_file(text, f"{name}.v"))
    tool = verilator()
    own = {"VERILATOR_ROOT": str(tool.root)}
    done = subprocess.run(
        [program or tool.binary, "--lint-only", "-Wall", *options, f"{name}.vlt", f"{name}.v"],
        cwd=place,
        env=os.environ | ({} if program else own),
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stderr.splitlines() if line.startswith("%")]


QUICK = (*("every unit", "only reads", "0 loads, 2 stores", "counts none", "counts units"),)
"""Designs that have all units."""


@pytest.mark.parametrize(
    "which",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in DESIGNS],
)
def test_designs_are_clean(which: str, tmp_path: Path) -> None:
    design = DESIGNS[which]()
    text = verilog(design)
    assert said(text, top_name(design), tmp_path) == []
    # Earlier versions simplify less before they look for loops.
    assert said(text, top_name(design), tmp_path, "-O0") == []
    assert not re.search(r"\[-\d+:|\bcase[xz]?\b", text)


@pytest.mark.slow
@pytest.mark.skipif(INSTALLED is None, reason="the host has no Verilator of its own")
@pytest.mark.parametrize("which", QUICK)
def test_designs_are_clean_for_the_verilator_of_the_host(which: str, tmp_path: Path) -> None:
    design = DESIGNS[which]()
    assert said(verilog(design), top_name(design), tmp_path, program=INSTALLED) == []


def test_no_example_is_left_out() -> None:
    assert set(shipped_programs()) == SMALL.keys() | set(BUILT)


def test_what_a_waiver_may_not_hide() -> None:
    for waiver in waivers():
        assert waiver.rule not in NEVER
        assert waiver.why
        assert waiver.signal != "*"


def test_no_port_is_without_bits() -> None:
    """One sum has no number; in Verilog a port of no bits would have two, from -1 down to 0."""
    g = sg.Graph("one_sum")
    x = g.input("x", sg.bf16[2, 4], (3,))
    w = g.tensor("w", (4, 4), sg.int4)
    loaded = sg.linear_offchip_load(w, tile=(4, 4), shape=(1,), stride=(1,), ref=x)
    weights = loaded.flatten(0, 1).map(sg.fn.convert(sg.bf16))
    g.output(x.map(sg.fn.matmul(), weights), "y")
    assert "[-1:0]" not in verilog(lower(g, lanes=4))
