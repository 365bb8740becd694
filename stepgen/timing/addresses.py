"""Arithmetic and comparisons of addresses in cycle models, and in the timing on tiles."""

from __future__ import annotations

from stepgen.timing.kernel import helper

SUM, DIFFERENCE, PRODUCT, LARGER, SMALLER, PAIR, LT, LE, EQ, NE, GE, GT = range(12)
OPERATIONS = {
    "sum": SUM,
    "difference": DIFFERENCE,
    "product": PRODUCT,
    "larger": LARGER,
    "smaller": SMALLER,
    "pair": PAIR,
    "lt": LT,
    "le": LE,
    "eq": EQ,
    "ne": NE,
    "ge": GE,
    "gt": GT,
}
"""By name, as functions and units have them."""


@helper
def refused(operation: int, a: int, b: int, limit: int) -> bool:
    """Whether two numbers have no result where `limit` stands for all larger ones."""
    if operation == DIFFERENCE:
        return a >= limit or a < b
    return operation >= LT and a >= limit and b >= limit


@helper
def _compared(operation: int, a: int, b: int) -> bool:
    """A relation of two numbers."""
    if operation == EQ:
        return a == b
    if operation == NE:
        return a != b
    if operation == LT:
        return a < b
    if operation == LE:
        return a <= b
    return a > b if operation == GT else a >= b


@helper
def calculated(operation: int, a: int, b: int, limit: int) -> int:
    """The result of two numbers, at most `limit`; of a pair, which is not a number, 0."""
    if operation == SUM:
        return min(a + b, limit)
    if operation == DIFFERENCE:
        return a - b
    if operation == PRODUCT:
        return limit if b > 0 and a > limit // b else a * b
    if operation == LARGER:
        return max(a, b)
    if operation == SMALLER:
        return min(a, b)
    return 1 if operation != PAIR and _compared(operation, a, b) else 0
