"""Settings and fixtures of all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from stepgen.board import virtual
from stepgen.cosim import building
from stepgen.ir import function, operator
from stepgen.ir.graph import Graph
from stepgen.program import tiles
from stepgen.semantics import executor
from stepgen.semantics.inputs import to_tokens
from stepgen.semantics.tokens import Token


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Tests and their modules stay: garbage collections leave them out, and are seldom."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


# How long an example takes says more about the machine than about stepgen.
settings.register_profile(
    "stepgen", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("stepgen")


BOARDS = "boards"
"""How quick tests build simulated boards."""


@pytest.fixture(scope="session", autouse=True)
def simulations_are_not_optimized(pytestconfig: pytest.Config) -> Iterator[None]:
    """Quick tests simulate so few cycles that optimizing their C++ takes longer than it saves.

    Only boards, whose serial link takes many cycles, are optimized, and the simulations of slow
    tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("markexpr") == "not slow":
            optimized = building.OPTIMIZATION[building.FAST_BUILD]
            patch.setitem(building.OPTIMIZATION, BOARDS, optimized)
            patch.setattr(virtual, "FAST_BUILD", BOARDS)
            patch.setitem(building.OPTIMIZATION, building.FAST_BUILD, building.UNOPTIMIZED)
        yield


def _files_of(kind: type) -> set[Path]:
    """Where the methods of a class are written, also if its module is gone."""
    methods = [value for value in vars(kind).values() if isinstance(value, FunctionType)]
    return {Path(method.__code__.co_filename) for method in methods}


@pytest.fixture(autouse=True)
def functions_and_operators_last_for_one_test(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A test sees those of stepgen, of what its own file names and of folders beside it.

    Many tests iterate over all.
    """
    named = {request.module.__name__}
    for value in vars(request.module).values():
        named |= {getattr(value, "__module__", ""), type(value).__module__}
        named.add(value.__name__ if isinstance(value, ModuleType) else "")

    def seen(kinds: Mapping[str, type]) -> dict[str, type]:
        return {
            name: kind
            for name, kind in kinds.items()
            if kind.__module__ in named
            or kind.__module__.startswith("stepgen.")
            or request.path.parent in {file.parent.parent for file in _files_of(kind)}
        }

    monkeypatch.setattr(function, "_KINDS", seen(function.function_types()))
    monkeypatch.setattr(operator, "OWN", seen(operator.OWN))


@pytest.fixture
def unmatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs may differ in dims of one name, as streams of an operator of one's own may."""

    def taken(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, list[Token]]:
        return {name: to_tokens(inputs[name], s.type, name) for name, s in graph.inputs.items()}

    for module in (executor, tiles):
        monkeypatch.setattr(module, "given_tokens", taken)
