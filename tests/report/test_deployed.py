"""The page about a run on a board shows all data that the file has."""

from __future__ import annotations

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.report.deployed import deployed_page

DATA = {
    "good": False,
    "faults": ["y: beat 3 is <4>, not 5"],
    "board": "virtual:a",
    "cycles": {"predicted": 1234, "board": None},
    "hz": 25_000_000.0,
    "physical": True,
    "steps": [{"name": "link", "good": True}, {"name": "memory", "good": False}],
    "registers": {"0x18 read_beats": 7, "0x1000": 4, "0x1004": 5, "0x1008": 1006},
    "tools": {"python": "3"},
    "options": {"seed": 3},
}


def test_a_page_has_all_that_was_found_out() -> None:
    g = sg.Graph("rows")
    x = g.input("x", sg.int32[1, 8], (4,))
    g.output(x.map(sg.fn.requantize(shift=1)), "y")
    page = deployed_page(lower(g), DATA, {"--seed": ("3", True), "--lanes": ("4", False)})
    for part in (
        "<title>rows on virtual:a",
        "Something differs.",
        "<p>y: beat 3 is &lt;4&gt;, not 5</p>",
        "<td>predicted</td><td>1,234</td>",
        "<td>board</td><td>–</td>",
        "<td>physical</td><td>yes</td>",
        "<td>clock</td><td>25 MHz</td>",
        "<td>0x18 read beats</td><td>7</td>",
        '<td>x</td><td class="n">4</td><td class="n">5</td><td class="n">1,006</td>',
        "<td>name</td><td>memory</td>",
        'data-name="map_0"',
        "<code>--seed</code></td><td>3</td>",
    ):
        assert part in page, part
    assert "--lanes" not in page
    assert page.count("<section") == page.count("</section>") == 7
    assert "Everything agrees." in deployed_page(lower(g), DATA | {"good": True}, {})
