"""The output of ``stepgen machine``."""

from __future__ import annotations

import pytest

from stepgen.timing.tiles.machines import MACHINES


def test_all_machines_are_listed(stepgen):
    assert stepgen("machine --json").json == {"machines": list(MACHINES)}
    said = stepgen("machine")
    assert said.code == 0
    assert all(name in said.out for name in MACHINES)


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_and_its_bandwidth(stepgen, name):
    data = stepgen(f"machine {name} --json").json
    assert data["machine"]["name"] == name
    assert data["memory"] == ("dram" if "timings" in data["machine"]["memory"] else "simple")
    assert {b["pattern"] for b in data["bandwidth"]} == {"sequential", "streams", "random"}
    for measured in data["bandwidth"]:
        assert 0 < measured["per_cycle"] <= data["peak"]
        assert measured["per_cycle"] == measured["bytes"] / measured["cycles"]


def test_a_machine_for_people(stepgen):
    out = stepgen("machine sda-hbm2").out
    assert "HBM2-2000" in out
    assert "sequential" in out
    assert "of 1024 at most" in out


def test_an_unknown_machine(stepgen):
    said = stepgen("machine moon")
    assert said.code == 2
    assert said.err == f"stepgen: there is no machine 'moon', only {', '.join(MACHINES)}\n"
