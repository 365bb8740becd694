"""map: works on one element at a time and passes it on before it lets go of its operands."""

from ....ir.dtypes import Tile
from ....ir.errors import StepError
from ....ir.stream import Node
from .. import costs, operands
from ..actor import (
    BUSY_UNTIL,
    FAULT,
    IDLE,
    NEVER,
    PADDED,
    PORTS,
    RATE,
    READY,
    USEFUL,
    VALUE,
    acted,
    area,
    head,
    helper,
    is_done,
    kind_of,
    later,
    moved,
    ready,
    room,
    rows_of,
    send_until,
    span_length,
    span_start,
    step,
    stop_of,
    take,
    value,
)
from ..program import Program

OUT, COST, NUMBER, OPERANDS, ARITY, PASSES_AT, PASSED, COUNT, INS = range(PORTS, PORTS + 9)
TILE, SPAN_END = range(2)


@helper
def operand(M, a, n):  # type: ignore[no-untyped-def]
    """What operand `n` carries, 0 where there is none."""
    return operands.operand(M, M[a + OPERANDS], M[a + ARITY], n)


@helper
def begin(M, a, t):  # type: ignore[no-untyped-def]
    """Start on the next element if all operands are there; how to wait otherwise."""
    for n in range(M[a + COUNT]):
        wait = ready(M, M[a + INS + n], t)
        if wait != READY:
            return wait
    start, rows, duration = t, 1, 0
    if kind_of(head(M, M[a + INS])) == VALUE:
        w = M[a + COST]
        x, y, z = operand(M, a, 0), operand(M, a, 1), operand(M, a, 2)
        if M[a + NUMBER] != TILE:
            duration = M[w + costs.FIXED]
        else:
            made = costs.result(M, w, x, y, z)
            out, rows = area(made), max(1, rows_of(made))
            if M[w + costs.FORM] == costs.PRODUCT:
                start = moved(M, M[a + INS + 1], t)
            total, useful = costs.flops(M, w, x, y)
            M[a + USEFUL] += useful
            M[a + PADDED] += total - useful
            duration = costs.cycles(M, w, total, area(x), area(y), area(z), out)
    end = max(start + duration, moved(M, M[a + INS], t))
    M[a + PASSES_AT] = start + (end - start) // rows if M[M[a + OUT] + RATE] else end
    M[a + PASSED], M[a + BUSY_UNTIL] = 0, end
    return later(M, t, M[a + PASSES_AT])


@helper
def empty_range(M, a):  # type: ignore[no-untyped-def]
    """Whether the operand is a range of addresses without any."""
    return kind_of(head(M, M[a + INS])) == VALUE and span_length(operand(M, a, 0)) == 0


@helper
def pass_on(M, a, t):  # type: ignore[no-untyped-def]
    """Push what the operands make; where rows are passed on as they are made, the first of them."""
    beat = head(M, M[a + INS])
    if kind_of(beat) == VALUE:
        x, y, z = operand(M, a, 0), operand(M, a, 1), operand(M, a, 2)
        if M[a + NUMBER] == SPAN_END:
            made = span_start(x) + span_length(x) - 1
        else:
            made = costs.result(M, M[a + COST], x, y, z)
        beat = value(made, stop_of(beat))
    send_until(M, a, M[a + OUT], t, beat, M[a + BUSY_UNTIL])
    M[a + PASSED] = 1


@step
def apply(M, a, t):  # type: ignore[no-untyped-def]
    if M[a + BUSY_UNTIL] == IDLE:
        wait = begin(M, a, t)
        if M[a + BUSY_UNTIL] == IDLE:
            return wait
    if not M[a + PASSED]:
        if t < M[a + PASSES_AT]:
            return later(M, t, M[a + PASSES_AT])
        wait = room(M, M[a + OUT], t)
        if wait != READY:
            return wait
        if M[a + NUMBER] == SPAN_END and empty_range(M, a):
            M[FAULT] = a
            return NEVER
        M[a + BUSY_UNTIL] += t - M[a + PASSES_AT]
        pass_on(M, a, t)
    if t < M[a + BUSY_UNTIL]:
        return later(M, t, M[a + BUSY_UNTIL])
    beat = head(M, M[a + INS])
    for n in range(M[a + COUNT]):
        take(M, M[a + INS + n], t)
    M[a + BUSY_UNTIL] = IDLE
    if is_done(beat):
        return NEVER
    begin(M, a, t)
    return acted(M, t) if M[a + BUSY_UNTIL] == IDLE else later(M, t, M[a + PASSES_AT])


def build(node: Node, to: Program) -> None:
    """A tile, or an address worked out from a range."""
    function = node.attrs["fn"]
    number = SPAN_END if function.name == "span_end" else TILE
    tile = node.outputs[0].dtype
    assert isinstance(tile, Tile)
    ins, out = to.inputs(node), to.output(node)
    own = [out, to.cost(node, -1), number, *operands.build(node, to), 0, 0, len(ins), *ins]
    actor = to.add(node, apply, own, reads=ins, writes=[out])
    needs = f"{function} needs ranges of at least 1"
    to.faults[actor] = StepError(f"{node.name} ({node.where}): {needs}")
