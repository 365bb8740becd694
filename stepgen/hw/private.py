"""All that is used of Amaranth beside what it documents.

``pyproject.toml`` names the one version in which these were read. ``tests/test_private.py`` has a
test for each, which says what to look at where another version has changed it.
"""

import re
from collections.abc import Iterator

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Fragment, MemoryData, MemoryInstance

from stepgen.hw.yosys import run
from stepgen.ir.garbage import no_searches

__all__ = ["elaborated", "memories", "module", "reused", "submodule", "yosys"]

_PORT = re.compile(
    r"^  wire (?:width (\d+) )?.*\b(?:input|output|inout) \d+ .*\\(\S+)$", re.MULTILINE
)
_NO_BITS = re.compile(r"^(  wire width 0) (?:input|output|inout) \d+ ", re.MULTILINE)
_ELEMENT = re.compile(r"(?<=\s)\\[^\s\[\]\"]+(?:\[\d+\])+(?=\s)")
_TOP = "attribute \\top 1\n"


def yosys():
    """Amaranth's Yosys: ``version()``, and ``run(arguments, input)`` for its output.

    `amaranth._toolchain.yosys`: `find_yosys` and `_BuiltinYosys._process_result`
    """
    from amaranth._toolchain.yosys import _BuiltinYosys, find_yosys

    found = find_yosys(lambda version: version >= (0, 40))
    if found is not _BuiltinYosys:
        return found

    class InProcess(_BuiltinYosys):
        @classmethod
        def run(cls, args, stdin=""):
            return cls._process_result(*run(args, stdin), ignore_warnings=False, src_loc_at=0)

    return InProcess


def elaborated(top: Elaboratable, platform=None) -> Fragment:
    """A circuit in Amaranth's own form, with all that is in it: `amaranth.hdl.Fragment`."""
    return Fragment.get(top, platform)


def memories(circuit: Fragment) -> Iterator[MemoryData]:
    """All memories in a circuit, those of its parts included.

    `Fragment.subfragments` and `MemoryInstance._data`
    """
    if isinstance(circuit, MemoryInstance):
        yield circuit._data
    for part, *_ in circuit.subfragments:
        yield from memories(part)


def reused(part: Elaboratable) -> None:
    """Say that a part is not elaborated on purpose: `Elaboratable._MustUse__silence`."""
    part._MustUse__silence = True


def module(circuit: Elaboratable, name: str, platform=None, ports=None) -> str:
    """A circuit in RTLIL, as the top module: `amaranth.back.rtlil.convert`.

    Amaranth calls an element of an array ``x[1]``. Yosys calls the second bit of a signal ``x`` the
    same where ABC reads and writes it, and then stops or takes one for the other. So elements have
    names of letters, digits and underscores: ``x__1``.
    """
    with no_searches():
        text = rtlil.convert(circuit, name=name, platform=platform, ports=ports, emit_src=False)
    return _ELEMENT.sub(lambda found: found[0].replace("[", "__").replace("]", ""), text)


def submodule(circuit: Elaboratable, name: str, platform=None) -> tuple[str, dict[str, int]]:
    """A circuit in RTLIL that others instantiate, and the bits of the ports that it has got.

    The text of `module`: the attribute of the top, and the declarations of ports. Ports without
    bits are left out: in Verilog they would have the range [-1:0], which is two bits.
    """
    text = _NO_BITS.sub(r"\1 ", module(circuit, name, platform).replace(_TOP, ""))
    own = text[text.index(f"module \\{name}\n") :]
    ports = _PORT.findall(own[: own.index("\nend\n")])
    return text, {port: int(width or 1) for width, port in ports}
