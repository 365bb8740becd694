"""Settings and fixtures of all tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from stepgen.ir import function, operator

# How long an example takes says more about the machine than about stepgen.
settings.register_profile(
    "stepgen", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("stepgen")


@pytest.fixture(autouse=True)
def functions_and_operators_last_for_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests iterate over all registered ones."""
    monkeypatch.setattr(function, "_KINDS", function.function_types())
    monkeypatch.setattr(operator, "OWN", dict(operator.OWN))
