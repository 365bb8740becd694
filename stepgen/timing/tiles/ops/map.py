"""map: works on one element at a time and passes it on before it lets go of its operands."""

from ....ir.dtypes import Tile
from ....ir.errors import StepError
from ....ir.stream import Node
from .. import costs, operands
from ..actor import (
    BUSY_UNTIL,
    FAULT,
    IDLE,
    PADDED,
    PORTS,
    READY,
    USEFUL,
    VALUE,
    acted,
    area,
    head,
    inline,
    is_done,
    kind_of,
    later,
    ready,
    room,
    send,
    step,
    stop_of,
    take,
    value,
)
from ..program import Program

OUT, COST, NUMBER, OPERANDS, ARITY, COUNT, INS = range(PORTS, PORTS + 7)
SPAN_LENGTH_BITS = 20
TILE, SPAN_END = range(2)


@inline
def operand(M, a, n):  # type: ignore[no-untyped-def]
    """What operand `n` carries, 0 where there is none."""
    return operands.operand(M, M[a + OPERANDS], M[a + ARITY], n)


@inline
def begin(M, a, t):  # type: ignore[no-untyped-def]
    """Start on the next element if all operands are there; how to wait otherwise."""
    for n in range(M[a + COUNT]):
        wait = ready(M, M[a + INS + n], t)
        if wait != READY:
            return wait
    duration = 0
    if kind_of(head(M, M[a + INS])) == VALUE:
        w = M[a + COST]
        x, y, z = operand(M, a, 0), operand(M, a, 1), operand(M, a, 2)
        if M[a + NUMBER] != TILE:
            duration = M[w + costs.FIXED]
        else:
            out = area(costs.result(M, w, x, y, z))
            total, useful = costs.flops(M, w, x, y)
            M[a + USEFUL] += useful
            M[a + PADDED] += total - useful
            duration = costs.cycles(M, w, total, area(x), area(y), area(z), out)
    M[a + BUSY_UNTIL] = t + duration
    return later(M, t, t + duration)


@step
def apply(M, a, t):  # type: ignore[no-untyped-def]
    if M[a + BUSY_UNTIL] == IDLE:
        wait = begin(M, a, t)
        if M[a + BUSY_UNTIL] == IDLE:
            return wait
    if t < M[a + BUSY_UNTIL]:
        return later(M, t, M[a + BUSY_UNTIL])
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + INS])
    if kind_of(beat) == VALUE:
        x, y, z = operand(M, a, 0), operand(M, a, 1), operand(M, a, 2)
        if M[a + NUMBER] == SPAN_END:
            if x & ((1 << SPAN_LENGTH_BITS) - 1) == 0:
                M[FAULT] = a
                return -2
            made = (x >> SPAN_LENGTH_BITS) + (x & ((1 << SPAN_LENGTH_BITS) - 1)) - 1
        else:
            made = costs.result(M, M[a + COST], x, y, z)
        send(M, a, M[a + OUT], t, value(made, stop_of(beat)))
    else:
        send(M, a, M[a + OUT], t, beat)
    for n in range(M[a + COUNT]):
        take(M, M[a + INS + n], t)
    M[a + BUSY_UNTIL] = IDLE
    if is_done(beat):
        return -2
    begin(M, a, t)
    return acted(M, t) if M[a + BUSY_UNTIL] == IDLE else later(M, t, M[a + BUSY_UNTIL])


def build(node: Node, to: Program) -> None:
    """A tile, or an address worked out from a range."""
    function = node.attrs["fn"]
    number = SPAN_END if function.name == "span_end" else TILE
    tile = node.outputs[0].dtype
    assert isinstance(tile, Tile)
    ins, out = to.inputs(node), to.output(node)
    own = [out, to.cost(node, -1), number, *operands.build(node, to), len(ins), *ins]
    actor = to.add(node, apply, own, reads=ins, writes=[out])
    needs = f"{function} needs ranges of at least 1"
    to.faults[actor] = StepError(f"{node.name} ({node.where}): {needs}")
