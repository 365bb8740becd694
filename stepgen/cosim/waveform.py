"""Keeps temporaries and duplicates out of the waveforms of a design."""

from __future__ import annotations

import re

_DECLARATION = re.compile(
    r"^ *(?:wire|reg)(?: signed)?(?: \[[^\]]*\])? \\?(?P<name>[^ ;]+)"
    r" *(?:\[[^\]]*\])? *(?:=[^;]*)?;",
    re.MULTILINE,
)


def without_clutter(verilog: str) -> str:
    """Exclude temporaries, and payloads that are also there field by field, from waveforms.

    Parameters
    ----------
    verilog : str
        As Amaranth writes it: temporaries are called ``$12``, and of a payload ``x`` with fields
        there is also ``x.data``.

    Returns
    -------
    str
        The same design with Verilator's directives around those declarations.
    """

    def module(text: str) -> str:
        names = {m["name"] for m in _DECLARATION.finditer(text)}
        split = {name.rpartition(".")[0] for name in names if "." in name}

        def mark(found: re.Match[str]) -> str:
            if found["name"].startswith("$") or found["name"] in split:
                return f"/*verilator tracing_off*/{found[0]}/*verilator tracing_on*/"
            return found[0]

        return _DECLARATION.sub(mark, text)

    return "".join(module(part) for part in re.split(r"(?<=\nendmodule\n)", verilog))
