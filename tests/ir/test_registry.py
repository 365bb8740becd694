"""Operators are found by the names of their files, functions by those of their classes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import shipped_functions

import stepgen as sg
from stepgen.ir import registry
from stepgen.ir.function import function
from stepgen.ir.operator import Operator, functions, operators


def test_every_operator_is_a_method_and_most_are_functions() -> None:
    assert set(operators()) - set(functions()) == {"source", "output"}
    assert {"partition", "eager_merge", "streamify"} <= set(functions())


@pytest.mark.parametrize("name", shipped_functions())
def test_a_function_is_made_by_its_name(name: str) -> None:
    required = {"scale": {"c": 2}, "offset": {"c": 2}, "compare": {"op": "lt"}}
    required |= {"convert": {"to": "f32"}, "row_broadcast": {"cols": 2}}
    required |= {
        "tile_addresses": {"count": 2},
        "cut_cols": {"c": 2},
        "mask_cols": {"value": 0},
        "mask_rows": {"value": 0},
        "mask_causal": {"value": 0},
        "lookup": {"table": tuple(range(-128, 128))},
        "top_k": {"k": 2},
        "top_k_scores": {"k": 2},
        "at_least": {"c": 0},
        "at_most": {"c": 0},
    }
    made = function(name, **required.get(name, {}))
    assert made.name == name
    assert function(name, **made.parameters()) == made
    assert getattr(sg.fn, name)(**made.parameters()) == made


def test_an_unknown_function_is_reported() -> None:
    with pytest.raises(sg.StepError, match="there is no function 'sculpt', those are add, "):
        function("sculpt")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_file_defines_one_thing(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / f"found{count}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_helper.py").write_text("raise RuntimeError\n")
    body = "from stepgen.ir.operator import Operator\n"
    (package / "thing.py").write_text(
        body + "".join(f"class T{i}(Operator): ...\n" for i in range(count))
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    if count == 1:
        assert [*registry.classes(package.name, Operator)] == ["thing"]
    else:
        with pytest.raises(TypeError, match=f"must define one Operator, not {count}"):
            registry.classes(package.name, Operator)
    for name in (package.name, f"{package.name}.thing"):
        sys.modules.pop(name, None)
