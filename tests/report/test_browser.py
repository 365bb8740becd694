"""Pages in a browser: every view is drawn, every control works, nothing is complained of."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from stepgen.cli.app import execute

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: install the extra browser"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing: apt install chromium"),
]

PAGES = {
    "demo": ["moe"],
    "attention": ["attention"],
    "deadlock": ["moe", "--set", "tokens=16", "--depth", "route_to_reassemble_0=3"],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, line in PAGES.items():
        code = execute(["report", *line, "-o", str(folder / f"{name}.html")])
        assert code == (2 if name == "deadlock" else 0)
    return folder


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


class Seen:
    """A page in the browser, and what it complained of."""

    def __init__(self, browser, path: Path, width: int = 1280, scheme: str = "light", **more):
        size = {"width": width, "height": 900}
        self.page = browser.new_page(viewport=size, color_scheme=scheme, **more)
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._requested)
        self.path = path
        self.page.goto(path.as_uri())

    def _requested(self, request) -> None:
        if request.url != self.path.as_uri():
            self.complaints.append(f"asked for {request.url}")

    def chosen(self) -> str:
        """What the details are about; a channel with its arrow."""
        return self.page.evaluate("chosen") or self.page.inner_text("#details h2")

    def limiting(self) -> str:
        """The unit whose phases are longest in all."""
        spent = Counter()
        for phase in self.page.evaluate("D.why.phases"):
            spent[phase["unit"]] += phase["last"] - phase["first"]
        return spent.most_common(1)[0][0]

    def view(self) -> list[float]:
        """The cycles that the timeline shows."""
        return self.page.evaluate("view")

    def box(self) -> str:
        """What the graph shows."""
        return self.page.get_attribute(".pane:not([hidden]) svg", "viewBox")

    def ink(self) -> int:
        """Colours of the timeline's canvas."""
        return self.page.evaluate(
            """() => { const c = document.getElementById("time");
            const image = c.getContext("2d").getImageData(0, 0, c.width, c.height);
            const d = new Uint32Array(image.data.buffer);
            return new Set(d).size; }"""
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("name", PAGES)
def test_a_page(pages, browser, name, width, scheme):
    seen = Seen(browser, pages / f"{name}.html", width, scheme)
    page = seen.page
    assert page.is_hidden("#blocked")
    assert seen.chosen() == ("Details" if name == "deadlock" else seen.limiting())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.ink() > 4
    for link in page.query_selector_all("nav a"):
        link.click()
    # Each control changes what it is for.
    for control in ("gin", "gout", "gfit", "gin"):
        before = seen.box()
        page.click(f"#{control}")
        assert seen.box() != before or control == "gfit", control
    for control in ("tin", "tright", "tleft", "tin", "tout", "tfit"):
        before = seen.view()
        page.click(f"#{control}")
        assert seen.view() != before, control
    if page.query_selector("#toggle"):
        few = page.locator(".pane:not([hidden]) .box").count()
        page.click("#toggle")
        assert page.locator(".pane:not([hidden]) .box").count() > few
        page.click("#toggle")
    page.fill("#tfrom", "100")
    page.fill("#tto", "140")
    page.press("#tto", "Enter")
    assert seen.view() == [100, 140]
    seen.page.click("#tfit")
    rows = page.evaluate("lines().length")
    page.check("#tall")
    assert page.evaluate("lines().length") > rows
    page.uncheck("#tall")
    # What is clicked is chosen everywhere.
    for place in page.query_selector_all("main [data-choose]"):
        place.click()
        assert seen.chosen() == place.get_attribute("data-choose")
    for more in page.query_selector_all("#bits > button"):
        more.click()
    page.fill("#search", "map_1")
    assert "found" in page.inner_text("#found")
    page.press("#search", "Enter")
    assert "map_1" in seen.chosen()
    assert page.locator(".stepgen-graph .chosen").count() > 0
    page.evaluate("scroll.scrollTop = 0")
    below = page.evaluate("lines().slice(5, 6).map(l => l.row ? l.row.unit : l.channel)[0]")
    page.click("#time", position={"x": 40, "y": page.evaluate("HEAD + 5 * H + 4")})
    assert seen.chosen() == below
    page.click("#details [data-choose]")
    page.click("summary")
    assert (page.locator(".stepgen-graph .dead").count() > 0) == (name == "deadlock")
    assert seen.complaints == []
    page.close()


def test_a_click_in_the_graph_is_seen_in_the_timeline(pages, browser):
    seen = Seen(browser, pages / "demo.html")
    seen.page.locator(".pane:not([hidden]) [data-name=partition_0]").click()
    assert seen.chosen() == "partition_0"
    unit = seen.page.evaluate("D.units.partition_0")
    fifos = seen.page.evaluate("lines().filter(l => l.channel).map(l => l.channel)")
    assert fifos == [*unit["inputs"], *unit["outputs"]]
    seen.page.locator(".pane:not([hidden]) .arrow[data-name=x] .label").first.click()
    assert seen.chosen() == "→x"
    assert seen.page.evaluate("lines()[0].channel") == "→x"
    seen.page.close()


def test_without_scripts_the_page_says_so(pages, browser):
    seen = Seen(browser, pages / "demo.html", java_script_enabled=False)
    assert seen.page.is_visible("#blocked")
    assert "map_10 (matmul) limits" in seen.page.inner_text("#why")
    seen.page.close()
