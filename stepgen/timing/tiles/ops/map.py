"""map: computes one element at a time; sends it before its operands are popped."""

from __future__ import annotations

import numpy as np

from stepgen.ir.dtypes import Selector, address
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.addresses import OPERATIONS, PAIR, calculated, refused
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT
from stepgen.timing.tiles import costs, operands
from stepgen.timing.tiles.actor import (
    COMMON,
    IDLE,
    SPAN_LENGTH_BITS,
    SPAN_START_BITS,
    TILED,
    area,
    fresh,
    is_done,
    later,
    moved,
    rows_of,
    send_until,
    span_length,
    span_start,
    span_word,
    take,
    value,
)
from stepgen.timing.tiles.program import TileProgram

P = record(
    *COMMON._fields,
    "out",
    "cost",
    "number",
    "constant",
    "consumers",
    "operands",
    "arity",
    "passes_at",
    "passed",
    "count",
    "ins",
)
CHOSEN, TILE, SPAN_END, CALCULATED = -3, -2, -1, 0
"""What is made: a selector of the consumer that an address names, a tile, the last address of a
range, or the number of an operation of `addresses`, whose number is that of the operation."""
LIMIT = (1 << 49) - 1
"""What larger addresses become, for which a beat has no room."""


@helper
def operand(M: Memory, a: int, n: int) -> int:
    """Operand `n`, 0 for none."""
    return operands.operand(M, M[a + P.operands], M[a + P.arity], n)


@helper
def begin(M: Memory, a: int, t: int) -> int:
    """Start on the next element if all operands are there; else what to wait for."""
    wait = all_ready(M, a + P.ins, M[a + P.count], t)
    if wait != READY:
        return wait
    start, rows, duration = t, 1, 0
    if kind_of(head(M, M[a + P.ins])) == VALUE:
        w = M[a + P.cost]
        x, y, z = operand(M, a, 0), operand(M, a, 1), operand(M, a, 2)
        if M[a + P.number] == SPAN_END:
            duration = M[w + costs.COST.fixed]
        else:
            made = costs.result(M, w, x, y, z)
            out, rows = area(made), max(1, rows_of(made))
            if M[w + costs.COST.form] == costs.PRODUCT:
                start = moved(M, M[a + P.ins + 1], t)
            total, useful = costs.flops(M, w, x, y, z)
            M[a + P.useful] += useful
            M[a + P.padding] += total - useful
            duration = costs.cycles(M, w, total, area(x), area(y), area(z), out)
    end = max(start + duration, moved(M, M[a + P.ins], t))
    M[a + P.passes_at] = start + (end - start) // rows if M[M[a + P.out] + TILED.rate] else end
    M[a + P.passed], M[a + P.busy_until] = 0, end
    return later(M, t, M[a + P.passes_at])


@helper
def empty_range(M: Memory, a: int) -> bool:
    """Whether the operand is an empty range of addresses."""
    return kind_of(head(M, M[a + P.ins])) == VALUE and span_length(operand(M, a, 0)) == 0


@helper
def numbers(M: Memory, a: int) -> tuple[int, int]:
    """The two numbers that are computed with."""
    first = operands.word(M, M[a + P.operands], 0)
    constant = M[a + P.arity] == 1
    return first, M[a + P.constant] if constant else operands.word(M, M[a + P.operands], 1)


@helper
def refuses(M: Memory, a: int) -> bool:
    """Whether the operands are an empty range, or addresses without a result."""
    if M[a + P.number] == SPAN_END:
        return empty_range(M, a)
    if M[a + P.number] == CHOSEN and kind_of(head(M, M[a + P.ins])) == VALUE:
        return operands.word(M, M[a + P.operands], 0) >= M[a + P.consumers]
    if M[a + P.number] < CALCULATED or kind_of(head(M, M[a + P.ins])) != VALUE:
        return False
    first, second = numbers(M, a)
    if M[a + P.number] == PAIR:
        return first >> SPAN_START_BITS > 0 or second >> SPAN_LENGTH_BITS > 0
    return refused(M[a + P.number], first, second, LIMIT)


