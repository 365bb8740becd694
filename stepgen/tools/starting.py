"""Ctrl-C while the modules of the command load: the process ends as it does later, quietly.

It takes effect when it is imported, so it is imported first. Programs that import stepgen are left
alone.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

ENDING = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""Other signals that end a command; Windows has no SIGHUP."""


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)  # an exception could be lost, or be shown, anywhere in an import


def _is_command() -> bool:
    """Whether this process is ``stepgen`` or ``python -m stepgen``, and not spawned by one."""
    name = next(iter(getattr(sys, "argv", ())), "")
    if name not in sys.orig_argv:
        return False
    called = os.path.splitext(os.path.basename(name))[0]  # on Windows stepgen.exe
    return called == "stepgen" or (name == "-m" and "stepgen" in sys.orig_argv)


def over() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def begin() -> None:
    """Let Ctrl-C end the process at once, unless it is ignored, as in a shell's background jobs."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


_codes: list[int] = []
"""The exit code, if Python must not choose another one."""


def fix(code: int) -> None:
    """Have the process end with an exit code: after Ctrl-C in `exec`, Python would kill itself."""
    _codes.append(code)


def _last() -> None:
    """The last that is called before Python comes down, when the signal would kill the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _codes:
        os._exit(_codes[0])


if _is_command():
    begin()
    atexit.register(_last)
