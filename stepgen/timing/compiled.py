"""Compiled code of the engine and of step functions, by numba, in a cache.

Step functions are plain Python. A process of its own compiles those that runs need, so that nobody
waits: until it is done they are interpreted (see `stepgen.timing.stepping`).

Numba only checks the time stamp of a function's own file. Constants and inlined functions of other
files are compiled in, so after a change there stale code would run on new records. The cache
therefore has a folder for each version of the sources.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs

from stepgen.ir.errors import StepError
from stepgen.ir.helper import new_helpers
from stepgen.timing.watch import watcher

Function = Callable[..., Any]
Words = npt.NDArray[np.int64]

ROOT = Path(__file__).resolve().parents[1]
KEPT = 3
"""Versions of the sources whose compiled code is kept."""
IN_USE = 3600.0
"""Seconds for which another process may still use the code of another version."""

_known: dict[Function, Any] = {}
"""Compiled code of functions in this process."""
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
    if function not in _known:
        _known[function] = _compile_step(function)
    return int(_known[function].address)


def engine(run: Function) -> Callable[[Words, Words, int, int], int]:
    """The kernel's loop, compiled; it takes the addresses of the step functions."""
    if run not in _known:
        _known[run] = _compile_engine(run)
    word, words = ctypes.c_int64, ctypes.c_void_p
    code = ctypes.CFUNCTYPE(word, words, words, word, word)(_known[run].address)

    def called(steps: Words, M: Words, limit: int, most: int) -> int:
        with _Quiet():
            return int(code(steps.ctypes.data, M.ctypes.data, limit, most))

    return called


class _Quiet(contextlib.AbstractContextManager[None]):
    """Within the block, step functions that divide by zero return 0 without a message.

    Blocks of several threads may overlap.
    """

    lock = threading.Lock()
    blocks = 0
    before: Function

    def __enter__(self) -> None:
        with self.lock:
            if not _Quiet.blocks:
                _Quiet.before, sys.unraisablehook = sys.unraisablehook, lambda _: None
            _Quiet.blocks += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            _Quiet.blocks -= 1
            if not _Quiet.blocks:
                sys.unraisablehook = _Quiet.before


def plain(function: Function) -> Function:
    """Any other function, compiled for the arguments that it gets."""
    if function not in _known:
        _known[function] = _numba().njit(cache=True)(function)
    return _known[function]  # type: ignore[no-any-return]


def available(functions: Iterable[Function]) -> bool:
    """Whether functions have been compiled, in this process or in the cache.

    If not, a process in the background begins to compile them, these first. If it can't, or
    ``STEPGEN_BACKGROUND`` is 0, they count as available, and the caller will wait for them.
    """
    global _child
    missing = [function for function in functions if function not in _known]
    if missing:
        made = _made()
        missing = [function for function in missing if _name(function) not in made]
    if not missing or os.environ.get("STEPGEN_BACKGROUND") == "0":
        return True
    if _child is not None and _child.poll() is not None:
        return True
    if _child is None:
        try:
            _child = _begin([_name(function) for function in missing])
        except OSError:
            return True
    return False


def compile_all(names: Iterable[str]) -> None:
    """Compile functions, given as ``module:function``, and then those of all units and operators.

    Their code is in the cache afterwards.
    """
    from stepgen.timing import kernel

    run: Function = kernel.run
    first = [*map(_found, names), run]
    for name in _modules():
        importlib.import_module(name)
    for function in [*first, *kernel.known_steps]:
        if not _folder().is_dir():
            break  # who began this has ended and taken the cache along
        engine(run) if function is run else step(function)


def _compile_step(function: Function) -> Any:
    numba, word, words = _types()
    try:
        return _c_function(function, word(words, word, word), pipeline_class=_of_integers())
    except numba.core.errors.TypingError as error:
        raise _refused(function, str(error)) from None


@cache
def _of_integers() -> Any:
    """A compiler that refuses floats.

    Compiled code would cut what a step returns or stores, and the interpreter would not.
    """
    from numba.core import compiler, compiler_machinery, errors, typed_passes, types

    @compiler_machinery.register_pass(  # type: ignore[no-untyped-call]
        mutates_CFG=False, analysis_only=True
    )
    class Integers(compiler_machinery.AnalysisPass):
        _name = "integers"

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]

        def run_pass(self, state: Any) -> bool:
            for line in (line for block in state.func_ir.blocks.values() for line in block.body):
                kind = state.typemap.get(getattr(getattr(line, "target", None), "name", ""))
                if isinstance(kind, types.Float | types.Complex):
                    raise errors.TypingError(
                        f"it must compute with integers, not with {kind}; a // b is the quotient "
                        "of integers",
                        line.loc,
                    )
            return False

    class Compiler(compiler.CompilerBase):
        def define_pipelines(self) -> list[Any]:
            default: Any = compiler.DefaultPassBuilder
            passes = default.define_nopython_pipeline(self.state)
            passes.add_pass_after(Integers, typed_passes.NopythonTypeInference)
            passes.finalize()
            return [passes]

    return Compiler


def _compile_engine(run: Function) -> Any:
    _, word, words = _types()
    return _c_function(run, word(words, words, word, word))


def _types() -> tuple[ModuleType, Any, Any]:
    """Numba, and its types of a word and of an array by its address.

    Accesses to arrays of Numba's own look for negative indices.
    """
    numba = _numba()
    return numba, numba.types.int64, numba.types.CPointer(numba.types.int64)


