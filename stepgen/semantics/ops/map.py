"""map: applies a function to each element; empty groups are passed on."""

from __future__ import annotations

from stepgen.ir.function import Mapped
from stepgen.ir.wire import VALUE
from stepgen.semantics.applying import Operands, checked, setting
from stepgen.semantics.process import Process, Use
from stepgen.semantics.tokens import END


def run(use: Use) -> Process:
    """Keep the structure, replace the values."""
    function: Mapped = use["fn"]
    at, operands, out = setting(use), Operands(use), use.outputs[0]
    while True:
        tokens = yield from use.take_all(use.inputs)
        if tokens[0].kind == VALUE:
            given = operands.of(tokens)
            function.fit(*given)
            out.value(checked(use, function.compute(at, *given)), tokens[0].stop)
            continue
        out.put(tokens[0])
        if tokens[0].kind == END.kind:
            return
