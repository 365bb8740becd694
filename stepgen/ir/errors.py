"""The exception for users' mistakes."""

from __future__ import annotations

from typing import Any

LONGEST = 800
"""Most characters of a message."""


def shorten(sentence: str) -> str:
    """A message, without its middle if it is too long."""
    if len(sentence) <= LONGEST:
        return sentence
    return f"{sentence[: LONGEST // 2 - 5]} ... {sentence[-LONGEST // 2 + 5 :]}"


class StepError(ValueError):
    """A mistake in a program, a file or a command line, with a message of one sentence.

    The message names the operator, the stream and the numbers that disagree. It is raised where the
    mistake was written, so the innermost frame of the user's code is the line to fix.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shorten(sentence))

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, also of errors that are made of more than a sentence."""
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[StepError], args: tuple[Any, ...]) -> StepError:
    """An error as it was sent by another process."""
    return kind.__new__(kind, *args)
