"""Notebooks of the tutorials: their cells are those of the pages, and print what these say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepgen.pages import notebooks

nbformat = pytest.importorskip("nbformat")

PAGES = sorted(notebooks.TUTORIALS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_commands_of_its_page(page: Path) -> None:
    made = notebooks.notebook(page.read_text())
    nbformat.validate(made)
    code = "\n".join(cell.source for cell in made.cells if cell.cell_type == "code")
    text = page.read_text()
    commands = re.findall(r"^\$ (?!make )(.*)$", text, re.MULTILINE)
    assert re.findall(r"^!(.*)$", code, re.MULTILINE) == commands
    assert len(re.findall(r"[Ss]ave this as", text)) == code.count("%%writefile ")
    prose = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "](../" not in prose
    assert text.splitlines()[0] in prose
    assert made == notebooks.notebook(text)


def test_blocks_that_are_to_be_read_stay_text() -> None:
    made = notebooks.notebook(
        "# A\n\n[b](b.md), [c](https://c)\n\n```text\nx\n```\n\nSave this as `p.py`:\n\n"
        "```python\nx = 1\n```\n\n```console\n$ stepgen run p.py:f\nout\n$ make x\n```\n"
    )
    assert [(cell.cell_type, cell.source) for cell in made.cells] == [
        ("markdown", "# A\n\nb, [c](https://c)\n\n```text\nx\n```\n\nSave this as `p.py`:"),
        ("code", "%%writefile p.py\nx = 1"),
        ("markdown", "```console\n$ stepgen run p.py:f\nout\n$ make x\n```"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_prints_what_its_page_says(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    made = notebooks.run(notebooks.notebook(page.read_text()), tmp_path)
    printed = {
        re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip()
        for cell in made.cells
        for output in cell.get("outputs", ())
        for line in output.get("text", "").splitlines()
    }
    for language, body in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.M | re.S):
        if language == "console" and "$ make" not in body:
            for line in body.splitlines():
                wanted = re.escape(line.rstrip()).replace(re.escape("..."), ".*")
                assert line.startswith("$ ") or any(re.fullmatch(wanted, p) for p in printed), line
    # No bar that is drawn over itself: only colours.
    assert not [line for line in printed if "\x1b" in line]


@pytest.mark.slow
def test_progress_is_shown_in_a_notebook_and_goes(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    code = """
import time
from stepgen.tools import waiting

waiting.FIRST = 0.1
with waiting.progress(quiet=True) as progress:
    for share in (0.1, 0.5, 0.9):
        progress("building", share)
        time.sleep(0.2)
"""
    (cell,) = notebooks.run(notebooks.notebook(f"```python{code}```\n"), tmp_path).cells
    (output,) = cell.outputs
    assert output.output_type == "display_data"
    assert output.data["text/plain"] == ""


def test_the_folder_is_asked_for() -> None:
    with pytest.raises(SystemExit, match="usage: python -m"):
        notebooks.main([])


def test_an_installed_package_has_no_tutorials(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(notebooks, "TUTORIALS", tmp_path / "docs")
    with pytest.raises(SystemExit, match="the tutorials come with the sources"):
        notebooks.main([str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()
