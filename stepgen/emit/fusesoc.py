"""A core file of FuseSoC: what its build system has to know of a design folder."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from stepgen.emit.wraps import WRAPS
from stepgen.hw.design.table import Design
from stepgen.hw.names import verilog_name
from stepgen.tools.templates import fill

VENDOR, LIBRARY, VERSION = "stepgen", "designs", "1.0.0"
"""What a core is called beside the name of its design. Versions have an order, hashes of designs
have none: whoever publishes a core gives it versions."""

_TOOLS = {".vlt": "vlt", ".cpp": "cppSource"}
"""Of a test bench what tools are given; all else is data, and lies beside the simulator."""


def core_file(
    design: Design, files: Collection[str], kernels: Collection[str], bench: Collection[str] = ()
) -> tuple[str, str]:
    """The core file of a design folder, and its name.

    Parameters
    ----------
    design : Design
    files : collection of str
        Names of the files in the folder.
    kernels : collection of str
        Those of Verilog kernels, in the order in which they are read.
    bench : collection of str
        Files that the test bench needs by their paths in the folder, where there is one: all of
        them below one folder.
    """
    name, top = design.name, verilog_name(design.name)
    around = [kind for kind in WRAPS if f"{name}_{kind}.v" in files]
    wrappers = [f"{name}_{kind}.v" for kind in around]
    text = fill(
        "package/fusesoc.core.j2",
        vlnv=":".join((VENDOR, LIBRARY, name, VERSION)),
        name=name,
        hash=design.hash,
        inner=top,
        top=f"{top}_{around[0]}" if around else top,
        kernels=kernels,
        rtl=[_verilog(file) for file in (*kernels, f"{name}.v", *wrappers)],
        headers=[f"{name}_{of}.h" for of in ("registers", "host") if f"{name}_{of}.h" in files],
        host=[file for file in (f"{name}_host.c",) if file in files],
        bench=[_of_bench(file) for file in bench],
    )
    return f"{name}.core", text


def _verilog(file: str) -> str:
    """A file among Verilog: what tools are not given is included by it."""
    suffix = Path(file).suffix
    if suffix == ".v":
        return json.dumps(file)
    if suffix == ".sv":
        return _entry(file, file_type="systemVerilogSource")
    return _entry(file, is_include_file=True)


def _of_bench(file: str) -> str:
    kind = _TOOLS.get(Path(file).suffix)
    if kind:
        return _entry(file, file_type=kind)
    return _entry(file, copyto=str(Path(*Path(file).parts[1:])))


def _entry(file: str, **said: Any) -> str:
    """A file in a fileset; JSON is YAML."""
    return json.dumps({file: said})
