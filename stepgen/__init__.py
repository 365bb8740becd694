"""stepgen: streaming tensor programs as verified hardware.

``import stepgen as sg``, then build a `Graph`. Every operator is a function here under its own
name (``sg.partition``) and a method of `Stream`; functions for Map and Accum are in ``sg.fn``.
"""

from __future__ import annotations

import typing as _typing

from stepgen.tools import starting as _starting  # noqa: F401

# isort: split
from stepgen.ir.homes import HOMES as _homes

_homes.update(functions="stepgen.functions", operators="stepgen.ops")

if _typing.TYPE_CHECKING:
    from stepgen import frontend as frontend
    from stepgen.board.device import Device as Device
    from stepgen.cli.config import config as config
    from stepgen.commands.lanes import choose_lanes as choose_lanes
    from stepgen.commands.run import run as run
    from stepgen.commands.scenarios import time_scenarios as time_scenarios
    from stepgen.commands.simulate import simulate as simulate
    from stepgen.commands.synthesize import synthesize as synthesize
    from stepgen.commands.test import test as test
    from stepgen.commands.time import time as time
    from stepgen.commands.verilog import verilog as verilog
    from stepgen.compile.converting import convert_order as convert_order
    from stepgen.cosim.system import System as System
    from stepgen.ir.dims import Dim, dynamic, ragged, static
    from stepgen.ir.dtypes import (
        FLAG,
        Buffer,
        ElementType,
        Selector,
        Tile,
        TupleType,
        address,
        bf16,
        bool_,
        f32,
        int4,
        int8,
        int16,
        int32,
    )
    from stepgen.ir.errors import StepError
    from stepgen.ir.feedback import Feedback
    from stepgen.ir.fn import fn
    from stepgen.ir.function import Function
    from stepgen.ir.graph import Graph
    from stepgen.ir.itensor import Itensor
    from stepgen.ir.metrics import Metrics, metrics, selector_counts
    from stepgen.ir.stream import Node, Stream, StreamType
    from stepgen.ir.tensor import Tensor
    from stepgen.ir.text import load, save
    from stepgen.ops.accum import accum as accum
    from stepgen.ops.bufferize import bufferize as bufferize
    from stepgen.ops.concat import concat as concat
    from stepgen.ops.eager_merge import eager_merge as eager_merge
    from stepgen.ops.expand import expand as expand
    from stepgen.ops.flat_map import flat_map as flat_map
    from stepgen.ops.flatten import flatten as flatten
    from stepgen.ops.fork import fork as fork
    from stepgen.ops.linear_offchip_load import linear_offchip_load as linear_offchip_load
    from stepgen.ops.linear_offchip_store import linear_offchip_store as linear_offchip_store
    from stepgen.ops.map import map as map
    from stepgen.ops.partition import partition as partition
    from stepgen.ops.promote import promote as promote
    from stepgen.ops.random_offchip_load import random_offchip_load as random_offchip_load
    from stepgen.ops.random_offchip_store import random_offchip_store as random_offchip_store
    from stepgen.ops.reassemble import reassemble as reassemble
    from stepgen.ops.reshape import reshape as reshape
    from stepgen.ops.scan import scan as scan
    from stepgen.ops.split import split as split
    from stepgen.ops.streamify import streamify as streamify
    from stepgen.ops.unzip import unzip as unzip
    from stepgen.ops.zip import zip as zip
    from stepgen.program.program import example

__all__ = [
    "FLAG",
    "Buffer",
    "Dim",
    "ElementType",
    "Feedback",
    "Function",
    "Graph",
    "Itensor",
    "Metrics",
    "Node",
    "Selector",
    "StepError",
    "Stream",
    "StreamType",
    "Tensor",
    "Tile",
    "TupleType",
    "address",
    "bf16",
    "bool_",
    "dynamic",
    "example",
    "f32",
    "fn",
    "int4",
    "int8",
    "int16",
    "int32",
    "load",
    "metrics",
    "ragged",
    "save",
    "selector_counts",
    "static",
]

if not _typing.TYPE_CHECKING:
    _OPERATORS = (
        "accum bufferize concat eager_merge expand flat_map flatten fork "
        "linear_offchip_load linear_offchip_store map partition promote "
        "random_offchip_load random_offchip_store reassemble reshape scan split streamify "
        "unzip zip"
    )
    _NAMES = {
        "stepgen.ir.dims": "Dim dynamic ragged static",
        "stepgen.ir.dtypes": "FLAG Buffer ElementType Selector Tile TupleType address bf16 bool_ "
        "f32 int4 int8 int16 int32",
        "stepgen.ir.errors": "StepError",
        "stepgen.ir.feedback": "Feedback",
        "stepgen.ir.fn": "fn",
        "stepgen.ir.function": "Function",
        "stepgen.ir.graph": "Graph",
        "stepgen.compile.converting": "convert_order",
        "stepgen.ir.itensor": "Itensor",
        "stepgen.ir.metrics": "Metrics metrics selector_counts",
        "stepgen.ir.stream": "Node Stream StreamType",
        "stepgen.ir.tensor": "Tensor",
        "stepgen.ir.text": "load save",
        "stepgen.board.device": "Device",
        "stepgen.cli.config": "config",
        "stepgen.commands.lanes": "choose_lanes",
        "stepgen.commands.run": "run",
        "stepgen.commands.scenarios": "time_scenarios",
        "stepgen.commands.simulate": "simulate",
        "stepgen.commands.synthesize": "synthesize",
        "stepgen.commands.test": "test",
        "stepgen.commands.time": "time",
        "stepgen.commands.verilog": "verilog",
        "stepgen.cosim.system": "System",
        "stepgen.program.program": "example",
    }
    _HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
    _HOMES |= {name: f"stepgen.ops.{name}" for name in _OPERATORS.split()}

    def __getattr__(name: str) -> object:
        """What is here is imported when it is first asked for: a command starts sooner."""
        from importlib import import_module

        if name == "frontend":
            return import_module("stepgen.frontend")
        if name not in _HOMES:
            if name.startswith("_"):
                raise AttributeError(f"stepgen has no attribute {name!r}")
            from stepgen.ir.absent import remedy

            raise AttributeError(f"stepgen has no attribute {name!r}{remedy(name, _HOMES)}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        """Also what is imported later, for completion."""
        return sorted({*globals(), *_HOMES, "frontend"})
