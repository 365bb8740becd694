"""Streams as the golden models of users' own operators read and write them.

What such a model does to a token or an array that it has taken or emitted stays its own affair:
other readers of the stream don't see it.
"""

from __future__ import annotations

from stepgen.ir.errors import StepError
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.access_order import Known
from stepgen.semantics.applying import strange
from stepgen.semantics.process import Reader, Steps, Writer, kept_as_is, view
from stepgen.semantics.shapes import check_shape
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
    """An output, which keeps copies of the tokens with views of the values.

    Values and structure have to be of the stream's type.
    """

    __slots__ = ()

    def put(self, token: Token, known: Known = None) -> None:
        """Emit a token.

        Raises
        ------
        StepError
            If the value is not of the type of the stream's, or at its end, if its dims are not.
        """
        if token.kind == VALUE:
            said = strange(token.value, self.stream.dtype)
            if said is not None:
                raise self._error(
                    f"gave {said} to {self.stream.name}, but its type rule says {self.stream.dtype}"
                )
        value = view(kept_as_is(token.value))
        super().put(Token(token.kind, value, token.stop, token.low), known)
        if token.kind == DONE:
            try:
                check_shape(self.log, self.stream.type, self.stream.name)
            except StepError as error:
                raise self._error(f"differs from its type rule: {error}") from None

    def _error(self, what: str) -> StepError:
        node = self.stream.node
        return StepError(f"{node.name} ({node.where}): the golden model of {node.op} {what}")


def _copy(token: Token) -> Token:
    return Token(token.kind, view(token.value), token.stop, token.low)
