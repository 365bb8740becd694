"""The commands as one application: errors become one sentence and an exit code."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from json import dumps
from typing import Any

import click

from stepgen.cli.groups import Commands, InOrder
from stepgen.ir.errors import StepError, shorten
from stepgen.tools import starting
from stepgen.tools.starting import INTERRUPTED

TRACEBACK = "--traceback"
"""Option of all commands, at any position: print the traceback of an error."""

GOOD, FAILED, BAD_INPUT = 0, 1, 2
"""Exit codes: success; mismatch in the hardware; bad input."""

_COMMANDS = [
    "show",
    "metrics",
    "run",
    "time",
    "lanes",
    "report",
    "compare",
    "verilog",
    "test",
    "synth",
    "build",
    "deploy",
    "board",
    "simulate",
    "machine",
    "figure",
    "import",
    "quantize",
    "talk",
    "fuzz",
    "doctor",
    "demo",
]


@click.group(
    "stepgen",
    cls=InOrder,
    invoke_without_command=True,
    commands=Commands(_COMMANDS),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "max_content_width": 100,
    },
)
@click.option(
    TRACEBACK,
    is_flag=True,
    help="Print the traceback of an error; also allowed after a command.",
)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
@click.option(
    "--show-completion",
    type=click.Choice(["bash", "fish", "zsh"]),
    help="Print what lets a shell complete commands and options.",
)
@click.pass_context
def app(
    context: click.Context, *, traceback: bool, version: bool, show_completion: str | None
) -> None:
    """Streaming Tensor Programs, from Python to verified FPGA hardware."""
    if version:
        from stepgen.ir.versions import version as own

        print(f"stepgen {own()}")
    elif show_completion is not None:
        from click.shell_completion import get_completion_class

        shell = get_completion_class(show_completion)
        assert shell is not None
        print(shell(app, {}, "stepgen", "_STEPGEN_COMPLETE").source())
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave Python with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line behind ``stepgen``; by default that of the process.
    """
    ended: list[int] = []

    def end(number: int, frame: object) -> None:
        ended.append(number)
        raise KeyboardInterrupt

    gc.set_threshold(100_000)  # most of what a command makes lives until it ends
    _open_missing()
    _free_stderr()
    for number in starting.ENDING:  # so that child processes are ended too
        signal.signal(number, end)

    def lost(error: sys.UnraisableHookArgs) -> None:
        """Send a signal again whose exception ended in a `__del__`, as Amaranth has one."""
        if not issubclass(error.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(error)
            return
        number = ended[-1] if ended else signal.SIGINT
        again = threading.Timer(0.01, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    sys.unraisablehook = lost
    try:
        starting.over()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, end)
        code = execute(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception:
        if not ended:
            raise
        code = INTERRUPTED  # compiled code, as numba's, raises another exception in its place
    if code == INTERRUPTED and ended:
        code = 128 + ended[0]
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            code = _refuse(f"standard output: {error.strerror}", json=False)
        # Let Python's own last flush succeed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code > BAD_INPUT:
        starting.fix(code)
    if signal.getsignal(signal.SIGINT) is end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    starting.begin()  # Python takes a while to end
    sys.exit(code)


def _open_missing() -> None:
    """Open closed standard streams: else the next file opened would get their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


class _Losing(io.FileIO):
    """A file to which writing never fails."""

    def write(self, data: Any, /) -> int:
        """What could not be written is lost."""
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def _free_stderr() -> None:
    """Let a stderr without room or reader change nothing: results and the exit code matter more."""
    plain = sys.stderr
    if isinstance(plain, io.TextIOWrapper) and plain is sys.__stderr__:
        out = io.BufferedWriter(_Losing(plain.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(out, plain.encoding, line_buffering=True)


def execute(arguments: Sequence[str]) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str
        The command line behind ``stepgen``.

    Returns
    -------
    int
        Exit code: 0 success, 1 mismatch in the hardware, 2 bad input, 130 interrupted.
    """
    words = [word for word in arguments if word != TRACEBACK]
    # Amaranth warns of components that are never elaborated: those built before an error.
    warnings.filterwarnings("ignore", ".* created but never used")
    for stream in (sys.stdout, sys.stderr):  # file names may be undecodable
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(words)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click leaves Python where a pipe is closed
        return GOOD  # the reader of the pipe has closed it
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        if len(words) < len(arguments):
            traceback.print_exception(error)
        return _refuse(sentence, json="--json" in words)


def _sentence(error: Exception) -> str | None:
    """The message of an error in the user's input or code; None for an error of stepgen."""
    if isinstance(error, StepError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this program with these settings"
    if isinstance(error, click.ClickException):
        return error.format_message()
    return _of_user(error)


def _of_user(error: Exception) -> str | None:
    """The message of a crash that passes through a user's own file; None for another one."""
    from stepgen.program.program import is_users

    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        if is_users(frame):
            code = frame.f_code
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            return f"{code.co_qualname} at {os.path.basename(code.co_filename)}:{line}: {said}"
    return None


def _run(arguments: list[str]) -> int:
    return app(arguments, prog_name="stepgen", standalone_mode=False) or GOOD


def _refuse(message: str, *, json: bool) -> int:
    sentence = shorten(" ".join(message.split()))
    if json:
        with suppress(OSError):
            print(dumps({"error": sentence, "code": BAD_INPUT}, indent=1), flush=True)
            return BAD_INPUT
    print(f"stepgen: {sentence}", file=sys.stderr)
    return BAD_INPUT
