"""scan: as accum, but sends the state after every element; empty groups are passed on."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.applying import Operands, checked, setting
from stepgen.semantics.folding import Fold
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """The state is reset after each chunk."""
    rank, out = use["rank"], use.outputs[0]
    operands = Operands(use)
    fold = Fold(use["fn"], setting(use), use["init"])
    while True:
        tokens = yield from use.take_all(use.inputs)
        token = tokens[0]
        if token.kind == VALUE:
            fold.update(operands.of(tokens))
            # The function may change its state in place, of which the tile may be a view.
            out.value(checked(use, fold.tile()).copy(), token.stop)
        else:
            out.put(token)
            if token.kind == DONE:
                return
        if token.stop >= rank:
            fold.reset()
