"""Cycle model of calculate: a beat of every operand becomes one."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.calculate.params import Calculate
from stepgen.ir.wire import VALUE, number_limit
from stepgen.timing.addresses import OPERATIONS, calculated, refused
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("y", "operation", "constant", "limit", "next", "operands", "columns", "x")
# The operands' channels lie one after the other from `x`, their addresses in a beat in `columns`.
# `next` is the address of the contents of the next row, 0 where results are computed.


@helper
def number(M: Memory, a: int, operand: int, n: int) -> int:
    """Number `n` of an operand, or the constant."""
    if operand == M[a + P.operands]:
        return M[a + P.constant]
    beat, columns = head(M, M[a + P.x + operand]), M[M[a + P.columns] + operand]
    return aux_of(beat) if columns == 1 else M[aux_of(beat) + n % columns]


@step
def calculate(M: Memory, a: int, t: int) -> int:
    count, operation, limit = M[a + P.operands], M[a + P.operation], M[a + P.limit]
    wait = all_ready(M, a + P.x, count, t)
    if wait != READY:
        return wait
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.x])
    if kind_of(beat) == VALUE:
        for n in range(M[M[a + P.columns] + count]):
            one, other = number(M, a, 0, n), number(M, a, 1, n)
            if refused(operation, one, other, limit):
                return fault(M, a, t, one)
        made = calculated(operation, number(M, a, 0, 0), number(M, a, 1, 0), limit)
        if M[a + P.next]:
            made = M[M[a + P.next]]
            M[a + P.next] += 1
        beat = make_beat(VALUE, stop_of(beat), 0, made)
    for n in range(count):
        pop(M, M[a + P.x + n], t)
    push(M, M[a + P.y], t, beat)
    return acted(M, t)


def build(unit: Unit, params: Calculate, layout: DesignLayout) -> None:
    """One actor; a multiplication is the output channel's delay."""
    x = [layout.channel(name) for name in unit.inputs.values()]
    y = layout.channel(unit.outputs["y"])
    bits = layout.design.channel[unit.inputs[params.inputs[0]]].bits
    limit = number_limit(bits)
    own = packed(
        P,
        y=y,
        operation=OPERATIONS[params.operation],
        constant=params.clipped(bits),
        limit=limit,
        next=layout.decided(unit) if params.decides else 0,
        operands=len(x),
        columns=layout.reserve([*params.columns, params.made]),
        x=x,
    )
    actor = layout.actor(unit.name, "calculate", calculate, own, reads=x, writes=[y])
    layout.reports(
        actor,
        unit,
        lambda number: (
            f"{unit.name} gets the number {number}, and takes numbers below {limit}"
            + (" and makes none below 0" if params.operation == "difference" else "")
        ),
    )
