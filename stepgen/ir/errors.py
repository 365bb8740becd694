"""The one error that a user's mistake raises."""

from __future__ import annotations

LONGEST = 800
"""Characters of a sentence."""


def shorten(sentence: str) -> str:
    """A sentence that repeats what a user gave, without the middle where that is endless."""
    if len(sentence) <= LONGEST:
        return sentence
    return f"{sentence[: LONGEST // 2 - 5]} ... {sentence[-LONGEST // 2 + 5 :]}"


class StepError(ValueError):
    """A mistake in a program, a file or a command line, told in one sentence.

    The sentence names the operator, the stream and the numbers that disagree. It is raised where
    the mistake was written, so the innermost frame of the user's own code is the line to mend.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shorten(sentence))
