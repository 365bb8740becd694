"""Which modules a design may have around it, packages, and families, for the command line."""

from __future__ import annotations

from typing import Literal, get_args

Wrap = Literal["axi", "wishbone"]

WRAPS: tuple[Wrap, ...] = get_args(Wrap)
"""AXI4, AXI4-Lite and AXI4-Stream; Wishbone with streams as those of LiteX."""

Package = Literal["fusesoc", "vivado"]

PACKAGES: tuple[Package, ...] = get_args(Package)
"""A core file of FuseSoC; an IP of Vivado."""

Family = Literal["ecp5", "gowin", "ice40", "xilinx"]

FAMILIES: tuple[Family, ...] = get_args(Family)
"""FPGAs whose block RAM and multipliers circuits may name, with all their registers."""
