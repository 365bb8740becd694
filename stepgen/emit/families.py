"""Verilog of a design for one family of FPGAs: its hard blocks, and models of them to simulate."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stepgen.emit.elaborate import verilog
from stepgen.hw.design.table import Design
from stepgen.tools.templates import fill


def models(family: str) -> str:
    """Modules in Verilog that behave as the blocks of a family do."""
    return fill(f"models/{family}.v.j2")


def for_families(design: Design, families: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """What is written beside the Verilog for any device: what it is, its file, and its content.

    Parameters
    ----------
    design : Design
    families : collection of str
        Of `stepgen.emit.wraps.FAMILIES`.
    """
    for family in families:
        name = f"{design.name}_{family}"
        yield f"verilog for {family}", f"{name}.v", verilog(design, family=family)
        yield f"models of {family}", f"{name}_models.v", models(family)
