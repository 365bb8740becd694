"""The claims on the page about figures are those that the command computes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import stepgen
from stepgen.cli.app import execute
from stepgen.ir.errors import StepError
from stepgen.study import page, study
from stepgen.study.page import Page
from stepgen.study.point import VIEWS
from stepgen.study.report import Outcome
from stepgen.study.traces import VARIABLE

ROOT = Path(stepgen.__file__).parents[1]
FIGURES = ROOT / "docs" / "figures.md"
PAGES = {"all": FIGURES, "rtl": ROOT / "docs" / "figures-rtl.md"}
"""By group of figures."""

BLOCK = re.compile(r"<!-- stepgen figure ([\w-]+) -->\n(.*?)<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"[+-]?\d[\d,.e-]*")


@pytest.fixture(scope="module")
def made(faked):
    """Claims of all figures, from invented numbers."""
    return page.claims([Outcome(*figure, {}) for figure in faked])


def shape(lines):
    """Tables and sentences without what was measured."""
    kept = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if after.startswith("| ---"):
            kept.append(line)
        elif line.startswith("- "):
            line = re.sub(
                r" \(published: [\d.]+\)|\((?:tile|capped|dynamic|static)\b[^)]*\)", "", line
            )
            kept.append(NUMBER.sub("N", line))
    return kept


@pytest.mark.parametrize("group", PAGES)
def test_the_page_has_the_claims_of_every_figure(made, group):
    names = page.names(study.chosen(group), VIEWS)
    assert set(names) <= set(made)
    found = Page.read(PAGES[group], names)
    assert sorted(name for name, _ in BLOCK.findall(found.text)) == sorted(names)
    for name in names:
        assert shape(found.lines(name)) == shape(made[name]), name


@pytest.mark.parametrize("group", PAGES)
def test_the_page_has_every_point(made, group):
    """But for those that depend on traces that are there, or on what the designs take."""
    names = page.names(study.chosen(group), VIEWS)
    found = Page.read(PAGES[group], names)
    for name in set(names) - {"all", "21", "rtl-regions"}:
        labels = [
            [
                line.replace("| trace |", "| drawn |").split(" | ")[:2]
                for line in lines
                if line.startswith("|")
            ]
            for lines in (made[name], found.lines(name))
        ]
        assert labels[0] == labels[1], name


@pytest.mark.parametrize("group", PAGES)
def test_what_is_measured_stands_between_the_marks(group):
    """Outside there are sizes and settings: no shares, ratios or counts of cycles and bytes."""
    prose = BLOCK.sub("", PAGES[group].read_text())
    prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
    measured = r"\d,\d{3}|\d\.\d|\d %|\d times|\bwithin \d|\d x\b|\d hours|\d minutes"
    assert re.findall(rf".{{0,40}}(?:{measured})", prose) == []


PAGE = "# A page\n\n<!-- stepgen figure 8 -->\nold \\1\n<!-- end -->\n\nAfter.\n"


def test_claims_go_between_their_marks(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    Page.read(path, ["8"]).write({"8": ["| \\1 |", "- new"]})
    assert path.read_text() == PAGE.replace("old \\1\n", "| \\1 |\n- new\n")
    assert Page.read(path, ["8"]).lines("8") == ["| \\1 |", "- new"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "can't read the page page.md: No such file or directory"),
        ("nothing", "page.md needs one block from <!-- stepgen figure 8 --> to <!-- end -->"),
        (PAGE + PAGE, "page.md needs one block from <!-- stepgen figure 8 --> to <!-- end -->"),
        (b"\xff\xfe", "can't read the page page.md: it is not text"),
    ],
)
def test_a_page_that_does_not_fit_is_reported_before_the_work(
    text, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("page.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert execute(["figure", "8", "--page", "page.md"]) == 2
    assert capsys.readouterr().err == f"stepgen: {sentence}\n"
    assert not Path("figures").exists()


def test_claims_compare_the_views(capsys):
    assert execute(["figure", "8", "--view", "fair", "--claims"]) == 2
    assert capsys.readouterr().err == (
        "stepgen: claims compare the views, so they need --view both\n"
    )
    with pytest.raises(StepError, match="need --view both"):
        page.names(study.chosen("9"), ["published"])


def test_the_command_prints_and_writes_claims(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    words = ["figure", "8", "--claims", "--page", str(path), "--out", str(tmp_path / "out")]
    assert execute(words) == 0
    ((name, printed),) = BLOCK.findall(capsys.readouterr().out)
    assert name == "8"
    assert printed.splitlines() == Page.read(path, ["8"]).lines("8")
    # Figure 8 needs no traces: its claims are always those of the page.
    assert printed.splitlines() == Page.read(FIGURES, ["8"]).lines("8")


@pytest.mark.slow
@pytest.mark.parametrize("group", PAGES)
def test_the_page_is_what_the_command_makes(tmp_path, monkeypatch, group):
    data = os.environ.get(VARIABLE)
    if not data:
        pytest.skip(f"needs the traces, which are not part of stepgen: set ${VARIABLE}")
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "cache"))
    copy = tmp_path / "figures.md"
    copy.write_text(PAGES[group].read_text())
    words = ["figure", group, "--data", data, "--out", str(tmp_path), "--page", str(copy)]
    assert execute([*words, "-j", "2"]) == 0
    assert copy.read_text().splitlines() == PAGES[group].read_text().splitlines()
