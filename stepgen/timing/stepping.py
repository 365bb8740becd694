"""Who performs the steps of a run: the interpreter, or compiled code.

Both work on the same state, so a run may begin with one and go on with the other. The interpreter
needs no compiler: loading it, and the code in the cache, takes as long as thousands of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from time import process_time
from typing import Literal

import numpy as np

from stepgen.timing import compiled
from stepgen.timing import kernel as k
from stepgen.timing.layout import Layout
from stepgen.timing.scratch import Words

Engine = Literal["either", "interpreted", "compiled"]

FEW = 0.1
"""Seconds that a process interprets before it looks for compiled code, which takes about
as long to load."""
FIRST, SHORT = 1 << 14, 1 << 16
"""Steps of actors, and cycles, until the first look for compiled code, and between others."""
SLICE = 1 << 22
"""Steps of actors, and cycles, between two returns to Python: short enough for Ctrl-C."""

_engine: Engine = "either"
_interpreted = 0.0
"""Seconds that this process has interpreted."""


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Within the block, runs are interpreted, or compiled, from their first step on."""
    global _engine
    before, _engine = _engine, engine
    try:
        yield
    finally:
        _engine = before


def interpreted(steps: Sequence[k.Step], M: Words, last: int, most: int) -> int:
    """Run as `kernel.run` does; `M` is an array before and after."""
    words = M.tolist()
    try:
        return k.run(steps, words, last, most)
    finally:
        M[:] = words


class Stepper:
    """Performs the steps of one run.

    Parameters
    ----------
    layout : Layout
        Whose steps they are.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def advance(self, M: Words, last: int) -> int:
        """Run for a while.

        Parameters
        ----------
        M : int64 array
            The state array.
        last : int
            The cycle until which to run.

        Returns
        -------
        int
            Why the run ended or paused, as `kernel.run` returns it.
        """
        global _interpreted
        if is_compiled([k.run, *self._layout.steps]):
            addresses, loop = self._code
            return loop(addresses, M, last, SLICE)
        begun = process_time()
        most = SHORT if _interpreted >= FEW else FIRST
        result = interpreted(self._layout.steps, M, last, most)
        _interpreted += process_time() - begun
        return result

    @cached_property
    def _code(self) -> tuple[Words, compiled.Loop]:
        """The addresses of the compiled steps, and the loop that takes them."""
        addresses = [compiled.step(step) for step in self._layout.steps]
        return np.array(addresses, np.int64), compiled.loop(k.run)


def is_compiled(functions: Sequence[compiled.Function]) -> bool:
    """Whether these functions are now taken from compiled code."""
    if _engine != "either":
        return _engine == "compiled"
    if compiled.turned_off() or _interpreted < FEW:
        return False
    return compiled.available(functions)
