"""The compiler of step functions and of the kernel's loop: numba.

Both become C functions of words and of the state array, by its address. They return 0 where Python
would raise an exception, which would need Python's library and numba's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from llvmlite import ir
from numba.core import compiler, compiler_machinery, errors, event, typed_passes, types
from numba.extending import intrinsic, overload, register_jitable

from stepgen.ir.errors import StepError
from stepgen.ir.helper import new_helpers
from stepgen.timing import kernel, machine_code
from stepgen.timing.watch import watcher

Function = Callable[..., Any]

_WORD = types.int64
_WORDS: Any = types.CPointer(_WORD)  # type: ignore[no-untyped-call]
"""An array. Accesses to numba's own arrays look for negative indices."""

# LLVM inlines helpers after compiling them once; ``inline="always"`` would have numba compile them
# again in each caller.
_inlined: Function = register_jitable(forceinline=True)


def step(function: Function, name: str) -> machine_code.ObjectFile:
    """An object file with a step function, by this name.

    Raises
    ------
    StepError
        If it does something that steps can't; the message names the line.
    """
    _set_up()
    kind = _WORD(_WORDS, _WORD, _WORD)
    try:
        made = numba.cfunc(kind, pipeline_class=_OfIntegers)(function)
    except errors.TypingError as error:
        raise _refused(function, str(error)) from None
    return _object(made, "ptr i64 i64", name)


def loop(function: Function, name: str) -> machine_code.ObjectFile:
    """An object file with one of `kernel.loops`, such as that over step functions by address."""
    _set_up()
    made = numba.cfunc(_WORD(_WORDS, _WORDS, _WORD, _WORD))(function)
    return _object(made, "ptr ptr i64 i64", name)


def _object(made: Any, kinds: str, name: str) -> machine_code.ObjectFile:
    """The object file of what numba has made, which takes arguments of these kinds.

    It has a C function of our own: numba's has Python show an exception where the status is not 0.
    """
    inner = made.native_name.removeprefix("cfunc.")
    taken = ", ".join(f"{kind} %{n}" for n, kind in enumerate(kinds.split()))
    entry = f"""
define i64 @{name}({taken}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @{inner}(ptr %result, ptr %error, {taken}) alwaysinline
  %good = icmp eq i32 %status, 0
  %value = load i64, ptr %result
  %returned = select i1 %good, i64 %value, i64 0
  ret i64 %returned
}}
"""
    return machine_code.assembled(made.inspect_llvm() + entry, name)


def _set_up() -> None:
    _listen()
    while new_helpers:
        _inlined(new_helpers.pop())


@cache
def _listen() -> None:
    event.register("numba:compile", listener())  # type: ignore[no-untyped-call]


def listener() -> Any:
    """What reports to watchers when something is compiled."""

    class Listener(event.Listener):
        """Counts compiled functions, and those that they call."""

        count = 0

        def on_start(self, event: event.Event) -> None:
            watcher().compiles(self.count)

        def on_end(self, event: event.Event) -> None:
            self.count += 1
            watcher().compiles(self.count)

    return Listener()


@intrinsic
def _at(context: Any, address: Any, M: Any, a: Any, t: Any) -> Any:
    """Call a step function at an address."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, words = args[0].type, args[1].type
        kind = ir.FunctionType(word, [words, word, word])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return address(address, M, a, t), code


@overload(kernel.call)
def _call(step: Any, M: Any, a: Any, t: Any) -> Any:
    def by_address(step: Any, M: Any, a: Any, t: Any) -> Any:
        return _at(step, M, a, t)  # type: ignore[call-arg]

    return by_address


@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=True)  # type: ignore[no-untyped-call]
class _Integers(compiler_machinery.AnalysisPass):
    """Refuses floats: compiled code would cut what a step returns or stores."""

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


class _OfIntegers(compiler.CompilerBase):
    """A compiler that refuses floats."""

    def define_pipelines(self) -> list[Any]:
        default: Any = compiler.DefaultPassBuilder
        passes = default.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Integers, typed_passes.NopythonTypeInference)
        passes.finalize()
        return [passes]


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
