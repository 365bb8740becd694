"""Pages that are written from the code, and pages that have blocks which are, between marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from stepgen.emit.registers import markdown_table
from stepgen.pages import demo, depths, drawings, machines, reference, status, units

ROOT = Path(__file__).parents[2]

_PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference.md": reference.page,
    "docs/streams.svg": drawings.tokens,
    "docs/exactness.svg": drawings.compared,
    "docs/fifo-depths.svg": drawings.reconvergent,
    "docs/time-stamps.svg": drawings.time_stamps,
    "docs/typed-streams.svg": drawings.orders,
}

_BLOCKS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "README.md": {"demo": demo.numbers},
    "docs/circuits.md": {"operators": status.table},
    "docs/fifo-depths.md": {"cache-depths": depths.caches},
    "docs/hardware-library.md": {"units": units.alone},
    "docs/registers.md": {"registers": markdown_table},
    "docs/machines.md": {
        "timings": machines.timings,
        "bandwidth": machines.reached,
        "alone": machines.alone,
    },
}
"""By page what writes each of its blocks."""


def generated() -> dict[Path, str]:
    """The text of every page that is written, or has a block which is."""
    pages = {ROOT / name: page() for name, page in _PAGES.items()}
    for name, blocks in _BLOCKS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for block, write in blocks.items():
            text = replaced(text, block, write())
        pages[ROOT / name] = text
    return pages


def replaced(text: str, name: str, body: str) -> str:
    """A page with the body of one block written anew.

    Raises
    ------
    ValueError
        If it has not one such block.
    """
    start, end = f"<!-- python -m stepgen.pages: {name} -->", "<!-- end -->"
    pattern = re.compile(f"^{re.escape(start)}\n.*?^{end}$", re.MULTILINE | re.DOTALL)
    made = f"{start}\n\n{body.strip()}\n\n{end}"
    text, found = pattern.subn(lambda _: made, text)
    if found != 1:
        raise ValueError(f"a page needs one block from {start} to {end}, not {found}")
    return text
