"""The page of figures: its pictures and tables are those that are written and printed."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path

from stepgen.cli.app import execute


def test_a_page_has_pictures_and_tables(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    line = "figure 8 --small --view fair -o out --report page.html"
    assert execute(line.split()) == 0
    said = capsys.readouterr().out
    assert "written to page.html" in said
    text = Path("page.html").read_text()
    (picture,) = re.findall(r"data:image/png;base64,([^\"]+)", text)
    assert b64decode(picture) == Path("out/figure8.png").read_bytes()
    tables = [re.findall(r"<tr>.*?</tr>", t) for t in re.findall(r"<table>.*?</table>", text, re.S)]
    *figures, settings = tables
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for table in figures for row in table[1:]]
    printed = " ".join(said.split())
    assert len(cells) == 2
    assert all(" ".join(" ".join(row).split()) in printed for row in cells)
    assert "<td><code>--view</code></td><td>fair</td>" in "".join(settings)
    assert "http" not in text
