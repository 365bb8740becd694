"""accum: folds each chunk into one element; an empty chunk gives the initial state."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.applying import Operands, checked, setting
from stepgen.semantics.folding import Fold
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """A chunk ends with a stop of `rank` or more; groups above the chunk keep their structure."""
    rank, out = use["rank"], use.outputs[0]
    operands = Operands(use)
    fold = Fold(use["fn"], setting(use), use["init"])
    while True:
        tokens = yield from use.take_all(use.inputs)
        token = tokens[0]
        if token.kind == DONE:
            out.done()
            return
        if token.kind != VALUE and token.low > rank:
            out.bare(token.low - rank, token.stop - rank)
            continue
        if token.kind == VALUE:
            fold.update(operands.of(tokens))
        if token.stop >= rank:
            out.value(checked(use, fold.tile()), token.stop - rank)
            fold.reset()
