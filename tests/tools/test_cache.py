"""Entries of the cache."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from stepgen.ir.errors import StepError
from stepgen.tools.cache import FULL, kept


@pytest.mark.parametrize("number", FULL)
def test_a_cache_that_can_not_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path))
    entry = tmp_path / "entries" / "one"

    def make(place: Path) -> dict[str, object]:
        (place / "file").touch()
        raise OSError(number, os.strerror(number))

    with pytest.raises(StepError) as caught:
        kept(entry, "one", make, keep=3)
    told = f"can't write the cache {tmp_path}: {os.strerror(number)}: STEPGEN_CACHE names "
    assert str(caught.value).startswith(told)
    assert not list(entry.parent.iterdir())


def test_other_errors_are_none_of_the_cache(tmp_path: Path) -> None:
    def make(place: Path) -> dict[str, object]:
        raise FileNotFoundError(errno.ENOENT, "no such tool")

    with pytest.raises(FileNotFoundError, match="no such tool"):
        kept(tmp_path / "entries" / "one", "one", make, keep=3)