@helper
def pass_on(M: Memory, a: int, t: int) -> None:
    """Push the result; if rows are sent as they are computed, together with its first row."""
    beat = head(M, M[a + P.ins])
    if kind_of(beat) == VALUE:
        x, y, z = operand(M, a, 0), operand(M, a, 1), operand(M, a, 2)
        if M[a + P.number] == SPAN_END:
            made = span_start(x) + span_length(x) - 1
        elif M[a + P.number] == CHOSEN:
            at = operands.word(M, M[a + P.operands], 0) * M[a + P.consumers]
            made = M[a + P.constant] + at
        elif M[a + P.number] >= CALCULATED:
            first, second = numbers(M, a)
            made = calculated(M[a + P.number], first, second, LIMIT)
            if M[a + P.number] == PAIR:
                made = span_word(first, second)
        else:
            made = costs.result(M, M[a + P.cost], x, y, z)
        beat = value(made, stop_of(beat))
    send_until(M, a, M[a + P.out], t, beat, M[a + P.busy_until])
    M[a + P.passed] = 1


@step
def apply(M: Memory, a: int, t: int) -> int:
    if M[a + P.busy_until] == IDLE:
        wait = begin(M, a, t)
        if M[a + P.busy_until] == IDLE:
            return wait
    if not M[a + P.passed]:
        if t < M[a + P.passes_at]:
            return later(M, t, M[a + P.passes_at])
        wait = room(M, M[a + P.out], t)
        if wait != READY:
            return wait
        if refuses(M, a):
            M[FAULT] = a
            return NEVER
        M[a + P.busy_until] += t - M[a + P.passes_at]
        pass_on(M, a, t)
    if t < M[a + P.busy_until]:
        return later(M, t, M[a + P.busy_until])
    beat = head(M, M[a + P.ins])
    for n in range(M[a + P.count]):
        take(M, M[a + P.ins + n], t)
    M[a + P.busy_until] = IDLE
    if is_done(beat):
        return NEVER
    begin(M, a, t)
    return acted(M, t) if M[a + P.busy_until] == IDLE else later(M, t, M[a + P.passes_at])


def build(node: Node, to: TileProgram) -> None:
    """The result is a tile, a selector that is given, or an address."""
    function = node.attrs["fn"]
    number, constant = SPAN_END if function.ends_range else TILE, None
    computed = function.calculation(*(stream.dtype for stream in node.inputs))
    if computed:
        number, constant = OPERATIONS[computed[0]], computed[1]
    dtype, consumers = node.outputs[0].dtype, 0
    if isinstance(dtype, Selector) and node.inputs[0].dtype == address[1, 1]:
        number, consumers = CHOSEN, dtype.n
        bits = np.eye(consumers, dtype=np.int64).reshape(-1)
        constant = to.reserve(bits) if consumers > 1 else 1  # a bit is its own word
    ins, out = to.inputs(node), to.output(node)
    cost, (first, arity) = to.cost(node, -1), operands.build(node, to)
    own = fresh(
        P,
        out=out,
        cost=cost,
        number=number,
        constant=min(constant or 0, LIMIT),
        consumers=consumers,
        operands=first,
        arity=arity,
        passes_at=0,
        passed=0,
        count=len(ins),
        ins=ins,
    )
    actor = to.add(node, apply, own, reads=ins, writes=[out])
    needs = "makes addresses of at least 0" if computed else "needs ranges of at least 1"
    if number == CHOSEN:
        needs = f"needs numbers of consumers below {consumers}"
    if number == PAIR:
        needs = (
            f"is timed on tiles for starts below {1 << SPAN_START_BITS} and lengths below "
            f"{1 << SPAN_LENGTH_BITS}"
        )
    to.faults[actor] = StepError(f"{node.name} ({node.where}): {function} {needs}")
