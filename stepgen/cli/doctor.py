"""``stepgen doctor``: lists the tools that are found, and how to install missing ones."""

from __future__ import annotations

from stepgen.cli.groups import grouped
from stepgen.cli.options import json_option


@grouped
@json_option
def command(*, json: bool) -> int:
    """List every tool, its version and its location."""
    import dataclasses

    from stepgen.report import console
    from stepgen.tools import external

    found = external.find_all()
    if json:
        console.show_json({"tools": [dataclasses.asdict(t) for t in found]})
    else:
        console.show(*console.tools_tables(found))
    return 1 if external.missing() else 0
