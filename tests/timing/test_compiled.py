"""Compiled code: made in the background, kept while it may be in use, then removed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepgen.hw.units.fork.model import copy
from stepgen.timing import compiled, kernel


def test_only_unused_code_is_removed(tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    now = (tmp_path / "new").stat().st_mtime
    (tmp_path / "new").unlink()
    hours = {"now": 0, "minutes": 0.5, "hours": 3, "days": 50, "weeks": 400, "months": 2000}
    for name, age in hours.items():
        folder = tmp_path / f"compiled-{name}"
        folder.mkdir()
        (folder / "code").touch()
        then = now - 3600 * age
        os.utime(folder, (then, then))
    compiled._drop_old(tmp_path)
    assert {f.name for f in tmp_path.iterdir()} == {f"compiled-{n}" for n in list(hours)[:3]}
    for name in ("minutes", "hours"):
        recent = now - 60
        os.utime(tmp_path / f"compiled-{name}", (recent, recent))
    for i in range(3):
        (tmp_path / f"compiled-{i}").mkdir()
    compiled._drop_old(tmp_path)
    assert len(list(tmp_path.iterdir())) == 6


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
    monkeypatch.setattr(compiled, "_known", {})
    monkeypatch.setattr(compiled, "_child", None)
    monkeypatch.setattr(compiled.subprocess, "Popen", lambda *_, **__: made)
    monkeypatch.delenv("STEPGEN_BACKGROUND", raising=False)
    return made


def test_code_is_available_once_it_is_made(child: Child, tmp_path: Path) -> None:
    needed = [kernel.run, copy]
    assert not compiled.available(needed)
    (tmp_path / "made").write_text("stepgen.timing.kernel:run\n")
    assert not compiled.available(needed)
    (tmp_path / "made").write_text("stepgen.timing.kernel:run\nstepgen.hw.units.fork.model:copy\n")
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
    names = {compiled._name(function) for function in (kernel.run, *kernel.known_steps)}
    assert names <= set((folder / "made").read_text().split())
    count = len([*folder.rglob("*.nbi")])
    again = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout
    assert len([*folder.rglob("*.nbi")]) == count
