"""Looks at the beats of every channel of a simulated design: fields that mean nothing are zero.

Ports are compared bit by bit; what is wrong in a field that no unit behind it reads would be seen
nowhere else. ``docs/hardware-stream.md`` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stepgen.hw.design.table import Channel
from stepgen.ir.wire import BARE, DONE, KIND_BITS, VALUE


class Formed(NamedTuple):
    """A channel whose beats are looked at.

    Attributes
    ----------
    name : str
    fifo : str
        Hierarchical name in the bench.
    width : int
        Bits of a payload.
    data, above : int
        Its first bits of data, and of data above the level of an empty token.
    lanes : int
    """

    name: str
    fifo: str
    width: int
    data: int
    above: int
    lanes: int

    def wrong(self, payload: str) -> str:
        """Whether a payload breaks a rule, as Verilog."""
        kind, top = f"{payload}[{KIND_BITS - 1}:0]", self.width - 1
        rules = [f"{kind} > {max(VALUE, BARE, DONE)}"]
        if self.width > KIND_BITS:
            rules.append(f"{kind} == {DONE} && |{payload}[{top}:{KIND_BITS}]")
        if self.width > self.above:
            rules.append(f"{kind} == {BARE} && |{payload}[{top}:{self.above}]")
        if not self.lanes and self.width > self.data:
            rules.append(f"{kind} == {VALUE} && |{payload}[{top}:{self.data}]")
        return " || ".join(f"({rule})" for rule in rules)


def formed(channels: Iterable[Channel]) -> list[Formed]:
    """The channels with beats; raw ones have words of any bits."""
    found = []
    for c in channels:
        if c.rank is not None:
            data = KIND_BITS + c.stop_bits
            fifo = f"dut.accelerator.\\fifo_{c.name} "
            found.append(Formed(c.name, fifo, c.width, data, data + c.stop_bits, c.lanes))
    return found
