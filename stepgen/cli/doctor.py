"""``stepgen doctor``: lists the tools that are found, and how to install missing ones."""

from __future__ import annotations

from stepgen.cli.options import Json


def command(*, json: Json = False) -> int:
    """List every tool, its version and its location."""
    import dataclasses

    from stepgen.flow import report, tools

    found = tools.find_all()
    if json:
        report.show_json({"tools": [dataclasses.asdict(t) for t in found]})
    else:
        report.show(*report.tools_tables(found))
    return 1 if tools.missing() else 0
