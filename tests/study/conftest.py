"""Figures at full size from invented numbers, for tests of their form alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from stepgen.study import study
from stepgen.study.traces import Traces


def fake(point):
    """Numbers of a point that differ from those of others, of the size of real ones."""
    spread = int(point.key[:6], 16) / 16**6
    return {
        "cycles": round(2**20 * (1 + 7 * spread)),
        "traffic": round(2**24 * (2 - spread)),
        "memory_allocated": round(2**25 * (1 + spread)),
        "memory_used": round(2**24 * (1 + spread)),
        "memory_peak": round(2**26 * (1 + spread)),
        "compute_allocated": round(2**20 * (1 + spread)),
        "compute_utilization": 0.1 + 0.1 * spread,
        "compute_occupancy": 0.3 + 0.3 * spread,
        "bandwidth_utilization": 0.9 * spread,
        "onchip_bits": round(2**20 * (1 + spread)),
        "multipliers": 16 * round(1 + 8 * spread),
        "units": round(100 * (1 + spread)),
    }


GROUPS = ("all", "rtl", "streamtensor")


@dataclass(frozen=True)
class Asked(Traces):
    """No traces; which of them figures look for."""

    seen: set[str] = field(default_factory=set, compare=False)

    def _file(self, name):
        self.seen.add(name)


@pytest.fixture(scope="session")
def asked():
    """The traces that figures look for, once they are `faked`."""
    return Asked()


@pytest.fixture(scope="session")
def faked(tmp_path_factory, asked):
    """All figures with their results by view."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPGEN_CACHE", str(tmp_path_factory.mktemp("faked")))
        every = [figure for group in GROUPS for figure in study.chosen(group)]
        return study.measured(every, asked, evaluate=fake)
