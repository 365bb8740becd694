"""Compiled code of other versions of the sources is kept while it may be in use, then removed."""

from __future__ import annotations

import os
from pathlib import Path

from stepgen.timing import compiled


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
