"""Modules around a design that give it the buses of others, and its address map as data."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from stepgen.emit.buses import axi_buses, inner_signals, streams
from stepgen.emit.interface import interface
from stepgen.hw.axi import Axi4, Axi4Lite
from stepgen.hw.design.registers import register_map
from stepgen.hw.design.table import Design
from stepgen.hw.names import verilog_name
from stepgen.ir.versions import stamped
from stepgen.tools.templates import fill

FORMAT = 1
"""Of the map."""


def wrapper(design: Design, kind: str) -> tuple[str, str]:
    """A module around a design, and the name of its file.

    Parameters
    ----------
    design : Design
    kind : str
        One of `stepgen.emit.wraps.WRAPS`.
    """
    outside = interface(design)
    inner_lite, inner_full = inner_signals(Axi4Lite(outside.csr_bits)), []
    if outside.memory:
        inner_full = inner_signals(Axi4(outside.memory.address_bits, outside.memory.data_bits))
    text = fill(
        f"wrap/{kind}.v.j2",
        name=outside.name,
        file=design.name,
        memory=outside.memory,
        csr_bits=outside.csr_bits,
        buses=axi_buses(design),
        inner_lite=[signal.name for signal in inner_lite],
        inner_full=[signal.name for signal in inner_full],
        inner=[s._replace(name=f"mem_{s.name}") for s in inner_full]
        + [s._replace(name=f"csr_{s.name}") for s in inner_lite],
        word_shift=(design.bus.bytes - 1).bit_length(),
        streams=streams(design, outside),
    )
    return f"{design.name}_{kind}.v", text


def system_map(design: Design) -> str:
    """What software has to know of a design, as JSON: registers, tensors, streams.

    Parameters
    ----------
    design : Design
    """
    outside = interface(design)
    fields: dict[str, Any] = {
        "design": design.name,
        "top": verilog_name(design.name),
        "hash": design.hash,
        **register_map(),
        "channel_names": list(outside.channels),
        "unit_names": list(outside.units),
        "tensors": {n: dataclasses.asdict(region) for n, region in design.regions.items()},
        "streams": [{"signal": port.signal, **dataclasses.asdict(port)} for port in outside.ports],
    }
    if outside.memory:
        bits = {"data_bits": outside.memory.data_bits, "address_bits": outside.memory.address_bits}
        fields["memory"] = bits
    return json.dumps(stamped(FORMAT, fields), indent=1) + "\n"
