"""Phrases that readers have to decode, and the field's words in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import stepgen

ROOT = Path(stepgen.__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

CIRCUIT = re.compile(r"/rtl\.py$")
"""Names of signals stay as they are in the Verilog."""

BANNED = {
    r"\btold\b": "reported, shown, known; a variable is named by what it holds",
    r"(?<![*\"])\btells?\b(?! themselves)": "reports, shows, names",
    r"(?<![Tt]here )\b(is|are) no (?!longer|more|less|such|matter|one\b)[a-z{]": "is not a",
    r"\b(that|which|what) (is|are) none\b": "say what it is not",
    r"\bwhere none\b": "if there is none",
    r"\bends? as any\b": "completes normally",
    r"\bnever was\b": "is dropped",
    r"\bleaves? anything\b": "leaves undefined",
    r"\bthat cannot be\b(?! \w)": "infeasible",
}

ANY = re.compile("|".join(f"(?:{phrase})" for phrase in BANNED))


def found(path: Path) -> Iterator[str]:
    name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    lines = text.splitlines() if ANY.search(text) else []
    for number, line in enumerate(lines, 1):
        for phrase, better in BANNED.items():
            if CIRCUIT.search(name) and ("told" in phrase or "tell" in phrase):
                continue
            if said := re.search(phrase, line):
                yield f"{name}:{number}: {said[0]!r}: {better}"


def test_pages() -> None:
    assert not [one for page in PAGES for one in found(page)]


def test_code() -> None:
    files = sorted((ROOT / "stepgen").rglob("*.py"))
    assert not [one for path in files for one in found(path)]


def test_they_are_found(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("Which is told.\nThere is no such file.\nA folder is no file.\n")
    assert [one.rsplit(":", 2)[0] for one in found(page)] == ["page.md:1", "page.md:3"]
