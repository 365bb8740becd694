"""Junk inside of a simulated design: at the head of every FIFO that is empty.

The Verilog that is delivered holds the last beat there, which hides that somebody uses it.
"""

from __future__ import annotations

import re
import zlib

_BITS = 32
"""Of ``stepgen_bench.junk``, which is drawn anew in every cycle, or X."""

_MODULE = re.compile(r"^module (?P<name>.*?) ?\(.*?\);\n(?P<body>.*?)^endmodule", re.M | re.S)
_STORE = re.compile(r"^  \S+ +store \($", re.M)
"""What a FIFO stores its beats in; where that has blocks by name, the payload leaves it in bits."""
_HEAD = re.compile(r"^  wire (?P<range>\[(?P<left>\d+):0\] )?r__payload;$", re.M)
_USE = re.compile(r"(?<![\\\w.$])r__payload\b")


def noisy(verilog: str) -> str:
    """A design whose empty FIFOs show junk at their heads in runs in which the bench says so.

    Parameters
    ----------
    verilog : str
        As `stepgen.emit.elaborate.verilog` writes it.
    """
    return _MODULE.sub(_of_module, verilog)


def _of_module(found: re.Match[str]) -> str:
    """A module as it is, but where it is a FIFO."""
    head = _HEAD.search(found["body"])
    if head is None or not _STORE.search(found["body"]):
        return found[0]
    declared = head["range"] or ""
    copies = -(-(int(head["left"] or 0) + 1) // _BITS)
    own = zlib.crc32(found["name"].encode())  # FIFOs show different bits
    junk = f"{{{copies}{{stepgen_bench.junk ^ {_BITS}'d{own}}}}}"
    held = r"\r__payload$held "
    shown = (
        f"  wire {declared}r__payload;\n"
        f"  wire {declared}{held};\n"
        f"  assign r__payload = r__valid || !stepgen_bench.set_junk ? {held} : {junk};"
    )
    at = found.start("body") - found.start()
    before, after = found[0][: at + head.start()], found[0][at + head.end() :]
    return before + shown + _USE.sub(lambda _: held, after)
