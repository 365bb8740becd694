"""A memory that answers with an error, and neighbours that begin late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.case import Refusals
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.fuzz.case import Case
from stepgen.hw.design.registers import DONE, ERROR, ERROR_CODE, STATUS
from stepgen.hw.design.table import Bus
from stepgen.ir.stalls import Stalls


def copied(late: int = 0) -> Case:
    """Tiles that are loaded for each element of a stream, and stored again."""
    g = sg.Graph("copied")
    ref = g.input("ref", sg.int8[1, 4], (4,))
    a, b = (g.tensor(name, (4, 16), sg.int8) for name in "ab")
    sg.linear_offchip_load(
        a, tile=(4, 16), shape=(1,), stride=(1,), name="load"
    ).linear_offchip_store(b)
    g.output(ref.promote(), "y")
    data = np.arange(64, dtype=np.int8).reshape(4, 16)
    inputs = {"ref": [np.zeros((1, 4), np.int8)] * 4, "a": data}
    stalls = Stalls(1, {"mem.r": 0.3}, {"ref": late, "y": 3 * late})
    return Case(g, inputs, lanes=4, bus=Bus(data_bits=64, burst=4), stalls=stalls)


def errors() -> list[Experiment]:
    """Runs with errors first, in the middle and last; after each a run without."""
    found = []
    for read, write, response in (
        (1, 0, "SLVERR"),
        (0, 2, "DECERR"),
        (8, 0, "DECERR"),
        (3, 1, "SLVERR"),
    ):
        one = copied().experiment()
        one.refusals = Refusals(read, write, response)  # type: ignore[arg-type]
        found.append(one)
        after = copied().experiment()
        after.refusals = replace(one.refusals, earlier=True)
        after.aborts = (after.prediction.cycles - 1, 2 * after.prediction.cycles)
        found.append(after)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["cpp", "cocotb"])
def test_an_error_of_the_memory_shows_in_its_run_alone(driver: str, tmp_path: Path) -> None:
    experiments = errors()
    assert experiments[0].answers == (8, 2)
    axi = next(k for k, unit in enumerate(experiments[0].design.units) if unit.kind == "axi")
    for experiment, verdict in zip(
        experiments, simulate(experiments, tmp_path, driver=driver), strict=True
    ):
        assert verdict.good, verdict.outcome.faults
        registers = verdict.outcome.registers
        wrong = not experiment.refusals.earlier
        assert registers[STATUS.offset] == DONE.mask | wrong * ERROR.mask
        assert registers[ERROR_CODE.offset] == wrong * (axi + 1)


def test_an_error_that_is_not_shown_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Experiment, "error", property(lambda _: 1))
    for verdict in simulate(errors()[:2], tmp_path, driver="cpp"):
        assert "expected error 1" in verdict.outcome.faults[0]


@pytest.mark.parametrize("driver", some_slow(["cpp", "cocotb"], 1))
def test_neighbours_may_begin_late(driver: str, tmp_path: Path) -> None:
    experiment = copied(late=50).experiment()
    verdict = experiment.test(tmp_path, driver=driver)
    assert verdict.good, verdict.outcome.faults
    record = verdict.outcome.record
    assert record is not None
    assert record.pushes["port:ref"][0] == 50
    assert record.pushes["port:y"][0] == 150


def test_ports_alone_can_be_late() -> None:
    with pytest.raises(sg.StepError, match=r"mem\.r can't be late"):
        Stalls(late={"mem.r": 3})
    with pytest.raises(sg.StepError, match="y must be late by 0 cycles or more, not -1"):
        Stalls(late={"y": -1})


def test_a_share_of_a_run_is_a_share() -> None:
    with pytest.raises(sg.StepError, match=r"aborts .* not \(-0\.5,\)"):
        replace(copied(), aborts=(-0.5,))
    with pytest.raises(sg.StepError, match=r"not other 0\.5"):
        replace(copied(), refused={"other": 0.5})
