"""The units that can stand alone, as a table."""

from __future__ import annotations

from stepgen.hw.design.params import UnitParams, params_class
from stepgen.hw.units import load_all
from stepgen.pages.docstrings import first, of, table
from stepgen.report.resources import COLUMNS, measured

_WITH_A_BUS = ("axi", "load", "loader", "memory", "random_store", "store")
_PORTS = ("sink", "source")


COST = COLUMNS[:4]
"""Without LUT RAM, which is part of the LUTs."""


def alone() -> str:
    """Module, ports and what it does, of each."""
    kinds = [kind for kind in load_all() if kind not in (*_WITH_A_BUS, *_PORTS)]
    own = ("`stepgen.hw.units.….params`", "inputs", "outputs", "what it does")
    heads = (*own, *COST)
    return "\n".join(table(heads, (_row(params_class(kind)) for kind in kinds)))


def _row(params: type[UnitParams]) -> tuple[str, ...]:
    name = f"`{params.kind}.params.{params.__name__}`"
    ports = (_ports(params, "inputs"), _ports(params, "outputs"))
    return (name, *ports, first(of(params)["Summary"]), *measured(params.kind)[: len(COST)])


def _ports(params: type[UnitParams], side: str) -> str:
    ports = getattr(params, side)
    if isinstance(ports, property):
        return first(of(ports)["Summary"])
    return ", ".join(f"`{port}`" for port in ports)
