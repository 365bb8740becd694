import contextlib
import functools
import os
import signal
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


def interrupt(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("there", [True, False])
def test_an_interruption_leaves_all_entries_or_none(tmp_path, monkeypatch, there):
    """Whichever move it comes before."""
    for moment in range(5):
        target = tmp_path / str(moment)
        if there:
            target.mkdir()
            (target / "b").write_text("old")
            (target / "old").write_text("old")
        moves = []

        def move(source, place, real, moment=moment, moves=moves):
            if len(moves) == moment:
                interrupt()
            moves.append(Path(place).name)
            real(source, place)

        with monkeypatch.context() as patch:
            for name in ("replace", "rename"):
                patch.setattr(os, name, functools.partial(move, real=getattr(os, name)))
            with (
                contextlib.suppress(KeyboardInterrupt),
                atomic_folder(target, last="b", gone=["old"] if there else ()) as place,
            ):
                for name in "abc":
                    (place / name).write_text("new")
        if there or moment:
            assert tree(target) == dict.fromkeys("abc", "new")
            assert moves == (["a", "c", "b"] if there else [target.name])
        assert {p.name for p in tmp_path.iterdir()} <= set("01234")


@pytest.fixture
def interruptible():
    """Ctrl-C is heard, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interruption_is_not_lost(tmp_path, monkeypatch, interruptible):
    (tmp_path / "out").mkdir()
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *names: (interrupt(), real(*names)))
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "out") as place:
        (place / "a").write_text("new")
    assert tree(tmp_path) == {"out/a": "new"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_new_folder_has_the_mode_of_any(tmp_path):
    with atomic_folder(tmp_path / "new"):
        (tmp_path / "other").mkdir()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


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
