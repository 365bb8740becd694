"""The page about a run on a board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..hw.design.table import Design
from ..hw.picture import design_svg
from ..tools.filling import fill

_ELSEWHERE = ("good", "faults", "board", "options")
"""Parts of the data that stand at a place of their own."""


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
    whole = {key: value for key, value in rest.items() if isinstance(value, dict | list)}
    return fill(
        "report/deployed.html.j2",
        name=design.name,
        board=data["board"],
        good=data["good"],
        faults=data.get("faults", ()),
        facts={key: value for key, value in rest.items() if key not in whole},
        parts=whole,
        drawing=design_svg(design),
        given=[(name, value) for name, (value, given) in settings.items() if given],
    )
