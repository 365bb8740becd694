"""Descriptions of a design folder for the tools of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stepgen.emit.fusesoc import core_file
from stepgen.emit.ipxact import component
from stepgen.emit.kernels import compiled
from stepgen.hw.design.table import Design
from stepgen.hw.names import verilog_name
from stepgen.ir.errors import StepError
from stepgen.program.design_folder import COMPONENT
from stepgen.tools.templates import fill


def check_packages(packages: Collection[str], wraps: Collection[str]) -> None:
    """Check that a folder will have what is to be packaged.

    Parameters
    ----------
    packages : collection of str
        Of `stepgen.emit.wraps.PACKAGES`.
    wraps : collection of str
        The wrappers that it will have.

    Raises
    ------
    StepError
        If it is not the one of a package.
    """
    if "vivado" in packages and "axi" not in wraps:
        has = f"this is {', '.join(wraps)}" if wraps else "there is none"
        raise StepError(f"the package for Vivado is of the AXI wrapper, {has}: give --wrap axi")


def packaged(
    design: Design,
    packages: Collection[str],
    files: Collection[str],
    kernels: Collection[str],
    bench: Collection[str],
) -> Iterator[tuple[str, str, str]]:
    """What each file is, its name and its text.

    Parameters
    ----------
    design : Design
    packages : collection of str
        Of `stepgen.emit.wraps.PACKAGES`.
    files : collection of str
        Names of the files in the folder.
    kernels : collection of str
        Those of Verilog kernels among them, in the order in which they are read.
    bench : collection of str
        Files of a test bench by their paths in the folder, where there is one.
    """
    if "fusesoc" in packages:
        yield "core file", *core_file(design, files, kernels, bench)
    if "vivado" in packages:
        read = compiled(kernels)
        verilog = [*read, f"{design.name}.v", f"{design.name}_axi.v"]
        included = [file for file in kernels if file not in read]
        yield "IP-XACT", COMPONENT, component(design, verilog, included)
        values = {"name": design.name, "hash": design.hash, "top": verilog_name(design.name)}
        script = fill("package/vivado.tcl.j2", files=[*verilog, *included], **values)
        yield "script for Vivado", f"{design.name}_vivado.tcl", script
