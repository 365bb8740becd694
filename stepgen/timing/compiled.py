"""Compiled code of the kernel's loops and of step functions, in a cache.

Step functions are plain Python. A process of its own compiles those that runs need, so that nobody
waits: until it is done they are interpreted (see `stepgen.timing.stepping`). Object files are named
after what they were compiled from, so a function that has changed is compiled again.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import hashlib
import importlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import platformdirs

from stepgen.timing.fingerprint import fingerprint

Function = Callable[..., Any]
Words = npt.NDArray[np.int64]
Loop = Callable[[Words, Words, int, int], int]

ROOT = Path(__file__).resolve().parents[1]

DIGEST = hashlib.sha256().digest_size
"""Bytes of the digest that files begin with."""

_names: dict[Function, str | None] = {}
"""Names of stepgen's own functions."""
_nameless: dict[Function, str] = {}
"""Symbols of functions without a name."""
_others = itertools.count()
"""Numbers of these."""
_loaded: dict[str, int] = {}
"""Addresses of compiled functions in this process, by their symbols."""
_lock = threading.Lock()
_child: subprocess.Popen[bytes] | None = None


def turned_off() -> bool:
    """Whether the user has turned off the compiler: all runs are interpreted."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def step(function: Function) -> int:
    """The address of a step function, compiled to the type that all step functions have.

    Raises
    ------
    StepError
        If it does something that steps can't; the message names the line.
    """
    return _address(function)


def loop(function: Function) -> Loop:
    """One of `kernel.loops`, compiled; `kernel.run` takes the addresses of step functions."""
    word, words = ctypes.c_int64, ctypes.c_void_p
    code = ctypes.CFUNCTYPE(word, words, words, word, word)(_address(function))

    def called(first: Words, M: Words, a: int, b: int) -> int:
        return int(code(first.ctypes.data, M.ctypes.data, a, b))

    return called


def available(functions: Iterable[Function]) -> bool:
    """Whether functions have been compiled, in this process or in the cache.

    If not, a process in the background begins to compile them, these first. If it can't, or
    ``STEPGEN_BACKGROUND`` is 0, they count as available, and the caller will wait for them.
    """
    global _child
    # A user's step was compiled where it was written, and is again if what it uses has changed.
    missing = [each for each in functions if _is_own(each) and not _is_made(each)]
    if not missing or os.environ.get("STEPGEN_BACKGROUND") == "0":
        return True
    if _child is not None and _child.poll() is not None:
        return True
    if _child is None:
        try:
            _child = _begin([f"{each.__module__}:{each.__qualname__}" for each in missing])
        except OSError:
            return True
    return False


def compile_all(names: Iterable[str]) -> None:
    """Compile functions, given as ``module:function``, and then those of all units and operators.

    Their code is in the cache afterwards.
    """
    from stepgen.timing import kernel

    first: list[Function] = [*map(_found, names), *kernel.loops]
    for name in _modules():
        importlib.import_module(name)
    for function in [*first, *kernel.known_steps]:
        if not _folder().is_dir():
            break  # who began this has ended and taken the cache along
        _address(function)


def _is_own(function: Function) -> bool:
    """Whether a function is one of stepgen's, and so uses nothing that changes."""
    return function.__module__.startswith("stepgen.")


def _is_made(function: Function) -> bool:
    name = _name(function)
    return _symbol(function) in _loaded or (name is not None and _file(name).is_file())


def _name(function: Function) -> str | None:
    """What the file of a function is called, if it has one."""
    from stepgen.timing import kernel

    if function not in _names:
        name = fingerprint(function, [cast("FunctionType", kernel.call)])
        if not _is_own(function):
            return name
        _names[function] = name
    return _names[function]


def _symbol(function: Function) -> str:
    """What a function is called in its object file."""
    name = _name(function)
    return f"stepgen_{name}" if name else _nameless.setdefault(function, f"stepgen_{next(_others)}")


def _address(function: Function) -> int:
    """The address of a function, whose code is loaded, or made and kept."""
    with _lock:
        name, symbol = _name(function), _symbol(function)
        if symbol not in _loaded:
            _loaded[symbol] = _load(name, symbol) or _make(function, name, symbol)
        return _loaded[symbol]


def _load(name: str | None, symbol: str) -> int:
    """The address of a function whose code is kept, else 0."""
    from stepgen.timing import machine_code

    if name is not None:
        with contextlib.suppress(OSError):
            kept = _file(name).read_bytes()
            if kept[:DIGEST] == _digest(kept[DIGEST:]):
                return machine_code.loaded(kept[DIGEST:], symbol)
    return 0


def _make(function: Function, name: str | None, symbol: str) -> int:
    """The address of a function, which is compiled, and its code kept."""
    from stepgen.timing import compiler, kernel, machine_code

    make = compiler.loop if function in kernel.loops else compiler.step
    made = make(function, symbol)
    if name is not None and made.alone:  # else numba, which it refers to, has to be there
        _keep(name, made.code)
    return machine_code.loaded(made.code, symbol)


def _digest(code: bytes) -> bytes:
    """What a file begins with: LLVM does not survive one that is damaged."""
    return hashlib.sha256(code).digest()


def _file(name: str) -> Path:
    return _folder() / f"{name}.o"


def _keep(name: str, code: bytes) -> None:
    """Write the file of a function, all at once, since other processes look for it."""
    with contextlib.suppress(OSError):
        part = _file(f"{name}-{os.getpid()}")
        part.write_bytes(_digest(code) + code)
        part.replace(_file(name))


@cache
def _folder() -> Path:
    """The folder of code that this compiler makes for this processor."""
    from stepgen.timing.machine_code import processor

    sources = [(ROOT / "timing" / name).read_text() for name in ("compiler.py", "machine_code.py")]
    made_by = [*sources, processor(), *(version(name) for name in ("numba", "llvmlite"))]
    name = f"compiled-{hashlib.sha256(repr(made_by).encode()).hexdigest()[:16]}"
    folder = _parent(name) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # no cache can be kept, so it lasts as long as this process
        parent = Path(tempfile.mkdtemp(prefix="stepgen-"))
        atexit.register(shutil.rmtree, parent, ignore_errors=True)
        folder = parent / name
        folder.mkdir()
    return folder


def _parent(name: str) -> Path:
    """Where compiled code lies: beside the sources, if it can, as that of an image does."""
    own = os.environ.get("NUMBA_CACHE_DIR")
    beside = ROOT / "timing" / "__pycache__"
    if own:
        return Path(own)
    if os.access(ROOT / "timing", os.W_OK) or (beside / name).is_dir():
        return beside
    return platformdirs.user_cache_path("stepgen", appauthor=False) / "compiled"


def _found(name: str) -> Function:
    module, _, function = name.partition(":")
    found: Function = getattr(importlib.import_module(module), function)
    return found


def _modules() -> list[str]:
    """Names of the modules that have step functions."""
    paths = [*ROOT.glob("hw/units/*/model.py"), *ROOT.glob("timing/**/[a-z]*.py")]
    return [".".join(p.relative_to(ROOT.parent).with_suffix("").parts) for p in sorted(paths)]


def _begin(names: list[str]) -> subprocess.Popen[bytes] | None:
    """A process that compiles functions; None while another one does."""
    with open(_folder() / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        path = os.pathsep.join([str(ROOT.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        # It inherits the lock, outlives this process, and gets no Ctrl-C. In a session of its own
        # it would not be nice to the others.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "stepgen.timing", "--background", *names],
            env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(_folder().parent)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock.fileno()],
            process_group=0,
        )
