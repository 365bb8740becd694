"""The page about a run on a board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepgen.hw.design.registers import CHANNEL_BASE, COUNTERS, counter_address
from stepgen.hw.design.table import Design
from stepgen.hw.picture import design_svg
from stepgen.tools.templates import fill

_ELSEWHERE = ("good", "faults", "board", "options")
"""Parts of the data that stand at a place of their own."""

_TITLES = {"description": "The board's file", "link": "What went over the link"}

_FOLDED = ("registers", "link", "design", "description", "tools", "host")
"""Parts that one looks at when something differs."""


def deployed_page(
    design: Design, data: Mapping[str, Any], settings: Mapping[str, tuple[str, bool]]
) -> str:
    """The page.

    Parameters
    ----------
    design : Design
    data : mapping
        All that was found out, as ``--report FILE.json`` writes it.
    settings : mapping
        Options by name: the value, and whether it was given.
    """
    rest = {key: value for key, value in data.items() if key not in _ELSEWHERE}
    registers, channels = _counters(design, rest.get("registers", {}))
    if registers:
        rest["registers"] = registers
    whole = {key: value for key, value in rest.items() if isinstance(value, dict | list)}
    return fill(
        "report/deployed.html.j2",
        name=design.name,
        board=data["board"],
        good=data["good"],
        faults=data.get("faults", ()),
        facts=dict(_fact(key, value) for key, value in rest.items() if key not in whole),
        parts={_title(key): value for key, value in whole.items() if key not in _FOLDED},
        folded={_title(key): value for key, value in whole.items() if key in _FOLDED},
        counters=[counter.name for counter in COUNTERS],
        meanings=[counter.meaning for counter in COUNTERS],
        channels=channels,
        drawing=design_svg(design),
        given=[(name, value) for name, (value, given) in settings.items() if given],
    )


def _counters(
    design: Design, registers: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Registers of the design, and the counters of each channel that were read."""
    own = {key: word for key, word in registers.items() if int(key.split()[0], 0) < CHANNEL_BASE}
    found = {}
    for number, channel in enumerate(design.channels):
        names = [f"{counter_address(number, n):#x}" for n in range(len(COUNTERS))]
        if all(name in registers for name in names):
            found[channel.name] = [registers[name] for name in names]
    return own, found


def _title(key: str) -> str:
    return _TITLES.get(key, key.replace("_", " ").capitalize())


def _fact(key: str, value: Any) -> tuple[str, Any]:
    """A number of the run with its unit, as people read it."""
    if value is None:
        return key.replace("_", " "), None
    match key:
        case "hz":
            return "clock", f"{value / 1e6:g} MHz"
        case "seconds":
            return "time", f"{value * 1e6:,.2f} µs"
        case "bytes_per_second":
            return "memory", f"{value / 1e6:,.1f} MB/s"
        case "past_link":
            return "bytes past the link", value
    return key.replace("_", " "), value
