"""The simulated memory follows docs/memory-timing.md to the cycle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bus_cases import DESIGN, INTERFACE, draw, rows, sources
from bus_model import Requests

from stepgen.cosim.case import Case, write_cases
from stepgen.cosim.testbench import run_cocotb
from stepgen.cosim.verilator import Simulation, build, run_driver


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return build(INTERFACE, DESIGN)


def test_every_handshake_by_the_rules(simulation: Simulation, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    cases = [draw(rng, f"case {i}") for i in range(60)]
    assert sum(len(c.expected["r"]) for c in cases) > 1000
    write_cases(tmp_path, INTERFACE, cases)
    outcomes = run_driver(simulation, tmp_path, cases=len(cases))
    assert [o.faults for o in outcomes] == [[]] * len(cases)


@pytest.mark.slow
def test_the_same_under_cocotb(simulation: Simulation, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    cases = [draw(rng, f"case {i}") for i in range(15)]
    write_cases(tmp_path, INTERFACE, cases)
    said: list[str] = []
    outcomes = run_cocotb(simulation, tmp_path, progress=lambda what, share: said.append(what))
    assert [o.faults for o in outcomes] == [[]] * len(cases)
    assert said[-1] == "simulating (15/15)"


@pytest.mark.parametrize(
    ("setting", "channel"),
    [
        ("read_latency", "mem.r"),
        ("read_interval", "mem.r"),
        ("write_latency", "mem.b"),
        ("write_interval", "mem.w"),
    ],
)
def test_a_wrong_setting_is_seen(
    simulation: Simulation, tmp_path: Path, setting: str, channel: str
) -> None:
    rng = np.random.default_rng(3)
    case = next(c for c in (draw(rng, "x") for _ in range(99)) if len(c.pushes[channel]) > 20)
    timing = replace(case.timing, **{setting: getattr(case.timing, setting) + 1})
    write_cases(tmp_path, INTERFACE, [replace(case, timing=timing)])
    (outcome,) = run_driver(simulation, tmp_path)
    assert any(f.startswith(f"channel {channel}: beat") for f in outcome.faults)


def violation(simulation: Simulation, folder: Path, requests: Requests, **more: object) -> str:
    image = np.zeros(4096, np.uint8)
    case = Case("wrong", {**sources(requests), **more}, memory=image, limit=200)  # type: ignore[dict-item]
    write_cases(folder, INTERFACE, [case])
    (outcome,) = run_driver(simulation, folder)
    return outcome.faults[0]


def test_violations_of_the_protocol_are_reported(simulation: Simulation, tmp_path: Path) -> None:
    image = bytearray(4096)
    word = (bytes(8), 255)
    far = violation(simulation, tmp_path, Requests([(4096, 1)], [], [], image))
    assert "read of byte address 0x1000, beyond the image of 4096 bytes" in far
    far = violation(simulation, tmp_path, Requests([], [(8192, 1)], [word], image))
    assert "write of byte address 0x2000, beyond the image of 4096 bytes" in far
    page = violation(simulation, tmp_path, Requests([(4088, 2)], [], [], image))
    assert "mem_ar: cycle 0: a burst of 2 beats from 0xff8 crosses a 4 KiB boundary" in page
    odd = violation(simulation, tmp_path, Requests([(4, 1)], [], [], image))
    assert "address 0x4, size 3: only whole words of 8 bytes are served" in odd
    last = violation(
        simulation,
        tmp_path,
        Requests([], [(0, 2)], [word] * 2, image),
        w=rows("w", [0, 0]),
    )
    assert "wlast is 0 in beat 1 of a burst of 2" in last
