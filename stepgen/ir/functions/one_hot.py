"""one_hot: a selector taken apart into its bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import sympy

from stepgen.ir.dims import static
from stepgen.ir.dtypes import DataType, Selector
from stepgen.ir.function import Function, Pieces
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class OneHot(Function):
    """FlatMap only: a selector becomes one selector for each bit that is set, lowest first.

    So what exists once per choice, such as the weight of an expert for a token, can be routed as
    what exists once per token is: the consumers are selected equally often.
    """

    cuts_selectors: ClassVar[bool] = True

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, K]`` selectors, K being the number of bits set: ragged unless it is known."""
        selectors = call.inputs[0]
        if not isinstance(element, Selector):
            call.fail(f"{self} needs selectors, not {selectors}")
        if rank != 1:
            call.fail(f"{self} makes streams of rank 1, not {rank}")
        routing = call.graph.routing(selectors)
        if element.hot is not None:
            chosen, total = static(element.hot), selectors.totals[0] * sympy.Integer(element.hot)
        else:
            chosen = call.symbols.fresh("K", "ragged", element.n)
            total = sympy.Add(*(count.expr for count in routing.counts))
        return Pieces((static(1), chosen), Selector(element.n, hot=1), total, routing)
