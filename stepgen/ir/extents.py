"""Parses extents of dims: arithmetic over a graph's symbols, limited in size and depth.

Files are untrusted, so parsing must not take more time or memory than their length warrants.
"""

from __future__ import annotations

import ast
import reprlib
from collections.abc import Callable, Sequence

from stepgen.ir.dims import Symbols
from stepgen.ir.errors import StepError
from stepgen.ir.expr import ONE, ZERO, Expr, ceiling, constant, max_of, min_of, sum_of

LONGEST = 10_000
"""Most characters of an extent, and most terms of a product in it."""
DEEPEST = 50
"""Most levels of nested operations; a sum of several terms is one level."""
HIGHEST = 64
"""Highest degree of an extent: number of factors of its products."""
LARGEST = 1 << 63
"""Largest magnitude of a number."""

_CALLS: dict[str, Callable[..., Expr]] = {"ceil": ceiling, "min": min_of, "max": max_of}
_CALLS |= {"ceiling": ceiling, "Min": min_of, "Max": max_of}  # as files had them before
_SUMS, _PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


def extent(text: str, symbols: Symbols) -> Expr:
    """The extent of a text.

    Parameters
    ----------
    text : str
        As an expression prints.
    symbols : Symbols
        Those of the graph; no others may occur.

    Raises
    ------
    StepError
        If the text is not an extent, or exceeds a limit.
    """
    if len(text) > LONGEST:
        raise StepError(f"an extent must have at most {LONGEST} characters, not {len(text)}")
    try:
        return _Reader(symbols).read(ast.parse(text.strip(), mode="eval").body, 0)[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, StepError):
            raise
        raise StepError(f"{reprlib.repr(text)} is not an extent of a dim") from None


class _Reader:
    """Reads an expression; each part comes with its degree."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols

    def read(self, node: ast.expr, depth: int) -> tuple[Expr, int]:
        """The value of a node and its degree."""
        value, degree = self._value(node, depth)
        if depth > DEEPEST or degree > HIGHEST:
            raise StepError(
                f"an extent may be {DEEPEST} operations deep and of degree {HIGHEST}, not more: "
                f"{reprlib.repr(ast.unparse(node))}"
            )
        return value, degree

    def _value(self, node: ast.expr, depth: int) -> tuple[Expr, int]:
        if depth > DEEPEST:
            return ZERO, 0
        if isinstance(node, ast.Constant) and type(node.value) is int:
            if abs(node.value) > LARGEST:
                raise StepError(f"an extent has a number of {node.value.bit_length()} bits")
            return constant(node.value), 1
        if isinstance(node, ast.Name):
            return self.symbols.find(node.id).expr, 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value, degree = self.read(node.operand, depth + 1)
            return -value, degree
        if isinstance(node, ast.BinOp) and isinstance(node.op, _SUMS):
            parts = self._chain(node, _SUMS, depth)
            terms = [-value if isinstance(op, ast.Sub) else value for op, value, _ in parts]
            return sum_of(*terms), max(degree for *_, degree in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _PRODUCTS):
            parts = self._chain(node, _PRODUCTS, depth)
            if any(isinstance(op, ast.Div) and value == 0 for op, value, _ in parts):
                raise StepError(f"{reprlib.repr(ast.unparse(node))} divides by 0")
            factors = [1 / value if isinstance(op, ast.Div) else value for op, value, _ in parts]
            return self._multiplied(factors), sum(degree for *_, degree in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return self._power(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            call = _CALLS.get(node.func.id)
            if call is not None and node.args and (call is not ceiling or not node.args[1:]):
                read = [self.read(argument, depth + 1) for argument in node.args]
                return call(*(value for value, _ in read)), max(degree for _, degree in read)
        raise StepError(f"{reprlib.repr(ast.unparse(node))} is not an extent of a dim")

    def _chain(
        self, node: ast.expr, operations: tuple[type[ast.operator], ...], depth: int
    ) -> list[tuple[ast.operator, Expr, int]]:
        """The parts of a sum or product, each with the operation before it."""
        found: list[tuple[ast.operator, ast.expr]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, operations):
            found.append((node.op, node.right))
            node = node.left
        found.append((operations[0](), node))
        return [(op, *self.read(part, depth + 1)) for op, part in reversed(found)]

    def _power(self, node: ast.BinOp, depth: int) -> tuple[Expr, int]:
        base, degree = self.read(node.left, depth + 1)
        exponent = self.read(node.right, depth + 1)[0].integer
        if exponent is None or abs(exponent) * degree > HIGHEST:
            raise StepError(
                f"{reprlib.repr(ast.unparse(node))}: a power must be an integer, and an extent of "
                f"degree {HIGHEST} at most"
            )
        if base == 0 and exponent < 0:
            raise StepError(f"{reprlib.repr(ast.unparse(node))} divides by 0")
        power = self._multiplied([base] * abs(exponent))
        return power if exponent >= 0 else 1 / power, degree * abs(exponent)

    def _multiplied(self, factors: Sequence[Expr]) -> Expr:
        """A product of limited size: it is expanded."""
        found = ONE
        for factor in factors:
            if len(found.terms) * len(factor.terms) > LONGEST:
                raise StepError(f"an extent, multiplied out, must have at most {LONGEST} terms")
            found *= factor
        return found
