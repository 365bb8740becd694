"""What functions say of themselves is what the timing on tiles takes them for."""

from __future__ import annotations

import pytest

import stepgen as sg
from stepgen.ir.function import Cut, Folded, Function, Mapped, function_types
from stepgen.timing.tiles import costs, known, streams
from stepgen.timing.tiles.ops import accum, flat_map

USES = {"tile": (Mapped, "compute"), "accumulator": (Folded, "update"), "stream": (Cut, "pieces")}


def named(what: str) -> set[str]:
    return {name for name, kind in function_types().items() if getattr(kind, what, False)}


def test_functions_that_gather() -> None:
    assert named("gathers") == set(streams.GATHERING)
    assert named("grows") == named("gathers") - {"retile_streamify"}


def test_functions_that_read_numbers() -> None:
    assert named("reads_numbers") == set(known.OF_NUMBERS)


def test_functions_of_structure_alone() -> None:
    g = sg.Graph()
    x, sel = g.input("x", sg.f32[2, 8], (4, 3)), g.input("sel", sg.Selector(2), (4,))
    made = [x.accum(sg.fn.count(), rank=1), sel.flat_map(sg.fn.one_hot(), rank=1)]
    assert [known.decided_by_data(s) for s in made] == [None, None]
    assert {s.node.attrs["fn"].name for s in made} == named("structural")


def test_extents_of_results() -> None:
    ways = {
        "product": costs.MULTIPLIED,
        "rows": costs.ONE_COLUMN,
        "cols": costs.ALL_COLUMNS,
    }
    for name, kind in function_types().items():
        said = getattr(kind, "extents_of", "both")
        if said == "first":
            assert costs._SHAPES[name] in (costs.SAME, costs.PLACED)
        else:
            assert costs._SHAPES.get(name, costs.JOINED) == ways.get(said, costs.JOINED)


def test_states_that_grow() -> None:
    for name, kind in function_types().items():
        if issubclass(kind, Folded):
            wanted = {"rows": accum.ROWS, "cols": accum.COLS, None: accum.REPLACE}[kind.grows]
            assert accum.UPDATES.get(name, accum.REPLACE) in (wanted, accum.NUMBER)


def test_functions_that_cut_are_known() -> None:
    cutting = {name for name, kind in function_types().items() if issubclass(kind, Cut)}
    assert cutting == {*flat_map.KINDS, "retile_streamify"}


@pytest.mark.parametrize("name", function_types())
def test_what_has_a_type_has_a_golden_model(name: str) -> None:
    kind: type[Function] = function_types()[name]
    for rule, (use, model) in USES.items():
        assert hasattr(kind, rule) == hasattr(kind, model) == issubclass(kind, use)
    assert not getattr(kind, "__abstractmethods__", None)
