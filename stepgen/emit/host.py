"""A host library in C, of the registers and tensors of a design."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..hw.design.registers import COUNTERS
from ..hw.design.table import Design, Region
from ..hw.names import verilog_name
from ..ir.dtypes import STORED
from ..ir.errors import StepError
from ..tools.filling import fill


def host_library(design: Design) -> dict[str, str]:
    """Header and source by the names of their files.

    Parameters
    ----------
    design : Design

    Raises
    ------
    StepError
        If names of tensors are the same in upper case.
    """
    name = verilog_name(design.name)
    seen: dict[str, str] = {}
    for tensor in design.regions:
        if tensor.upper() in seen:
            raise StepError(
                f"a host library of {design.name} can't tell tensors {seen[tensor.upper()]} and "
                f"{tensor} apart, which differ in upper and lower case alone: rename one"
            )
        seen[tensor.upper()] = tensor
    values = {
        "name": name,
        "file": design.name,
        "prefix": name.upper(),
        "header": f"{design.name}_registers.h",
        "counters": COUNTERS,
        "tensors": [_tensor(tensor, region) for tensor, region in design.regions.items()],
    }
    return {f"{design.name}_host.{end}": fill(f"host/host.{end}.j2", **values) for end in "hc"}


def _tensor(name: str, region: Region) -> dict[str, Any]:
    """What the library knows of a tensor; columns of which several share a byte count as one."""
    element, told = STORED[region.element], dataclasses.asdict(region)
    rows, cols = region.tile
    told |= {"cols": region.cols // element.packed, "tile": (rows, cols // element.packed)}
    return {"name": name, "bytes": element.bytes} | told
