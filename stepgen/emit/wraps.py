"""Which modules a design may have around it, and which packages, for the command line."""

from __future__ import annotations

WRAPS = ("axi", "wishbone")
"""AXI4, AXI4-Lite and AXI4-Stream; Wishbone with streams as those of LiteX."""

PACKAGES = ("fusesoc", "vivado")
"""A core file of FuseSoC; an IP of Vivado."""
