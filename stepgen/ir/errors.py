"""The exception for users' mistakes."""

from __future__ import annotations

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
