"""flat_map: sends the pieces of an element, one per cycle; pops the element with the last."""

from __future__ import annotations

from stepgen.ir.dtypes import Selector, bits_set
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT
from stepgen.timing.tiles.actor import (
    bare,
    cols_of,
    fresh,
    is_done,
    later,
    moved,
    pad_cols_of,
    pad_rows_of,
    rows_of,
    span_length,
    span_start,
    take,
    tile_word,
    value,
)
from stepgen.timing.tiles.cutting import NONE, NUMBER, PIECE, by_type, entry
from stepgen.timing.tiles.holding import HOLDING, close, put
from stepgen.timing.tiles.program import TileProgram

P = record(*HOLDING._fields, "x", "flags", "rank", "kind", "count", "piece", "bits", "hot", "began")
NO_FLAGS = 0
BY_ROWS, BY_COLS, BY_TYPE, OF_SELECTOR, OF_ADDRESS = range(5)
OF_RANGE, FIRST_OF_RANGE, LAST_OF_RANGE, BITS_SET = range(5, 9)
"""`BY_TYPE` is for functions of users' own: `count` is the address of a table of `cutting`. Of
`BY_COLS` it is the columns of a piece, of ranges the least length."""


@helper
def pieces(M: Memory, a: int, x: int) -> int:
    """Number of pieces of an element."""
    kind = M[a + P.kind]
    if kind == BY_ROWS:
        return rows_of(x)
    if kind == BY_COLS:
        return cols_of(x) // M[a + P.count]
    if kind == BY_TYPE:
        return M[entry(M, M[a + P.count], x) + NUMBER]
    if kind in (OF_SELECTOR, OF_ADDRESS):
        return M[a + P.hot] * M[a + P.count]
    if kind == BITS_SET and M[a + P.count] == 1:
        return x
    if kind == BITS_SET:
        found = 0
        for n in range(M[a + P.count]):
            found += M[x + n]
        return found
    return span_length(x)


@helper
def piece(M: Memory, a: int, x: int, i: int) -> int:
    """Piece `i` of an element."""
    kind = M[a + P.kind]
    if kind == BY_ROWS:
        padding = i >= rows_of(x) - pad_rows_of(x)
        return tile_word(1, cols_of(x), int(padding), pad_cols_of(x))
    if kind == BY_COLS:
        cols = M[a + P.count]
        spare = max(0, min(cols, (i + 1) * cols - (cols_of(x) - pad_cols_of(x))))
        return tile_word(rows_of(x), cols, pad_rows_of(x), spare)
    if kind == BY_TYPE:
        return M[entry(M, M[a + P.count], x) + PIECE]
    if kind == OF_SELECTOR:
        n, passed = 0, i // M[a + P.count]
        while M[a + P.bits] > 1 and (M[x + n] == 0 or passed > 0):
            passed -= M[x + n]
            n += 1
        return n * M[a + P.count] + i % M[a + P.count]
    if kind == OF_ADDRESS:
        return x * M[a + P.count] + i
    if kind == OF_RANGE:
        return span_start(x) + i
    if kind == BITS_SET and M[a + P.count] == 1:
        return 1
    if kind == BITS_SET:
        n, found = -1, -1
        while found < i:
            n += 1
            found += M[x + n]
        return M[a + P.bits] + n * M[a + P.count]
    alone = i == 0 if kind == FIRST_OF_RANGE else i + 1 == pieces(M, a, x)
    return M[a + P.bits] + (0 if alone else 2)


@helper
def misfit(M: Memory, a: int, x: int) -> bool:
    """Whether the function does not accept an element."""
    kind = M[a + P.kind]
    if kind in (OF_RANGE, FIRST_OF_RANGE, LAST_OF_RANGE):
        return pieces(M, a, x) < M[a + P.count]
    if kind == BY_TYPE:
        return entry(M, M[a + P.count], x) == NONE
    if kind == OF_SELECTOR:
        found = x if M[a + P.bits] == 1 else 0
        for n in range(M[a + P.bits] if M[a + P.bits] > 1 else 0):
            found += M[x + n]
        return found != M[a + P.hot]
    return False


