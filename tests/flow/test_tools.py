from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepgen.flow import tools
from stepgen.ir.errors import StepError


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What one test makes the search find must not be remembered for the next."""
    for search in (tools.find_all, tools.compiler):
        search.cache_clear()
    yield
    for search in (tools.find_all, tools.compiler):
        search.cache_clear()


def test_what_runs_these_tests_is_found() -> None:
    assert tools.missing() == ()
    for name in ("python", "C++ compiler", "amaranth", "verilator", "cocotb"):
        tool = tools.find(name)
        assert tool.version
        assert Path(str(tool.path)).exists()
    assert set(tools.versions()) <= {t.name for t in tools.find_all()}
    assert tools.verilator().binary.exists()
    assert (tools.verilator().include / "verilated.h").exists()


def test_a_missing_compiler_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    tool = tools.compiler()
    assert not tool.found
    assert [t.name for t in tools.missing()] == ["C++ compiler"]
    with pytest.raises(StepError, match=r"C\+\+ compiler .* was not found: .*apt install g\+\+"):
        tools.find("C++ compiler")


def test_a_missing_package_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    package = tools._Package("ghost", "haunts", "ghost-of-a-package", "ghost_of_a_package")
    monkeypatch.setattr(tools, "_PACKAGES", (package,))
    assert [t.name for t in tools.missing()] == ["ghost"]
    with pytest.raises(StepError, match=r"ghost \(haunts\) was not found: .*pip install ghost-of"):
        tools.find("ghost")