def _c_function(function: Function, signature: Any, **options: Any) -> Any:
    """A function compiled to one that is called by its address."""
    numba = _numba()
    try:
        compiled = numba.cfunc(signature, cache=True, **options)(function)
        _note(function)
    except (ModuleNotFoundError, OSError):
        # The cache goes by the name of the module, and a user's file has several; or it is full.
        compiled = numba.cfunc(signature, **options)(function)
    return compiled


def _calls_by_address() -> None:
    """Have compiled code call step functions, of which it has addresses."""
    from llvmlite import ir
    from numba.extending import intrinsic, overload

    from stepgen.timing import kernel

    @intrinsic
    def at(context: Any, address: Any, M: Any, a: Any, t: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word, words = args[0].type, args[1].type
            kind = ir.FunctionType(word, [words, word, word])
            return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

        return address(address, M, a, t), code

    @overload(kernel.call)
    def call(step: Any, M: Any, a: Any, t: Any) -> Any:
        def by_address(step: Any, M: Any, a: Any, t: Any) -> Any:
            return at(step, M, a, t)  # type: ignore[call-arg]

        return by_address


def _refused(function: Function, said: str) -> StepError:
    """The first cause that numba names, at the line that it shows."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    file = Path(code.co_filename).name
    lines = re.findall(rf'File "[^"]*{re.escape(file)}", line (\d+):', said)
    cause = next(
        (line for line in said.splitlines() if line and not line.startswith("Failed in ")), said
    )
    if "none to int64" in cause:
        cause = "it must return on every path: a wait, or acted(M, t)"
    where = lines[-1] if lines else code.co_firstlineno
    return StepError(f"the step function {function.__name__} at {file}:{where}: {cause}")


def _numba() -> ModuleType:
    """Numba, set up, with all helpers that exist by now."""
    numba = set_up()
    from numba.extending import register_jitable

    # LLVM inlines helpers after compiling them once; ``inline="always"`` would have numba compile
    # them again in each caller.
    inlined: Function = register_jitable(forceinline=True)
    while new_helpers:
        inlined(new_helpers.pop())
    return numba


@cache
def set_up() -> ModuleType:
    import numba
    from numba.core import event

    event.register("numba:compile", listener())  # type: ignore[no-untyped-call]
    _calls_by_address()
    numba.config.CACHE_DIR = str(_folder())  # type: ignore[attr-defined]
    return numba


def listener() -> Any:
    """What reports to watchers when something is compiled."""
    from numba.core import event

    class Listener(event.Listener):
        """Counts compiled functions, i.e. those not in the cache, and the ones they call."""

        count = 0

        def on_start(self, event: event.Event) -> None:
            watcher().compiles(self.count)

        def on_end(self, event: event.Event) -> None:
            self.count += 1
            watcher().compiles(self.count)

    return Listener()


@cache
def _folder() -> Path:
    """The folder of the compiled code of this version of the sources."""
    sources = [*ROOT.glob("timing/**/*.py"), ROOT / "drivers/stalls.py", ROOT / "ir/wire.py"]
    sources += [path for name in ("model", "params") for path in ROOT.glob(f"hw/units/*/{name}.py")]
    texts = (path.read_bytes() for path in sorted(sources))
    # Numba files code by the path of its source, too.
    state = hashlib.sha256(b"\0".join([bytes(ROOT), *texts])).hexdigest()[:16]
    folder = _parent(f"compiled-{state}") / f"compiled-{state}"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _drop_old(folder.parent)
        with contextlib.suppress(PermissionError):  # of another user, who has compiled it
            os.utime(folder)
    except OSError:  # no cache can be kept, so it lasts as long as this process
        parent = Path(tempfile.mkdtemp(prefix="stepgen-"))
        atexit.register(shutil.rmtree, parent, ignore_errors=True)
        folder = parent / folder.name
        folder.mkdir()
    return folder


def _parent(name: str) -> Path:
    """Where compiled code lies: beside the sources, if it can, as that of an image does."""
    own = os.environ.get("NUMBA_CACHE_DIR")
    beside = ROOT / "timing" / "__pycache__"
    if own:
        return Path(own)
    if os.access(ROOT / "timing", os.W_OK) or (beside / name / "made").is_file():
        return beside
    return platformdirs.user_cache_path("stepgen", appauthor=False) / "compiled"


def _drop_old(parent: Path) -> None:
    """Remove code of versions that have not been used lately."""
    used: dict[Path, float] = {}
    for folder in parent.glob("compiled-*"):
        # Another process may remove the same folders.
        with contextlib.suppress(FileNotFoundError):
            used[folder] = folder.stat().st_mtime
    for old in sorted(used, key=used.__getitem__)[:-KEPT]:
        if used[old] < time.time() - IN_USE:
            shutil.rmtree(old, ignore_errors=True)


def _name(function: Function) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def _found(name: str) -> Function:
    module, _, function = name.partition(":")
    found: Function = getattr(importlib.import_module(module), function)
    return found


def _note(function: Function) -> None:
    """Note in the cache that a function of stepgen's own has been compiled."""
    if function.__module__.startswith("stepgen."):
        with contextlib.suppress(OSError), (_folder() / "made").open("a") as file:
            file.write(f"{_name(function)}\n")


def _made() -> set[str]:
    """Names of the functions whose compiled code is in the cache."""
    with contextlib.suppress(OSError):
        return set((_folder() / "made").read_text().split())
    return set()


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
