"""Pipelines as formulas for people."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stepgen.hw.arithmetic.operations import COMPARISONS, MANTISSA_BITS, Operation
from stepgen.ir.dtypes import ElementType
from stepgen.semantics.numbers import bfloat16

__all__ = ["formula"]

_SIGNS = {
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/"},
    **{"and": "&", "or": "|", "xor": "^"},
    **dict(zip(COMPARISONS, ("<", "<=", "==", "!=", ">=", ">"), strict=True)),
}


def formula(operands: Sequence[str], operations: Sequence[Operation]) -> str:
    """What a pipeline computes.

    Parameters
    ----------
    operands : sequence of str
        Names of the inputs.
    operations : sequence of Operation

    Returns
    -------
    str
        A formula, such as ``bf16(silu(x_0) * x_1)``, behind the values that it has more than once.
    """
    uses = Counter(k for o in operations for k in o.operands)
    texts, known = list(operands), []
    for number, o in enumerate(operations, len(operands)):
        text = _called(o, [texts[k] for k in o.operands])
        last = number == len(operands) + len(operations) - 1
        if o.name != "constant" and uses[number] > 1:
            known.append(f"v{number} = {text}")
            text = f"v{number}"
        elif o.name in _SIGNS and not last:
            text = f"({text})"
        texts.append(text)
    return "; ".join([*known, _outside(texts[-1] if operations else texts[0])])


def _called(o: Operation, operands: list[str]) -> str:
    if o.name == "constant":
        return str(_number(o.constants[0], o.to))
    if o.name in _SIGNS:
        return f" {_SIGNS[o.name]} ".join(operands)
    if o.name == "not":
        return f"~{operands[0]}"
    name = o.element if o.name == "convert" else o.name
    arguments = [*map(_outside, operands), *map(str, o.constants)]
    return f"{name}({', '.join(arguments)})"


def _outside(text: str) -> str:
    """Without parentheses around all of it."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[1:-1] if at and text[0] == "(" and at == len(text) - 1 else text
    return text


def _number(constant: int, element: ElementType) -> float:
    """The number of a constant: of a float it is the bit pattern."""
    if element not in MANTISSA_BITS:
        return constant
    pattern = np.array(constant, f"u{element.bits // 8}")
    return float(pattern.view(np.float32 if element.bits == 32 else bfloat16))
