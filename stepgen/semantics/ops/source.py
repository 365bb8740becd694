"""source: the tokens that come from outside."""

from __future__ import annotations

from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Emit what was given."""
    if use.given is None:
        use.fail("no tokens were given for this input")
    for token in use.given:
        use.outputs[0].put(token)
    yield from ()
