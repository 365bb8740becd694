"""Machine code in object files, which need no compiler to be loaded."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import binding as llvm

_lock = threading.Lock()


def processor() -> str:
    """For which processor code is made: its name and what it can do."""
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


@dataclass(frozen=True)
class ObjectFile:
    """An object file, and whether it refers to nothing outside it."""

    code: bytes
    alone: bool


def assembled(text: str, name: str) -> ObjectFile:
    """An object file with one function.

    Parameters
    ----------
    text : str
        A module as LLVM writes it.
    name : str
        The function in it that others may call.
    """
    with _lock:
        module = llvm.parse_assembly(text)
        for value in (*module.functions, *module.global_variables):
            if not value.is_declaration and value.name != name:
                value.linkage = llvm.Linkage.internal
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(
            module, llvm.create_pass_builder(_for_files(), llvm.create_pipeline_tuning_options())
        )
        left = (*module.functions, *module.global_variables)
        outside = [value.name for value in left if value.is_declaration]
        code: bytes = _for_files().emit_object(module)
    return ObjectFile(code, all(each.startswith("llvm.") for each in outside))


def loaded(code: bytes, name: str) -> int:
    """The address of the function of an object file.

    Raises
    ------
    ValueError
        If it has no function of this name.
    """
    with _lock:
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address: int = engine.get_function_address(name)
    if not address:
        raise ValueError(f"the object file has no function {name}")
    return address


@cache
def _for_files() -> Any:
    return _target()


def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
