from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepgen.cosim.case import Case, cases_in, read_hex, undefined_in, write_cases, write_hex
from stepgen.emit.interface import Interface, MemoryPort, StreamPort
from stepgen.ir.errors import StepError

INTERFACE = Interface(
    "d",
    (StreamPort("x", "in", 2, 8, 2, 16), StreamPort("y", "out", 2, 8, 2, 16)),
    ("c",),
    MemoryPort(64, 32, ((0, 1024),)),
)
ROWS = np.zeros((1, 3), np.uint8)


@pytest.mark.parametrize("word", [1, 4, 8, 128])
def test_images_come_back(tmp_path: Path, word: int) -> None:
    image = np.random.default_rng(word).integers(0, 256, 1000, dtype=np.uint8)
    path = tmp_path / "image.hex"
    write_hex(path, image, word)
    lines = path.read_text().splitlines()
    assert len(lines) == -(-1000 // word)
    assert int(lines[0], 16) == int.from_bytes(image[:word].tobytes(), "little")
    again = read_hex(path, word)
    assert np.array_equal(again[:1000], image)
    assert not again[1000:].any()


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case("k"), "case k of d: no beats are given for the port x"),
        (Case("k", {"x": ROWS, "z": ROWS}), "there is no port z among the sources"),
        (Case("k", {"x": ROWS}, {"x": ROWS}), "there is no port x among the expected"),
        (
            Case("k", {"x": np.zeros((4, 2), np.uint8)}),
            r"port x takes uint8 payloads of shape \[beats, 3\], not uint8 of shape \[4, 2\]",
        ),
        (Case("k", {"x": ROWS}, pops={"q": np.zeros(0, np.int64)}), "there is no channel q"),
        (
            Case("k", {"x": ROWS}, memory=np.zeros(2048, np.uint8)),
            "a memory image of 2048 bytes does not fit into the simulated memory of 1024 bytes",
        ),
        (
            Case("k", {"x": ROWS}, memory_after=np.zeros(8, np.uint8)),
            "the memory after the run must be as long as the memory before",
        ),
    ],
)
def test_a_wrong_case_leaves_the_folder_whole(tmp_path: Path, case: Case, said: str) -> None:
    write_cases(tmp_path, INTERFACE, [Case("good", {"x": ROWS})] * 2)
    with pytest.raises(StepError, match=said):
        write_cases(tmp_path, INTERFACE, [Case("good", {"x": ROWS}), case])
    assert cases_in(tmp_path) == [0, 1]


def test_a_new_run_replaces_the_old_one(tmp_path: Path) -> None:
    write_cases(tmp_path, INTERFACE, [Case("a", {"x": ROWS})] * 3)
    write_cases(tmp_path, INTERFACE, [Case("b", {"x": ROWS})])
    assert cases_in(tmp_path) == [0]


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "2024").mkdir()
    with pytest.raises(StepError, match="is not empty and is not a run folder"):
        write_cases(tmp_path, INTERFACE, [Case("a", {"x": ROWS})])
    assert (tmp_path / "2024").exists()


def test_undefined_bytes_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    image, holes = rng.integers(0, 256, 100, dtype=np.uint8), rng.random(100) < 0.3
    path = tmp_path / "image.hex"
    write_hex(path, image, 8, holes)
    assert np.array_equal(undefined_in(path, 8)[:100], holes)
    assert np.array_equal(read_hex(path, 8)[:100], np.where(holes, 0, image))
    path.write_text("// a comment\n0X12\nx0ff\n")  # as simulators write words that are partly X
    assert undefined_in(path, 2).tolist() == [False, True, False, True]
