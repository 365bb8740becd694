"""Operators as processes that take tokens from their inputs and send tokens to their outputs.

A process is a Python generator. It yields a `Wait` when it needs a token that is not there, and is
resumed when one has arrived. Queues are unbounded, so sending never waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node, Stream
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.semantics.access_order import Known, Past
from stepgen.semantics.memory import TensorMemory
from stepgen.semantics.tokens import Check, Token

T = TypeVar("T")


@dataclass(frozen=True)
class Wait:
    """What a process waits for.

    Attributes
    ----------
    readers : tuple of Reader
        A token on any of them resumes the process.
    idle : bool
        Resume only when no other process can run, so that a choice between them does not depend on
        the order in which processes run.
    """

    readers: tuple[Reader, ...]
    idle: bool = False


Steps = Generator[Wait, None, T]
"""A part of a process that returns a T."""
Process = Generator[Wait, None, None]
"""A process."""


class Reader:
    """One input of one operator: a queue of tokens.

    Attributes
    ----------
    stream : Stream
        The stream that is read.
    queue : deque of Token
        Tokens that have arrived and were not taken.
    taken : int
        Number of tokens taken.
    past : Past or None
        What the process knows, where the order of accesses matters.
    pasts : deque of tuple of int
        What the senders of the tokens knew.
    """

    __slots__ = ("_wait", "past", "pasts", "queue", "stream", "taken", "wake")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.queue: deque[Token] = deque()
        self.taken = 0
        self.past: Past | None = None
        self.pasts: deque[tuple[int, ...]] = deque()
        self.wake: Callable[[], None] | None = None
        self._wait = Wait((self,))

    @property
    def name(self) -> str:
        """Name of the stream."""
        return self.stream.name

    def take(self) -> Steps[Token]:
        """Take the next token."""
        while not self.queue:
            yield self._wait
        self.taken += 1
        if self.past is not None:
            self.past.join(self.pasts.popleft())
        return self.queue.popleft()

    def peek(self) -> Steps[Token]:
        """Look at the next token without taking it."""
        while not self.queue:
            yield self._wait
        if self.past is not None:
            self.past.join(self.pasts[0])
        return self.queue[0]

    def put(self, token: Token) -> None:
        """Add a token that arrives."""
        self.queue.append(token)
        if self.wake is not None:
            self.wake()


class Writer:
    """One output of one operator: sends to all readers and keeps a record.

    Attributes
    ----------
    stream : Stream
        The stream that is written.
    log : list of Token
        All tokens so far.
    readers : list of Reader
        The uses of the stream.
    past : Past or None
        As of a reader.
    """

    __slots__ = ("_check", "log", "past", "readers", "stream")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.log: list[Token] = []
        self.readers: list[Reader] = []
        self.past: Past | None = None
        node = stream.node
        self._check = Check(
            stream.rank, lambda: f"{node.name} ({node.where}) writes to {stream.name}"
        )

    @property
    def known(self) -> Known:
        """What a token brings that is sent now."""
        return None if self.past is None else self.past.known

    def put(self, token: Token, known: Known = None) -> None:
        """Emit a token; nobody can change its value from now on.

        Parameters
        ----------
        token : Token
        known : tuple of int, optional
            What it brings, where its first beats were sent before now.

        Raises
        ------
        StepError
            If the encoding would not be canonical.
        """
        value = token.value
        if value is not None and (kept := kept_as_is(value)) is not value:
            token = Token(token.kind, kept, token.stop, token.low)
        self._check(token)
        self.log.append(token)
        for reader in self.readers:
            if self.past is not None:
                reader.pasts.append(known or self.past.known)
            reader.put(token)

    def value(self, value: Any, stop: int = 0) -> None:
        """Emit a value that closes `stop` dims."""
        self.put(Token(VALUE, value, stop))

    def bare(self, low: int, stop: int) -> None:
        """Emit an empty group of level `low` that closes the levels up to `stop`."""
        self.put(Token(BARE, None, stop, low))

    def done(self) -> None:
        """End the stream."""
        self.put(Token(DONE))


class Holding:
    """A writer with a holding register for its last token, whose stop may be raised later.

    A token brings what was known when it came: of a tile only the last beat is held.

    Parameters
    ----------
    writer : Writer
        The output.
    hold : bool
        Whether tokens are held: only if, by the type, what follows can be empty.
    """

    def __init__(self, writer: Writer, hold: bool) -> None:
        self._writer = writer
        self._hold = hold
        self._held: tuple[Token, Known] | None = None

    def put(self, token: Token, *, final: bool = False, known: Known = None) -> None:
        """Emit a token; unless it is `final`, its stop may still be raised."""
        self.flush()
        known = known or self._writer.known
        if self._hold and not final:
            self._held = token, known
        else:
            self._writer.put(token, known)

    def close(self, low: int, stop: int) -> None:
        """Close the levels ``low..stop``: on the token held, or as an empty group if there is none.

        `low` is the level of the current group, whose last token would be held.
        """
        if self._held is None:
            self._writer.bare(low, stop)
        else:
            (held, known), self._held = self._held, None
            self._writer.put(Token(held.kind, held.value, stop, held.low), known)

    def flush(self) -> None:
        """Emit the token held as it is."""
        if self._held is not None:
            self._writer.put(*self._held)
            self._held = None

    def done(self) -> None:
        """End the stream."""
        self.flush()
        self._writer.done()


@dataclass
class Use:
    """The inputs, outputs and environment of a node's process.

    Attributes
    ----------
    node : Node
        The node.
    inputs : list of Reader
        One per input.
    outputs : list of Writer
        One per output.
    lanes : int
        Lanes L, which determine the order of sums.
    memory : Memory
        Off-chip memory.
    given : list of Token or None
        For a source: its tokens.
    choices : iterator of int or None
        For a merge: the input of each chunk.
    cyclic : bool
        Whether the node is on a cycle of the graph.
    guesses : bool
        Whether the choices may end early or not fit; from there on there are none.
    """

    node: Node
    inputs: list[Reader]
    outputs: list[Writer]
    lanes: int
    memory: TensorMemory
    given: list[Token] | None = None
    choices: Iterator[int] | None = None
    cyclic: bool = False
    guesses: bool = False

    def __getitem__(self, attribute: str) -> Any:
        """Attribute of the node."""
        return self.node.attrs[attribute]

    def fail(self, message: str) -> NoReturn:
        """Raise an error in the program or its inputs, with the node's name as prefix."""
        raise StepError(f"{self.node.name} ({self.node.where}): {message}")

    def mismatch(self, a: Reader, x: Token, b: Reader, y: Token, lift: int = 0) -> NoReturn:
        """Raise the error that two inputs disagree; levels of `a` are `lift` below those of `b`."""
        above = f", {lift} levels apart," if lift else ""
        self.fail(
            f"its inputs{above} do not match at run time: {a.name} gives {describe(x)} at token "
            f"{a.taken - 1} where {b.name} gives {describe(y)} at token {b.taken - 1}"
        )

    def take_all(self, readers: Sequence[Reader]) -> Steps[list[Token]]:
        """Take one token from each reader; all must have the same structure."""
        first = yield from readers[0].take()
        tokens = [first]
        for reader in readers[1:]:
            token = yield from reader.take()
            if (token.kind, token.stop, token.low) != (first.kind, first.stop, first.low):
                self.mismatch(readers[0], first, reader, token)
            tokens.append(token)
        return tokens


