"""The one error that a user's mistake raises."""


class StepError(ValueError):
    """A mistake in a program, a file or a command line, told in one sentence.

    The sentence names the operator, the stream and the numbers that disagree. It is raised where
    the mistake was written, so the innermost frame of the user's own code is the line to mend.
    """
