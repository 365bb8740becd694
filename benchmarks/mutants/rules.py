"""Mutants: one place of the source changed in one way that is a typical mistake."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNITS = "stepgen/hw/units"
DECLARING = ("__init__.py", "params.py")
"""Files of a unit without a circuit and a model."""
COMMON = (
    *(
        "accelerator",
        "axi",
        "control",
        "counters",
        "elements",
        "fifo",
        "lookahead",
        "matrix",
        "occupancy",
    ),
    *(
        "netlist",
        "onehot",
        "run_control",
        "select",
        "system",
        "primitives/block_ram",
        "primitives/counter",
    ),
    *("primitives/delay", "primitives/multiplier"),
)
"""Circuits in `stepgen.hw` that units and designs have in common."""
TIMING = ("kernel", "model", "design_layout", "elements")
"""What cycle models have in common, in `stepgen.timing`."""

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
}
SWAPPED = {
    **{"VALUE": "BARE", "BARE": "DONE", "DONE": "VALUE"},
    **{"stop": "low", "low": "stop", "stop_of": "low_of", "low_of": "stop_of"},
}
"""Kinds of beats, and the two levels that a beat has."""
WAITS = ("room", "room_for", "ready", "ready_at", "can_pass")
"""What a step of a cycle model asks before it acts."""
MOVES = ("push", "pop")
HANDSHAKE = ("ready", "valid")

Change = tuple[ast.AST, str, str]
"""What is replaced, the rule, and the new text."""


@dataclass(frozen=True)
class Mutant:
    """A text that replaces another one at one place.

    Attributes
    ----------
    path : str
        File, below the repository.
    line : int
    start, end : int
        The bytes of the file that are replaced.
    rule : str
        In which way it is wrong.
    new : str
    """

    path: str
    line: int
    start: int
    end: int
    rule: str
    new: str

    @property
    def id(self) -> str:
        """Place and rule, of which there is one."""
        return f"{self.path}:{self.line}:{self.start} {self.rule}"

    @property
    def is_model(self) -> bool:
        """Whether it breaks a prediction, not a circuit."""
        return self.path.endswith("units/" + self.kind + "/model.py") or "timing/" in self.path

    @property
    def kind(self) -> str:
        """The kind of unit that it breaks; empty where units have it in common."""
        return Path(self.path).parent.name if self.path.startswith(UNITS) else ""

    def source(self) -> str:
        """The whole file with the mistake; every other line keeps its number."""
        text = _bytes(self.path)
        lines = text[self.start : self.end].count(b"\n")
        return (text[: self.start] + self.new.encode() + b"\n" * lines + text[self.end :]).decode()

    @property
    def diff(self) -> tuple[str, str]:
        """The statement's line or lines, before and after, as one each."""
        text = _bytes(self.path)
        left = text.rfind(b"\n", 0, self.start) + 1
        right = text.find(b"\n", self.end)
        before = text[left:right].decode()
        after = (text[left : self.start] + self.new.encode() + text[self.end : right]).decode()
        return " ".join(before.split()), " ".join(after.split())

    @property
    def key(self) -> str:
        """File and diff: the mutant is known again when lines have moved."""
        before, after = self.diff
        return f"{self.path}: {before} -> {after}"


@cache
def _bytes(path: str) -> bytes:
    return (ROOT / path).read_bytes()


def files() -> list[str]:
    """The files that are broken."""
    units = sorted((ROOT / UNITS).glob("*/*.py"))
    found = [str(path.relative_to(ROOT)) for path in units if path.name not in DECLARING]
    found += [f"stepgen/hw/{name}.py" for name in COMMON]
    return found + [f"stepgen/timing/{name}.py" for name in TIMING]


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """All mutants of all files."""
    return tuple(mutant for path in files() for mutant in mutants(path))


def drawn(seed: int, count: int) -> list[Mutant]:
    """Mutants in an order that the seed decides, the first `count` of them.

    A rule that applies to many places is drawn more often than a rare one, but less than in
    proportion.
    """
    every = all_mutants()
    often = Counter(mutant.rule for mutant in every)
    keys = {m: random.Random(f"{seed} {m.key}").random() ** (often[m.rule] ** 0.5) for m in every}
    return sorted(every, key=lambda m: -keys[m])[:count]


