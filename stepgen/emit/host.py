"""A host library in C, of the registers and tensors of a design."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from stepgen.hw.design.registers import COUNTERS, NUMBER_BITS
from stepgen.hw.design.table import Design, Region
from stepgen.hw.names import verilog_name
from stepgen.ir.dtypes import STORED
from stepgen.ir.errors import StepError
from stepgen.tools.templates import fill


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
                f"a host library can't have both tensors {seen[tensor.upper()]} and "
                f"{tensor}, whose names differ only in upper and lower case: rename one"
            )
        seen[tensor.upper()] = tensor
    values = {
        "name": name,
        "file": design.name,
        "prefix": name.upper(),
        "header": f"{design.name}_registers.h",
        "counters": COUNTERS,
        "number_bits": NUMBER_BITS,
        "errors": _errors(design),
        "tensors": [_tensor(tensor, region) for tensor, region in design.regions.items()],
    }
    return {f"{design.name}_host.{end}": fill(f"host/host.{end}.j2", **values) for end in "hc"}


def _errors(design: Design) -> list[dict[str, Any]]:
    """What errors say, by code and cause: the text before a number and the one behind it, if any.

    Of each code the one without a cause comes last, for causes that are not there.
    """
    found = []
    for code, unit in enumerate(design.units, 1):
        said = unit.params.errors(unit, design.seen_by(unit))
        for cause in sorted(said, reverse=True):
            before, *after = (json.dumps(part) for part in said[cause].split("{}"))
            found.append({"code": code, "cause": cause, "before": before, "after": after})
    return found


def _tensor(name: str, region: Region) -> dict[str, Any]:
    """What the library knows of a tensor; columns of which several share a byte count as one."""
    element, fields = STORED[region.element], dataclasses.asdict(region)
    rows, cols = region.tile
    fields |= {"cols": region.cols // element.packed, "tile": (rows, cols // element.packed)}
    return {"name": name, "bytes": element.bytes} | fields
