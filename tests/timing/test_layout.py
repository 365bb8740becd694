"""The state of a run: what the kernel has room for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

from stepgen.hw import units
from stepgen.timing.layout import STEPS

OWN = 32
"""Step functions of a user's own units that a design has room for beside all others."""


def test_the_kernel_takes_the_steps_of_all_units_in_one_design() -> None:
    found = 0
    for unit in pkgutil.iter_modules(units.__path__):
        model = importlib.import_module(f"{units.__name__}.{unit.name}.model")
        assert model.__file__ is not None
        steps = re.findall(r"^@step$", Path(model.__file__).read_text(), re.MULTILINE)
        assert steps, unit.name
        found += len(steps)
    assert found <= STEPS - OWN
