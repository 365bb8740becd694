"""The facts that functions declare are consistent, independent of their names."""

from __future__ import annotations

import pytest

from stepgen.ir.function import Cut, Folded, Function, Mapped, function_types
from stepgen.timing.tiles.ops import flat_map

USES = {"tile": (Mapped, "compute"), "accumulator": (Folded, "update"), "stream": (Cut, "pieces")}


def test_functions_that_cut_are_known() -> None:
    cutting = {name for name, kind in function_types().items() if issubclass(kind, Cut)}
    assert cutting == {*flat_map.KINDS, "retile_streamify"}


@pytest.mark.parametrize("name", function_types())
def test_what_has_a_type_has_a_golden_model(name: str) -> None:
    kind: type[Function] = function_types()[name]
    for rule, (use, model) in USES.items():
        assert hasattr(kind, rule) == hasattr(kind, model) == issubclass(kind, use)
    assert not getattr(kind, "__abstractmethods__", None)
