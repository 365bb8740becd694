from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepgen.ir.errors import StepError
from stepgen.tools import external


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Clear the cache of found tools between tests."""
    for search in (external.find_all, external.compiler):
        search.cache_clear()
    yield
    for search in (external.find_all, external.compiler):
        search.cache_clear()


def test_installed_tools_are_found() -> None:
    assert external.missing() == ()
    for name in ("python", "C++ compiler", "amaranth", "verilator", "cocotb"):
        tool = external.find(name)
        assert tool.version
        assert Path(str(tool.path)).exists()
    assert set(external.versions()) <= {t.name for t in external.find_all()}
    assert external.verilator().binary.exists()
    assert (external.verilator().include / "verilated.h").exists()


def test_a_missing_compiler_is_reported_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    tool = external.compiler()
    assert not tool.found
    assert [t.name for t in external.missing()] == ["C++ compiler"]
    with pytest.raises(StepError, match=r"C\+\+ compiler .* was not found: .*apt install g\+\+"):
        external.find("C++ compiler")


def test_a_missing_package_is_reported_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    package = external._Package("ghost", "haunts", "ghost-of-a-package", "ghost_of_a_package")
    monkeypatch.setattr(external, "_PACKAGES", (package,))
    assert [t.name for t in external.missing()] == ["ghost"]
    with pytest.raises(StepError, match=r"ghost \(haunts\) was not found: .*pip install ghost-of"):
        external.find("ghost")
