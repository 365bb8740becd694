from pathlib import Path

import pytest

from stepgen.ir.errors import StepError
from stepgen.tools.atomic import atomic_file, atomic_folder


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def write_half(whole, name: str, error: Exception) -> None:
    with whole as place:
        (place / name).write_text("half")
        raise error


def test_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "a" / "b.txt"
    with atomic_file(target) as place:
        place.write_text("new")
        assert place.suffix == ".txt"
        assert not target.exists()
    assert tree(tmp_path) == {"a/b.txt": "new"}


def test_file_stays_when_the_block_fails(tmp_path):
    target = tmp_path / "b.txt"
    target.write_text("old")
    with pytest.raises(KeyError):
        write_half(atomic_file(target), "", KeyError())
    assert tree(tmp_path) == {"b.txt": "old"}


def test_folder_replaces_what_it_makes_and_keeps_the_rest(tmp_path):
    target = tmp_path / "out"
    (target / "0").mkdir(parents=True)
    (target / "0" / "stale").write_text("stale")
    (target / "mine").write_text("mine")
    (target / "design.v").write_text("old")
    with atomic_folder(target) as place:
        (place / "design.v").write_text("new")
        (place / "0").mkdir()
        (place / "0" / "case").write_text("case")
    assert tree(tmp_path) == {"out/mine": "mine", "out/design.v": "new", "out/0/case": "case"}


def test_folder_stays_when_the_block_fails(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "design.v").write_text("old")
    with pytest.raises(StepError, match="later"):
        write_half(atomic_folder(target), "design.v", StepError("later"))
    assert tree(tmp_path) == {"out/design.v": "old"}
    with pytest.raises(StepError, match="later"):
        write_half(atomic_folder(tmp_path / "new"), "design.v", StepError("later"))
    assert tree(tmp_path) == {"out/design.v": "old"}


@pytest.mark.parametrize("open_", [atomic_file, atomic_folder])
def test_below_a_file_nothing_can_be_written(tmp_path, open_):
    (tmp_path / "file").write_text("old")
    with (
        pytest.raises(StepError, match=r"^can't write .*/file/x: .*/file is a file$"),
        open_(tmp_path / "file" / "x"),
    ):
        pass
    assert tree(tmp_path) == {"file": "old"}


def test_kinds_are_not_mixed_up(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(StepError, match=r"can't write .*/file: it is a file"):
        atomic_folder(tmp_path / "file").__enter__()
    with pytest.raises(StepError, match=r"can't write .*: it is a folder"):
        atomic_file(tmp_path).__enter__()


@pytest.mark.parametrize("whole", [atomic_file, atomic_folder])
def test_an_error_about_another_file_names_that_file(tmp_path, whole):
    other = tmp_path / "other" / "x"
    with pytest.raises(OSError, match=str(other)), whole(tmp_path / "a" / "b.txt"):
        other.read_text()


@pytest.mark.parametrize("whole", [atomic_file, atomic_folder])
def test_an_error_about_the_result_names_the_result(tmp_path, whole):
    place = tmp_path / "a" / "b.txt"
    with pytest.raises(StepError, match=f"can't write {place}: No"), whole(place) as partial:
        (partial / "c" / "d").write_text("")
    with pytest.raises(StepError, match=f"can't write {place}: No space"), whole(place):
        raise OSError(28, "No space left on device")
