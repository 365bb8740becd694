"""The reference says what is so: types, units and headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepgen as sg
from stepgen.functions import Unary
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.units.pcu.params import Pcu
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.function import function_types
from stepgen.ir.operator import functions as all_operators
from stepgen.pages import blocks, docstrings, functions, operators, probe
from stepgen.pages.data import anchor
from stepgen.semantics.numbers import Array

REFERENCE = blocks.ROOT / "docs" / "reference.md"


def test_a_function_is_known_by_what_it_takes_and_becomes() -> None:
    class Narrowed(Unary):
        """Half of what it is given.

        It is of nobody's use.
        """

        elements = (sg.int32, sg.f32)

        def tile(self, call: object, *tiles: sg.Tile) -> sg.Tile:
            return sg.Tile(tiles[0].rows, tiles[0].cols, sg.int8)

        def compute(self, at: object, x: Array) -> Array:
            return np.asarray(x >> 1, np.int8)

        def unit(self, lanes: int, tiles: Sequence[sg.Tile], blind: object) -> Pcu | None:
            if tiles[0].element != sg.int32:
                return None
            return Pcu(("int32",), (Operation("requantize", (0,), "int8", (1, 1)),))

    uses = probe.uses(Narrowed)
    assert {str(u.operands[0].element) for u in uses} == ELEMENTS.keys()  # its rule refuses none
    assert {str(u.made.dtype) for u in uses} == {"int8 RxC"}
    built = {str(u.operands[0].element): [p.kind for p in u.units] for u in uses}
    assert built["int32"] == ["pcu"]
    assert built["f32"] == []
    text = "\n".join(functions.entry(Narrowed))
    assert "It is of nobody's use." in text
    assert "`pcu` (pipeline of 2 stages)" in text


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("matmul", ["int8, int16 → int32; bf16, f32 → f32", "`[R, C]` and `[C, N]`", "`2*C*N*R`"]),
        ("matmul", ["`matmul` (pipeline of 9 stages) for int8, int16 → int32;"]),
        ("add", ["Extents of 1 are repeated.", "starts at 0 ", "`pcu`"]),
        ("minimum", ["127 (int8)", "inf (bf16, f32)"]),
        ("mask_cols", ["`[R, C]` and address `[1, 1]`"]),
        ("retile_streamify", ["`[R, 1]` in a stream `[C*D]`", "`cut_tile` (pipeline of 2"]),
        ("exp", ["0.52 in bf16, 0.55 in f32"]),
        ("one_hot", ["selector 4 → selector 1 of 4"]),
        ("at_least", ["ReLU", "fn.at_least(c: float)"]),
    ],
)
def test_an_entry_of_a_function(name: str, lines: list[str]) -> None:
    text = "\n".join(functions.entry(function_types()[name]))
    assert [line for line in lines if line not in text] == []


def test_an_entry_of_an_operator() -> None:
    text = "\n".join(operators.entry("partition", sg.partition))
    for line in (
        "x.partition(sel: Stream, *, rank: int, num_consumers: int | None = None)",
        "Shapes: x `[D_a..D_0]`, sel `[D_a..D_b]` -> n streams `[E_i, D_{b-1}..D_0]`.",
        "`x.partition(route, rank=1)` becomes `partition`",
        "Source: Partition (paper, section 3).",
    ):
        assert line in text


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    """All pages that are written from the code, which takes long, as they have to be."""
    return blocks.generated()


def test_what_is_written_from_the_code_is_new(pages: dict[Path, str]) -> None:
    assert REFERENCE in pages
    old = [page.name for page, text in pages.items() if page.read_text() != text]
    assert not old, f"{old} are older than the code, run: python -m stepgen.pages"


def test_a_page_without_its_block_is_refused() -> None:
    text = "<!-- python -m stepgen.pages: x -->\nold\n<!-- end -->"
    assert "new" in blocks.replaced(text, "x", "new")
    for wrong in ("", text + "\n" + text):
        with pytest.raises(ValueError, match="needs one block"):
            blocks.replaced(wrong, "x", "new")


def test_whatever_can_be_called_is_on_the_page_once(pages: dict[Path, str]) -> None:
    text = re.sub(r"^```.*?^```", "", pages[REFERENCE], flags=re.MULTILINE | re.DOTALL)
    heads = Counter(anchor(head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    assert max(heads.values()) == 1
    own = [n for n, k in function_types().items() if k.__module__.startswith("stepgen.")]
    assert {f"fn{name}" for name in own} <= heads.keys()
    assert {*all_operators(), "sgselector", "relu"} <= heads.keys()


def test_sections_of_a_docstring() -> None:
    found = docstrings.sections(
        "What.\n\nMore ``x``.\n\n"
        "Parameters\n----------\na, b : int\n    Two\n    lines.\n*xs : Stream\n"
    )
    assert docstrings.prose(found["Summary"]) == "What.\n\nMore `x`."
    assert docstrings.described(found["Parameters"]) == [
        ("a, b", "int", "Two lines."),
        ("*xs", "Stream", ""),
    ]
    assert docstrings.table(("a", "", "b"), [("1", "", "x|y")]) == [
        "| a | b |",
        "|---|---|",
        "| 1 | x\\|y |",
    ]
