"""The test that cocotb runs: each case of a run folder, see `stepgen.cosim.bench`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cocotb

from stepgen.cosim.bench import Bench
from stepgen.cosim.case import cases_in
from stepgen.emit.interface import Interface

FOLDER = Path(os.environ["STEPGEN_RUN"])
INTERFACE = Interface.from_json((FOLDER / "interface.json").read_text(encoding="utf-8"))


@cocotb.test()
@cocotb.parametrize(number=cases_in(FOLDER))
async def case(dut: Any, number: int) -> None:
    """One case of the run folder."""
    outcome = await Bench(dut, INTERFACE, FOLDER / str(number)).run()
    print(f"stepgen: case {number} {'passed' if outcome.good else 'failed'}", flush=True)
    assert outcome.good, f"{outcome.case.name}: " + "; ".join(outcome.faults[:5])
