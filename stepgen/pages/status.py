"""Which operators have a circuit, for the documentation."""

from __future__ import annotations

from stepgen.compile.circuit import circuits
from stepgen.ir.operator import functions, operators


def table() -> str:
    """All operators as a table in Markdown: whether there is a circuit, and for what."""
    lines = ["| operator | type, costs, reference | circuit and cycle model |", "|---|---|---|"]
    for name in functions():
        if name in circuits():
            covers = circuits()[name].covers
            circuit = f"yes: {covers}" if covers else "yes"
        else:
            circuit = f"not yet: {operators()[name].circuit_needs}"
        lines.append(f"| `{name}` | yes | {circuit} |")
    return "\n".join(lines) + "\n"
