"""Streams as the golden models of users' own operators read and write them.

What such a model does to a token or an array that it has taken or emitted stays its own affair:
other readers of the stream don't see it.
"""

from __future__ import annotations

from stepgen.semantics.process import Reader, Steps, Writer, kept_as_is, view
from stepgen.semantics.tokens import Token


class OwnReader(Reader):
    """An input, whose tokens are copies with views of the values."""

    __slots__ = ()

    def take(self) -> Steps[Token]:
        """Take the next token."""
        token = yield from super().take()
        return _copy(token)

    def peek(self) -> Steps[Token]:
        """Look at the next token without taking it."""
        token = yield from super().peek()
        return _copy(token)


class OwnWriter(Writer):
    """An output, which keeps copies of the tokens with views of the values."""

    __slots__ = ()

    def put(self, token: Token) -> None:
        """Emit a token."""
        value = view(kept_as_is(token.value))
        super().put(Token(token.kind, value, token.stop, token.low))


def _copy(token: Token) -> Token:
    return Token(token.kind, view(token.value), token.stop, token.low)
