"""The site of the documentation: `make docs`, its links, its search, and what its API lists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import stepgen

ROOT = Path(stepgen.__file__).parents[1]
DOCS = ROOT / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def listed() -> set[str]:
    """Names in docs/api.md."""
    return set(re.findall(r"^- `([\w.]+)`$", (DOCS / "api.md").read_text(), re.MULTILINE))


def test_what_the_package_offers_is_in_the_api_or_in_the_reference() -> None:
    said = {*re.findall(r"\w+", (DOCS / "reference.md").read_text())}
    said |= {name.removeprefix("stepgen.") for name in listed()}
    assert {*stepgen.__all__} - said == set()


def test_every_page_is_in_the_overview() -> None:
    parts = (DOCS / "README.md").read_text().partition("\n## ")[2]
    links = re.findall(r"\]\(([\w./-]+\.md)\)", parts)
    pages = {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")} - {"README.md"}
    assert pages - {*links} == set()
    assert len(links) == len({*links})


class Links(HTMLParser):
    """What a page points at, what it loads, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        had = dict(attrs)
        if had.get("id"):
            self.places.add(str(had["id"]))
        if tag == "a" and had.get("href"):
            self.links.append(str(had["href"]))
        elif tag != "a":
            self.loaded += [str(had[name]) for name in ("src", "href") if had.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="Sphinx is missing: install the extra docs")
    out = tmp_path_factory.mktemp("site")
    # As the Makefile does it, to another folder.
    line = re.search(r"-m (sphinx .*) build/docs$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    command = [sys.executable, "-m", *line[1].split(), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_the_site_has_every_page_and_no_broken_link(site) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        assert site / page.relative_to(ROOT).with_suffix(".html") in pages
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            known = pages[target].places if target in pages else {place}
            if not target.exists() or (place and place not in known):
                broken.append((path.name, link))
    assert not broken
    places = pages[site / "docs" / "api.html"].places
    assert [name for name in listed() if name not in places] == []


@pytest.mark.slow
def test_nothing_of_the_site_is_fetched(site) -> None:
    for path in site.rglob("*.html"):
        assert not [link for link in Links(path).loaded if urlsplit(link).netloc], path
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", path.read_text()), path


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing: apt install chromium")
def test_the_site_is_searched_without_a_server(site) -> None:
    """As one who opened its folder by a double click."""
    address = f"{(site / 'search.html').as_uri()}?q=absorbs"
    options = ("--headless", "--no-sandbox", "--virtual-time-budget=20000", "--dump-dom")
    done = subprocess.run([CHROMIUM, *options, address], capture_output=True, text=True, check=True)
    found = done.stdout.partition('id="search-results"')[2]
    assert 'href="docs/streams.html' in found
