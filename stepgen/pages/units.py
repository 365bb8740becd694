"""The units that can stand alone, as a table."""

from __future__ import annotations

from ..hw.design.params import UnitParams, params_class
from ..hw.units import load_all
from .docstrings import first, of, table

_WITH_A_BUS = ("axi", "load", "memory", "random_store", "store")
_PORTS = ("sink", "source")


def alone() -> str:
    """Module, ports and what it does, of each."""
    kinds = [kind for kind in load_all() if kind not in (*_WITH_A_BUS, *_PORTS)]
    heads = ("`stepgen.hw.units.….params`", "inputs", "outputs", "what it does")
    return "\n".join(table(heads, (_row(params_class(kind)) for kind in kinds)))


def _row(params: type[UnitParams]) -> tuple[str, str, str, str]:
    name = f"`{params.kind}.params.{params.__name__}`"
    return name, _ports(params, "inputs"), _ports(params, "outputs"), first(of(params)["Summary"])


def _ports(params: type[UnitParams], side: str) -> str:
    ports = getattr(params, side)
    if isinstance(ports, property):
        return first(of(ports)["Summary"])
    return ", ".join(f"`{port}`" for port in ports)
