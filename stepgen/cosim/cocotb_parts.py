"""What is used of cocotb beside its Python interface: libraries, main program, environment.

cocotb's own runner builds and starts simulations with make; here both are done without it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stepgen.ir.errors import StepError

LIBRARY = "cocotbvpi_verilator"
"""The library by which cocotb's main program speaks with a model of Verilator."""


def libraries() -> Path:
    """Folder of cocotb's libraries."""
    from cocotb_tools import config

    return Path(config.libs_dir)


def interface_of(simulator: str) -> Path:
    """The library by which cocotb speaks with a simulator."""
    from cocotb_tools import config

    return Path(config.lib_entry("vpi", simulator))


def main_program() -> Path:
    """C++ file of the simulation in which cocotb runs; it includes ``Vtop.h``."""
    from cocotb_tools import config

    return Path(config.share_dir) / "lib" / "verilator" / "verilator.cpp"


def environment(module: str, top: str, results: Path, seed: int) -> dict[str, str]:
    """Variables that cocotb reads inside of the simulation.

    Parameters
    ----------
    module : str
        The Python module with the test.
    top : str
        Name of the top module.
    results : Path
        Where cocotb writes its own results.
    seed : int
        Of `random`.

    Raises
    ------
    StepError
        Where this Python has no shared library.
    """
    import find_libpython
    from cocotb_tools import config

    library = find_libpython.find_libpython()
    if library is None:
        raise StepError(
            "cocotb needs Python's shared library and this Python has none; use a Python that was "
            "built with --enable-shared (Debian: apt install libpython3-dev)"
        )
    variables = {name: v for name, v in os.environ.items() if name != "COCOTB_TEST_FILTER"}
    return variables | {
        "COCOTB_TEST_MODULES": module,
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_TOPLEVEL": top,
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RESULTS_FILE": str(results),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "COCOTB_REWRITE_ASSERTION_FILES": "",  # else pytest rewrites all that is imported
        "GPI_USERS": f"{library};{config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
    }
