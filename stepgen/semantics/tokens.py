"""Tokens: the canonical encoding of nested lists as a stream.

A rank-N stream is a sequence of rank-N tensors. A token is a value with a stop level 0..N, an empty
token (`BARE`) for an empty group, or the closing `DONE`. Each content has exactly one encoding:

- the last element of a group has the group's stop, and only the highest one is sent;
- ``BARE(low, stop)`` is one empty group of level `low`, which is also the last item of the levels
  ``low + 1 .. stop``;
- `DONE` follows when every tensor is closed.

Level k closes the k innermost dims; the outermost dim of a stream is closed by `DONE` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.ir.wire import BARE, DONE, VALUE

__all__ = [
    "END",
    "Check",
    "Reference",
    "Token",
    "bare",
    "decode",
    "encode",
    "same_value",
    "validate",
    "value",
    "values",
]

Nested = Any
"""Lists, tuples or arrays nested ``rank + 1`` deep around the values."""


class Token:
    """One token of a stream.

    Attributes
    ----------
    kind : int
        ``VALUE``, ``BARE`` or ``DONE`` of `stepgen.ir.wire`.
    value : object
        Tile (2-D array), selector (1-D bool array), tuple or buffer; None if there is none.
    stop : int
        Number of innermost dims that close with the token.
    low : int
        Of an empty token the level of its group, else 0.
    """

    __slots__ = ("kind", "low", "stop", "value")

    def __init__(self, kind: int, value: Any = None, stop: int = 0, low: int = 0) -> None:
        self.kind = kind
        self.value = value
        self.stop = stop
        self.low = low

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Token)
            and (self.kind, self.stop, self.low) == (other.kind, other.stop, other.low)
            and same_value(self.value, other.value)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.kind == DONE:
            return "DONE"
        if self.kind == BARE:
            return f"BARE({self.low}, S{self.stop})"
        return f"({self.value!r}, S{self.stop})" if self.stop else repr(self.value)


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference to a chunk in on-chip memory; may be routed, multicast and read several times.

    Attributes
    ----------
    tokens : tuple of Token
        The rank-`rank` tensor of the chunk, without DONE.
    rank : int
        Rank of the chunk.
    """

    tokens: tuple[Token, ...]
    rank: int


END = Token(DONE)
"""The token that ends every stream."""


def value(item: Any, stop: int = 0) -> Token:
    """Return a token that carries `item` and closes the `stop` innermost dims."""
    return Token(VALUE, item, stop)


def bare(low: int, stop: int) -> Token:
    """Return the token of one empty level-`low` group that closes the levels up to `stop`."""
    return Token(BARE, None, stop, low)


def same_value(a: Any, b: Any) -> bool:
    """Tell whether two values are the same bit for bit (-0 is not +0, a NaN is itself)."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def encode(nested: Nested, rank: int) -> list[Token]:
    """Encode nested lists as the tokens of a rank-`rank` stream.

    Parameters
    ----------
    nested : list, tuple or array
        The tensors of the stream: sequences nested ``rank + 1`` deep. Deeper levels are values.
    rank : int
        Rank of the stream.

    Returns
    -------
    list of Token
        The canonical encoding, closed by `END`.

    Raises
    ------
    StepError
        If a sequence is missing at some depth; the message names the item.
    """
    if rank < 0:
        raise StepError(f"encode: the rank of a stream is at least 0, not {rank}")
    tokens: list[Token] = []

    def walk(item: Nested, depth: int, path: tuple[int, ...]) -> None:
        if not isinstance(item, list | tuple | np.ndarray) or (
            isinstance(item, np.ndarray) and item.ndim == 0
        ):
            place = "".join(f"[{i}]" for i in path) or "the input"
            raise StepError(
                f"encode: a rank-{rank} stream needs lists nested {rank + 1} deep, but {place} "
                f"at depth {depth} is a {type(item).__name__}"
            )
        level = rank + 1 - depth
        if len(item) == 0:
            if depth:
                tokens.append(bare(level, level))
            return
        if level == 1:
            tokens.extend(value(leaf) for leaf in item)
        else:
            for i, part in enumerate(item):
                walk(part, depth + 1, (*path, i))
        if depth:
            tokens[-1].stop = level

    walk(nested, 0, ())
    tokens.append(END)
    return tokens


class Check:
    """Checks token by token that a stream is canonical.

    Parameters
    ----------
    rank : int
        Rank of the stream.
    name : callable
        Returns the stream's name for messages; called only for an error.
    """

    __slots__ = ("closed", "count", "done", "name", "rank")

    def __init__(self, rank: int, name: Callable[[], str] = lambda: "stream") -> None:
        self.rank = rank
        self.name = name
        self.closed = rank
        self.count = 0
        self.done = False

    def __call__(self, token: Token) -> None:
        """Take the next token.

        Raises
        ------
        StepError
            If no canonical encoding continues with this token.
        """
        if self.done:
            raise self._error(f"{token!r} follows DONE")
        if token.kind == VALUE:
            if not 0 <= token.stop <= self.rank:
                raise self._error(f"stop level {token.stop} is not within 0..{self.rank}")
            self.closed = token.stop
        elif token.kind == BARE:
            if not 1 <= token.low <= token.stop <= self.rank:
                raise self._error(f"{token!r} does not keep 1 <= low <= stop <= rank = {self.rank}")
            if self.closed < token.low:
                raise self._error(
                    f"{token!r} would close a level-{token.low} group that is not empty"
                )
            self.closed = token.stop
        elif self.closed != self.rank:
            raise self._error(f"DONE comes while level {self.closed + 1} is still open")
        else:
            self.done = True
        self.count += 1

    def finish(self) -> None:
        """Check that the stream may end here.

        Raises
        ------
        StepError
            If the stream is not closed by DONE.
        """
        if not self.done:
            raise self._error("the stream ends without DONE")

    def _error(self, what: str) -> StepError:
        return StepError(f"{self.name()}, rank {self.rank}, token {self.count}: {what}")


def validate(tokens: Iterable[Token], rank: int, name: str = "stream") -> None:
    """Check that `tokens` is the canonical encoding of some nested list.

    Raises
    ------
    StepError
        Names the stream, the token and the rule that is broken.
    """
    check = Check(rank, lambda: name)
    for token in tokens:
        check(token)
    check.finish()


def decode(tokens: Sequence[Token], rank: int, name: str = "stream") -> list[Any]:
    """Decode the tokens of a rank-`rank` stream to nested lists.

    Returns
    -------
    list
        ``rank + 1`` deep; ``encode(decode(tokens, rank), rank)`` gives the tokens back.

    Raises
    ------
    StepError
        If the tokens are not a canonical encoding.
    """
    validate(tokens, rank, name)
    groups: list[list[Any]] = [[] for _ in range(rank + 1)]
    """groups[k] collects the items of the open group of level k + 1."""
    for token in tokens:
        if token.kind == DONE:
            break
        if token.kind == VALUE:
            groups[0].append(token.value)
            first = 1
        else:
            groups[token.low].append([])
            first = token.low + 1
        for level in range(first, token.stop + 1):
            groups[level].append(groups[level - 1])
            groups[level - 1] = []
    return groups[rank]


def values(tokens: Iterable[Token]) -> Iterator[Any]:
    """Yield the values of a stream in order."""
    return (token.value for token in tokens if token.kind == VALUE)
