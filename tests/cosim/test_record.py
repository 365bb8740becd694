from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepgen.cosim.record import read_record
from stepgen.ir.errors import StepError

ADVANCE = 1 << 31


def test_events_go_to_their_channels(tmp_path: Path) -> None:
    path = tmp_path / "record.bin"
    words = [ADVANCE | 3, 0, 2, 5, ADVANCE | 1, 0, ADVANCE | 0x7FFFFFFF, ADVANCE | 2, 1]
    np.array(words, np.uint32).tofile(path)
    record = read_record(path, ["a", "b", "c"])
    assert {k: v.tolist() for k, v in record.pushes.items()} == {"a": [3, 4], "b": [3], "c": []}
    assert {k: v.tolist() for k, v in record.pops.items()} == {
        "a": [3 + 1 + 0x7FFFFFFF + 2],
        "b": [],
        "c": [3],
    }


def test_drawn_records(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    moves = rng.random((500, 40)) < 0.2
    words: list[int] = []
    last = 0
    for cycle in np.flatnonzero(moves.any(axis=1)).tolist():
        words += [ADVANCE | (cycle - last), *np.flatnonzero(moves[cycle]).tolist()]
        last = cycle
    path = tmp_path / "record.bin"
    np.array(words, np.uint32).tofile(path)
    record = read_record(path, [str(i) for i in range(20)])
    for i in range(20):
        assert record.pushes[str(i)].tolist() == np.flatnonzero(moves[:, 2 * i]).tolist()
        assert record.pops[str(i)].tolist() == np.flatnonzero(moves[:, 2 * i + 1]).tolist()


def test_empty_and_foreign_records(tmp_path: Path) -> None:
    path = tmp_path / "record.bin"
    path.write_bytes(b"")
    assert read_record(path, ["a"]).pushes["a"].tolist() == []
    np.array([ADVANCE, 6], np.uint32).tofile(path)
    with pytest.raises(StepError, match="channel 3 of 2 channels"):
        read_record(path, ["a", "b"])
