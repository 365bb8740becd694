"""Entries of the cache."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest
from mutations import bytes_of

from stepgen.cosim.objects import Source, compile_all, link, precompiled
from stepgen.ir.errors import StepError
from stepgen.tools.cache import FULL, MADE, kept, kept_file


@pytest.mark.parametrize("number", FULL)
def test_a_cache_that_can_not_be_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path))
    entry = tmp_path / "entries" / "one"

    def make(place: Path) -> dict[str, object]:
        (place / "file").touch()
        raise OSError(number, os.strerror(number))

    with pytest.raises(StepError) as caught:
        kept(entry, "one", make, keep=3)
    message = f"can't write the cache {tmp_path}: {os.strerror(number)}: STEPGEN_CACHE names "
    assert str(caught.value).startswith(message)
    assert not list(entry.parent.iterdir())


def test_other_errors_are_none_of_the_cache(tmp_path: Path) -> None:
    def make(place: Path) -> dict[str, object]:
        raise FileNotFoundError(errno.ENOENT, "no such tool")

    with pytest.raises(FileNotFoundError, match="no such tool"):
        kept(tmp_path / "entries" / "one", "one", make, keep=3)


def test_a_damaged_entry_is_made_anew(tmp_path: Path) -> None:
    entry, made = tmp_path / "entries" / "one", []
    content = {"program": bytes(range(256)) * 4, "inner/text": b"a text"}

    def make(place: Path) -> dict[str, object]:
        made.append(place)
        (place / "inner").mkdir()
        for name, data in content.items():
            (place / name).write_bytes(data)
        return {"answer": 42}

    def right() -> bool:
        record = kept(entry, "one", make, keep=3)
        found = {name: (entry / name).read_bytes() for name in content}
        return record["answer"] == 42 and found == content

    assert right()
    assert right()
    assert len(made) == 1
    for path in [path for path in entry.rglob("*") if path.is_file()]:
        whole = path.read_bytes()
        damages = [b"", b"junk", b"[]", b"null", whole + b"more", bytes(len(whole))]
        if path.name != MADE:  # the record of an entry is not a part of it
            damages += [data for _, data in bytes_of(whole, seed=1, count=20) if data != whole]
        for damaged in damages:
            path.write_bytes(damaged)
            made.clear()
            assert right(), (path.name, damaged)
            assert len(made) == 1


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    target = tmp_path / "files" / "one.o"
    content, made = bytes(range(256)) * 40, []

    def make(place: Path) -> None:
        made.append(place)
        place.write_bytes(content)

    def right() -> bool:
        return kept_file(target, make) == target and target.read_bytes() == content

    assert right()
    assert right()
    assert len(made) == 1
    everything = set(target.parent.iterdir())
    damages = [data for _, data in bytes_of(content, seed=1, count=40)]
    damages += [b"", b"junk", content + b"more", b"\0" * len(content)]
    for number, data in enumerate(damages):
        for path in everything:
            if path.read_bytes() == data:
                continue
            path.write_bytes(data)
            made.clear()
            assert right(), number
            assert len(made) == 1
    for path in everything:
        path.unlink()
        assert right()
    assert set(target.parent.iterdir()) == everything


def test_a_file_that_can_not_be_made_leaves_nothing(tmp_path: Path) -> None:
    def make(place: Path) -> None:
        place.write_bytes(b"half")
        raise StepError("it does not compile")

    with pytest.raises(StepError, match="does not compile"):
        kept_file(tmp_path / "files" / "one.o", make)
    assert not list((tmp_path / "files").iterdir())


def test_damaged_objects_are_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "cache"))
    header, source = tmp_path / "whole.h", tmp_path / "whole.cpp"
    header.write_text("static const int answer = 42;\n")
    source.write_text("int main() { return answer - 42; }\n")

    def program() -> int:
        first = precompiled(header, flags=["-O0"], fixed_by="1")
        files = [Source(source, ("-include", str(first)), "1")]
        link(compile_all(files, tmp_path, flags=["-O0"]), tmp_path / "whole")
        return subprocess.run([tmp_path / "whole"], check=False).returncode

    assert program() == 0
    entries = sorted((tmp_path / "cache" / "objects").iterdir())
    assert {path.suffix for path in entries} == {".h", ".gch", ".o", ".sha256"}
    for damage in (b"", b"junk"):
        for path in entries:
            path.write_bytes(damage)
            assert program() == 0, path.name
        for path in entries:
            path.write_bytes(damage)
        assert program() == 0
