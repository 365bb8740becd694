"""Compiled code: made in the background, kept while it may be in use, then removed."""

from __future__ import annotations

import fcntl
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stepgen.hw.units.fork.model import copy
from stepgen.timing import compiled, kernel


class Child:
    """A process that compiles."""

    def __init__(self) -> None:
        self.status: int | None = None

    def poll(self) -> int | None:
        return self.status


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Child:
    """The process that would be begun, with an empty cache."""
    made = Child()
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    monkeypatch.setattr(compiled, "_loaded", {})
    monkeypatch.setattr(compiled, "_child", None)
    monkeypatch.setattr(compiled.subprocess, "Popen", lambda *_, **__: made)
    monkeypatch.delenv("STEPGEN_BACKGROUND", raising=False)
    return made


def test_code_is_available_once_it_is_made(child: Child, tmp_path: Path) -> None:
    needed = [kernel.run, copy]
    for function in needed:
        assert not compiled.available(needed)
        (tmp_path / f"{compiled._name(function)}.o").touch()
    assert compiled.available(needed)


def test_a_compiler_that_fails_leaves_its_work_to_the_run(child: Child) -> None:
    assert not compiled.available([copy])
    child.status = 1
    assert compiled.available([copy])


def test_one_process_compiles(child: Child, tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not compiled.available([copy])
        assert compiled._child is None
    assert not compiled.available([copy])
    assert compiled._child is child


def test_no_process_is_begun_where_it_is_not_wanted(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPGEN_BACKGROUND", "0")
    assert compiled.available([copy])
    assert compiled._child is None


@pytest.mark.slow
def test_a_first_command_waits_for_no_compiler(tmp_path: Path) -> None:
    """It is interpreted, and what it has begun to compile serves the next one."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "stepgen", "time", "moe", "--json"]
    first = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    (folder,) = tmp_path.glob("compiled-*")
    with (folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until all is compiled
    names = {compiled._name(function) for function in (*kernel.loops, *kernel.known_steps)}
    assert names <= {path.stem for path in folder.glob("*.o")}
    count = len([*folder.iterdir()])
    again = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout
    assert len([*folder.iterdir()]) == count


def test_all_steps_have_a_name_for_their_code() -> None:
    for name in compiled._modules():
        importlib.import_module(name)
    nameless = [f for f in (*kernel.loops, *kernel.known_steps) if compiled._name(f) is None]
    assert not nameless
    assert len(kernel.known_steps) > 100


def test_compiled_code_is_loaded_without_the_compiler() -> None:
    place = compiled._folder() / f"{compiled._name(copy)}.o"
    compiled.step(copy)
    assert place.is_file()
    line = (
        "import sys; from stepgen.timing import compiled; "
        "from stepgen.hw.units.fork.model import copy; compiled.step(copy); "
        "print('llvmlite' in sys.modules, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_a_damaged_file_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    monkeypatch.setattr(compiled, "_loaded", {})
    place = tmp_path / f"{compiled._name(copy)}.o"
    place.write_bytes(b"\x7fELF")
    compiled.step(copy)
    assert place.stat().st_size > 4


def test_code_that_needs_the_compiler_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    monkeypatch.setattr(compiled, "_loaded", {})

    @kernel.step
    def takes_memory(M: kernel.Memory, a: int, t: int) -> int:
        return kernel.acted(M, t + len([a] * t))

    assert compiled._name(takes_memory) is not None
    assert not [*tmp_path.iterdir()]
    compiled._address(kernel.run)
    assert [*tmp_path.glob("*.o")]


def test_equal_functions_share_their_code() -> None:
    def made() -> Any:
        @kernel.step
        def waits(M: kernel.Memory, a: int, t: int) -> int:
            return kernel.acted(M, t + M[a + 7])

        return waits

    one, other = made(), made()
    assert one is not other
    assert compiled.step(one) == compiled.step(other)


WAIT = 1


@kernel.step
def waits_longer(M: kernel.Memory, a: int, t: int) -> int:
    return kernel.acted(M, t + WAIT)


def test_code_follows_what_a_step_of_a_user_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook, where a cell changes a constant."""
    before = compiled.step(waits_longer)
    monkeypatch.setitem(waits_longer.__globals__, "WAIT", 2)
    assert compiled.step(waits_longer) != before
    monkeypatch.undo()
    assert compiled.step(waits_longer) == before
