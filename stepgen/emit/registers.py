"""The control registers for hosts: a C header, and the table of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from stepgen.hw.design.registers import (
    CHANNEL_BASE,
    CHANNEL_STRIDE,
    COUNTERS,
    END,
    MIN_ADDRESS_BITS,
    REGISTERS,
    Register,
)


def c_header(top: str, *, channels: Sequence[str] = (), units: Sequence[str] = ()) -> str:
    """The map as macros for C and C++.

    Parameters
    ----------
    top : str
        Name of the top module: in upper case, what all macros begin with.
    channels, units : sequence of str
        Names in the order of the design table, for the macros ``<TOP>_CHANNEL_NAMES`` and
        ``<TOP>_UNIT_NAMES``; these are left out where there are none.

    Returns
    -------
    str
        Contents of a ``.h`` file. Addresses are in bytes from the first of the ``csr_*`` port.
    """
    prefix = top.upper()
    lines = [
        f"/* Control registers of {top}, written by stepgen. Addresses are in bytes. */",
        "",
        f"#ifndef {prefix}_REGISTERS_H",
        f"#define {prefix}_REGISTERS_H",
        "",
        *(f"#define {prefix}_{line}" for register in REGISTERS for line in _macros(register)),
        f"#define {prefix}_END {END:#x}u /* behind the last of these */",
        f"#define {prefix}_MIN_ADDRESS_BITS {MIN_ADDRESS_BITS}u",
        "",
        "/* Counters of a channel, by its number in the order of the design table. */",
        f"#define {prefix}_CHANNEL_BASE {CHANNEL_BASE:#x}u",
        f"#define {prefix}_CHANNEL_STRIDE {CHANNEL_STRIDE}u",
        f"#define {prefix}_CHANNEL_COUNTERS {len(COUNTERS)}u",
    ]
    for counter in COUNTERS:
        name = f"{prefix}_CHANNEL_{counter.name.upper()}"
        address = f"{prefix}_CHANNEL_BASE + {prefix}_CHANNEL_STRIDE * (channel)"
        lines += [
            f"#define {name}(channel) \\",
            f"    ({address} + {counter.offset:#x}u) /* {counter.meaning} */",
        ]
    for what, names in (("CHANNEL", channels), ("UNIT", units)):
        if names:
            lines += ["", f"#define {prefix}_{what}S {len(names)}u"]
            listed = ", \\\n".join(f"    {json.dumps(name)}" for name in names)
            lines.append(f"#define {prefix}_{what}_NAMES {{ \\\n{listed} }}")
    return "\n".join([*lines, "", "#endif", ""])


def _macros(register: Register) -> Iterator[str]:
    """Names, values and meanings of a register's addresses and bits."""
    ends = ("_LOW", "_HIGH") if register.words == 2 else ("",)
    said = f"{register.access}: {register.meaning}" if register.meaning else register.access
    for end, offset in zip(ends, register.offsets, strict=True):
        yield f"{register.name.upper()}{end} {offset:#04x}u /* {said} */"
    for bit in register.bits:
        name = f"{register.name}_{bit.name}".upper()
        yield f"{name} {bit.mask:#x}u /* bit {bit.position}: {bit.meaning} */"


def markdown_table() -> str:
    """The map as the table of the documentation."""
    lines = ["| address | name | access | |", "|---|---|---|---|"]
    for register in REGISTERS:
        places = ", ".join(f"{offset:#04x}" for offset in register.offsets)
        meaning = register.meaning
        if register.words == 2:
            meaning += "; low and high word"
        bits = (f"bit {b.position} `{b.name}`: {b.meaning}" for b in register.bits)
        said = "; ".join(filter(None, (meaning, *bits)))
        lines.append(f"| {places} | `{register.name}` | {register.access} | {said} |")
    for counter in COUNTERS:
        place = f"{CHANNEL_BASE + counter.offset:#x} + {CHANNEL_STRIDE} n"
        lines.append(
            f"| {place} | `{counter.name}` of channel n | {counter.access} | {counter.meaning} |"
        )
    return "\n".join(lines)
