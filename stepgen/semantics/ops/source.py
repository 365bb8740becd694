"""source: sends the tokens of an input."""

from __future__ import annotations

from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Emit the given tokens."""
    if use.given is None:
        use.fail("no tokens were given for this input")
    for token in use.given:
        use.outputs[0].put(token)
    yield from ()
