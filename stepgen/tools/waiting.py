"""Progress of long work, and how it is shown on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic as now
from typing import TYPE_CHECKING, Any

from stepgen.timing.watch import Watcher, watched

if TYPE_CHECKING:
    from rich.progress import Progress as Shown

Progress = Callable[[str, float], None]
"""Called with the current step and the completed share, from 0 to 1."""

FIRST = 1.0
"""Seconds until a log shows the progress of a step; the interval doubles with each line."""

AGAIN = 0.3
"""Seconds between two lines in a notebook."""

COMPILING = (
    "compiling the timing engines for this version of stepgen; later runs find them compiled"
)


def quiet(what: str, share: float) -> None:
    """A `Progress` that shows nothing."""


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Show progress while a block runs, on stderr.

    A bar at a terminal, a line below the cell of a notebook, else one line per step.

    Parameters
    ----------
    quiet : bool
        Show only that the engines are being compiled, which may take long. A notebook shows all,
        since its line goes when the block ends.

    Yields
    ------
    callable
        Takes the current step and the completed share; see `Progress`.
    """
    if _in_notebook():
        cell = _Cell()
        try:
            with watched(cell):
                yield cell.update
        finally:
            cell.close()
        return
    from rich.console import Console  # which takes long to import

    console = Console(stderr=True)
    in_cell = "JPY_PARENT_PID" in os.environ  # a cell's terminal shows a bar as many lines
    if quiet or in_cell or not console.is_terminal:
        lines = _Lines(quiet)
        with watched(lines):
            yield lines.update
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Shown

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Shown(*columns, console=console, transient=True) as shown:
        bar = _Bar(shown)
        with watched(bar):
            yield bar.update


def _in_notebook() -> bool:
    """Whether a cell of a notebook is being run; there IPython is imported already."""
    found = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(found, "kernel")


class _Cell(Watcher):
    """A line below the cell of a notebook, which stays in its place and goes at the end."""

    def __init__(self) -> None:
        self.shown: Any = None
        self.what = "starting"
        self.next = now() + FIRST

    def update(self, what: str, share: float) -> None:
        """See `Progress`."""
        self.what = what
        self._show(f"{what}, {share:.0%}")

    def ran(self, cycles: int) -> None:
        """See `Watcher`."""
        self._show(f"{self.what}, {cycles:,} cycles so far")

    def compiles(self, functions: int) -> None:
        """See `Watcher`."""
        self._show(f"{COMPILING}: {functions} functions so far")

    def close(self) -> None:
        """Take the line away."""
        if self.shown is not None:
            self.shown.update({"text/plain": ""}, raw=True)

    def _show(self, line: str) -> None:
        if now() < self.next:
            return
        from IPython.display import display

        self.next = now() + AGAIN
        if self.shown is None:
            self.shown = display({"text/plain": line}, raw=True, display_id=True)
        else:
            self.shown.update({"text/plain": line}, raw=True)


class _Lines(Watcher):
    """One line per step, for logs, and further ones during a long step."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.step = ""
        self.compiling = False
        self._begin()

    def update(self, what: str, share: float) -> None:
        """See `Progress`."""
        step = what.partition(" (")[0]
        if step != self.step:
            self.step = step
            self._begin()
            if not self.quiet:
                self._print(step)
        elif 0 < share < 1:
            self._so_far(f"{step}, {share:.0%}")

    def ran(self, cycles: int) -> None:
        """See `Watcher`."""
        self._so_far(f"{self.step}, {cycles:,} cycles so far")

    def compiles(self, functions: int) -> None:
        """See `Watcher`."""
        if not self.compiling:
            self.compiling = True
            self._print(COMPILING)
        self._so_far(f"compiling, {functions} functions so far")

    def _begin(self) -> None:
        self.wait = FIRST
        self.next = now() + self.wait

    def _so_far(self, line: str) -> None:
        if not self.quiet and now() > self.next:
            self._print(line)
            self.wait *= 2
            self.next = now() + self.wait

    def _print(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class _Bar(Watcher):
    """A bar at a terminal."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.task = shown.add_task("starting", total=1.0)
        self.what = "starting"
        self.compiling = False

    def update(self, what: str, share: float) -> None:
        """See `Progress`."""
        self.what = what
        self.shown.update(self.task, description=what, completed=share)

    def ran(self, cycles: int) -> None:
        """See `Watcher`."""
        self._describe(f"{self.what} ({cycles:,} cycles so far)")

    def compiles(self, functions: int) -> None:
        """See `Watcher`."""
        if not self.compiling:
            self.shown.console.print(COMPILING)
            self.compiling = True
        self._describe(f"compiling ({functions} functions so far)")

    def _describe(self, what: str) -> None:
        self.shown.update(self.task, description=what)