def mutants(path: str) -> Iterator[Mutant]:
    """All mutants of a file, in functions alone."""
    text = _bytes(path)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen = set()
    for node, rule, new in _module(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        mutant = Mutant(path, node.lineno, start, end, rule, new)  # type: ignore[attr-defined]
        if mutant.id not in seen:
            seen.add(mutant.id)
            yield mutant


def _module(tree: ast.AST) -> Iterator[Change]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _module(node)
        elif isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from _changes(statement)


def _changes(node: ast.AST) -> Iterator[Change]:
    """What can be changed in a statement or an expression."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if is_text or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.arguments):
        return
    for rule in RULES:
        yield from rule(node)
    inside: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.AnnAssign):
        inside = [node.value] if node.value else []
    if isinstance(node, ast.FunctionDef):
        inside = list(node.body)
    for child in inside:
        yield from _changes(child)


def _comparison(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        other = ast.Compare(node.left, [COMPARED[type(node.ops[0])]()], node.comparators)
        yield node, "comparison", ast.unparse(other)


def _constant(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, "one more", str(node.value + 1)
        if node.value:
            yield node, "one less", str(node.value - 1)
    if isinstance(node, ast.Name) and node.id == "TILE_LEVELS":
        yield node, "one more", "(TILE_LEVELS + 1)"
        yield node, "one less", "(TILE_LEVELS - 1)"


def _logic(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        other = ast.BitOr() if isinstance(node.op, ast.BitAnd) else ast.BitAnd()
        yield node, "and, or", f"({ast.unparse(ast.BinOp(node.left, other, node.right))})"
    if isinstance(node, ast.BoolOp):
        swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node, "and, or", f"({ast.unparse(ast.BoolOp(swapped, node.values))})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        yield node, "not", f"({ast.unparse(node.operand)})"


def _idle(node: ast.AST) -> Iterator[Change]:
    """What is read while valid is low."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Attribute) and one.attr == "valid":
                yield node, "idle payload", f"({ast.unparse(other)})"


def _condition(node: ast.AST) -> Iterator[Change]:
    if _is_call(node, "If", "Elif"):
        (condition,) = node.args  # type: ignore[attr-defined]
        if not _is_equality(condition):
            yield condition, "condition", f"~({ast.unparse(condition)})"
    if isinstance(node, ast.If | ast.IfExp) and not _is_equality(node.test):
        yield node.test, "condition", f"(not ({ast.unparse(node.test)}))"


def _is_equality(node: ast.AST) -> bool:
    """Whether the rule of comparisons negates it already."""
    return (
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and isinstance(node.ops[0], ast.Eq | ast.NotEq)
    )


def _operands(node: ast.AST) -> Iterator[Change]:
    if _is_call(node, "Mux"):
        chosen, one, other = map(ast.unparse, node.args)  # type: ignore[attr-defined]
        yield node, "operands", f"Mux({chosen}, {other}, {one})"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield node, "operands", f"({ast.unparse(ast.BinOp(node.right, ast.Sub(), node.left))})"


def _levels(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in SWAPPED:
        rule = "kind" if node.id.isupper() else "levels"
        yield node, rule, SWAPPED[node.id]


def _dropped(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "dropped", "pass"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield node, "dropped", "pass"
    if isinstance(node, ast.AugAssign):
        if not isinstance(node.value, ast.List):
            yield node, "dropped", "pass"
        elif len(node.value.elts) > 1:
            for one in node.value.elts:
                yield one, "dropped", "[]"


def _handshake(node: ast.AST) -> Iterator[Change]:
    """Ready or valid too early or too late."""
    if _is_call(node, "eq") and isinstance(node.func.value, ast.Attribute):  # type: ignore[attr-defined]
        (value,) = node.args  # type: ignore[attr-defined]
        if node.func.value.attr in HANDSHAKE:  # type: ignore[attr-defined]
            yield value, "early", "1"
            yield value, "late", f"one_later(m, {ast.unparse(value)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in WAITS:
            yield node, "early", "0"
        if node.func.id in MOVES:
            yield node.args[2], "late", f"{ast.unparse(node.args[2])} + 1"


def _reset(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Signal", "Signal.like"):
        words = [*node.args, *node.keywords]
        if not any(word.arg == "reset_less" for word in node.keywords):
            given = ", ".join([*map(ast.unparse, words), "reset_less=True"])
            yield node, "no reset", f"{ast.unparse(node.func)}({given})"


RULES = (
    *(_comparison, _constant, _logic, _idle, _condition, _operands, _levels, _dropped),
    *(_handshake, _reset),
)


def _is_call(node: ast.AST, *names: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return getattr(called, "attr", getattr(called, "id", "")) in names
