"""The facts that functions declare are consistent, independent of their names."""

from __future__ import annotations

from typing import get_args

import pytest

from stepgen.ir.function import Cut, Folded, Function, Mapped, function_types
from stepgen.ir.pieces import Parts
from stepgen.timing.tiles.ops import flat_map

USES = {"tile": (Mapped, "compute"), "accumulator": (Folded, "update"), "stream": (Cut, "pieces")}


def test_functions_that_cut_are_known() -> None:
    """Each says what it cuts into, which timing on tiles knows."""
    assert set(flat_map.KINDS) == set(get_args(Parts))
    cutting = [kind for kind in function_types().values() if issubclass(kind, Cut)]
    shipped = [kind for kind in cutting if kind.__module__.startswith("stepgen.")]
    assert shipped
    assert all(kind.cuts_into is not Cut.cuts_into for kind in shipped)


@pytest.mark.parametrize("name", function_types())
def test_what_has_a_type_has_a_golden_model(name: str) -> None:
    kind: type[Function] = function_types()[name]
    for rule, (use, model) in USES.items():
        assert hasattr(kind, rule) == hasattr(kind, model) == issubclass(kind, use)
    assert not getattr(kind, "__abstractmethods__", None)