def kept_as_is(value: Any) -> Any:
    """A value that no reader and no writer of a stream can change: all its arrays are read-only.

    An array becomes read-only itself. A writeable view is copied, since its owner can be changed.
    """
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            if value.base is not None:
                value = value.copy()
            value.flags.writeable = False
    elif isinstance(value, tuple):
        kept = tuple(map(kept_as_is, value))
        if any(new is not old for new, old in zip(kept, value, strict=True)):
            return kept
    return value


def view(value: Any) -> Any:
    """A value for code of a user's, which can set the shape even of a read-only array."""
    if isinstance(value, np.ndarray):
        return value.view()
    return tuple(map(view, value)) if isinstance(value, tuple) else value


def describe(token: Token) -> str:
    """Text of a token without its value."""
    if token.kind == DONE:
        return "the end"
    if token.kind == BARE:
        return f"an empty group of level {token.low} with stop {token.stop}"
    return f"a value with stop {token.stop}"


def lowered(token: Token, rank: int) -> tuple[int, int, int]:
    """Structure of a chunk's last token as one element, in a stream of rank `rank` less."""
    if token.kind == BARE and token.low > rank:
        return BARE, token.stop - rank, token.low - rank
    return VALUE, token.stop - rank, 0


def structure(token: Token) -> tuple[int, int, int]:
    """Kind, stop and low of a token."""
    return token.kind, token.stop, token.low
