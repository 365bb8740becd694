"""What drives a simulation, and which simulators it goes with."""

from __future__ import annotations

from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.simulators import SIMULATORS
from stepgen.ir.errors import StepError
from stepgen.tools.external import find

DRIVERS = ("cocotb", "cpp", "judge")
"""cocotb or C++ with stepgen's memory; cocotb with cocotbext-axi, an independent AXI model."""


def check(driver: str, simulator: str, opt: str) -> None:
    """Check that there is such a simulation.

    Raises
    ------
    StepError
        If there is none, or Icarus is missing.
    """
    if driver not in DRIVERS:
        raise StepError(f"the driver must be one of {', '.join(DRIVERS)}, not {driver!r}")
    if simulator not in SIMULATORS:
        raise StepError(f"the simulator must be {' or '.join(SIMULATORS)}, not {simulator!r}")
    four_state = simulator == "icarus"
    if four_state and driver == "cpp":
        raise StepError("the driver cpp is for verilator; icarus has cocotb and judge")
    if four_state:
        find("iverilog")
    if driver != "cpp" and opt == LEAST_BUILD and not four_state:
        raise StepError(f"a {LEAST_BUILD} has the driver cpp alone, not {driver}")