@step
def cut(M: Memory, a: int, t: int) -> int:
    x, flags, rank = M[a + P.x], M[a + P.flags], M[a + P.rank]
    wait = can_pass(M, x, M[a + P.out], t)
    if wait != READY:
        return wait
    if flags != NO_FLAGS:
        wait = ready(M, flags, t)
        if wait != READY:
            return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    if kind != VALUE:
        sent = bare(low_of(beat) + rank, stop + rank) if kind == BARE else beat
        if put(M, a, t, sent, True):
            take(M, x, t)
            if flags != NO_FLAGS:
                take(M, flags, t)
            if is_done(beat):
                return NEVER
        return acted(M, t)
    if misfit(M, a, aux_of(beat)):
        M[FAULT] = a
        return NEVER
    count, i = pieces(M, a, aux_of(beat)), M[a + P.piece]
    if i == 0:
        M[a + P.began] = t
    comes = M[a + P.began] + (moved(M, x, t) - M[a + P.began]) * i // max(1, count - 1)
    if t < comes and moved(M, x, t) > t:
        return later(M, t, comes)
    ends = i + 1 >= count
    dropped = count == 0 or (flags != NO_FLAGS and aux_of(head(M, flags)) != 0)
    closes = stop + rank if ends else 0
    if not dropped:
        if not put(M, a, t, value(piece(M, a, aux_of(beat), i), closes), closes > 0):
            return acted(M, t)
    elif closes:
        close(M, a, t, 1, closes)
    if flags != NO_FLAGS:
        take(M, flags, t)
    if ends:
        M[a + P.piece] = 0
        take(M, x, t)
    else:
        M[a + P.piece] += 1
    return acted(M, t)


KINDS = {"typed": BY_TYPE, "rows": BY_ROWS, "cols": BY_COLS, "tiles": OF_ADDRESS}
KINDS |= {"range": OF_RANGE, "first": FIRST_OF_RANGE, "last": LAST_OF_RANGE, "bits": BITS_SET}
"""By what a function for FlatMap cuts into."""

NEEDS = {BY_TYPE: "tiles that its type allows, without padding, to be timed on tiles"}


def build(node: Node, to: TileProgram) -> None:
    """Pieces are rows, columns, addresses, selectors, or what the type rule says."""
    ins, out = to.inputs(node), to.output(node)
    function, stream, bits, hot = node.attrs["fn"], node.inputs[0], 0, 1
    rank = node.attrs["rank"]
    kind = KINDS[function.cuts_into()]
    if kind == OF_ADDRESS and isinstance(stream.dtype, Selector):
        kind, bits, hot = OF_SELECTOR, stream.dtype.n, stream.dtype.hot or 1
    elif kind in (FIRST_OF_RANGE, LAST_OF_RANGE):
        bits = to.reserve([1, 0, 0, 1])
    parameters = function.parameters()
    count = to.reserve(by_type(node)) if kind == BY_TYPE else parameters.get("count", 0)
    if kind == BY_COLS:
        count = parameters.get("c", 1)
    if kind in (OF_RANGE, FIRST_OF_RANGE, LAST_OF_RANGE):
        count = int(parameters.get("positive", True))
    if kind == BITS_SET:
        assert isinstance(stream.dtype, Selector)
        count = stream.dtype.n
        bits = to.reserve([int(i == j) for i in range(count) for j in range(count)])
    cut_short = len(ins) > 1 and rank + stream.rank > 0
    vanishing = rank == 0 and stream.rank > 0 and function.may_vanish(stream.dtype)
    flags = ins[1] if len(ins) > 1 else NO_FLAGS
    own = fresh(
        P,
        out=out,
        holds=cut_short or vanishing,
        held=0,
        has_held=0,
        x=ins[0],
        flags=flags,
        rank=rank,
        kind=kind,
        count=count,
        piece=0,
        bits=bits,
        hot=hot,
        began=0,
    )
    actor = to.add(node, cut, own, reads=ins, writes=[out])
    wanted = NEEDS.get(kind, "ranges of at least 1")
    if kind == OF_SELECTOR:
        wanted = f"selectors with {bits_set(hot)} set"
    to.faults[actor] = StepError(f"{node.name} ({node.where}): {function} needs {wanted}")
