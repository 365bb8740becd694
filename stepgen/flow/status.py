"""Which operators have a circuit, for the documentation."""

from __future__ import annotations

from ..ir.operator import operators

_PAGES = "needs run-time allocation of on-chip memory in pages"
_RANDOM = "needs an AXI master that accesses single tiles by address"

WITHOUT_CIRCUIT = {
    "bufferize": _PAGES,
    "streamify": _PAGES,
    "random_offchip_load": _RANDOM,
    "random_offchip_store": _RANDOM,
    "eager_merge": "planned with time-multiplexing, which needs it",
    "scan": "planned with the pipelines for element-wise functions",
    "zip": "planned with the pipelines for element-wise functions",
}
"""Operators that can be type-checked, costed and run but have no circuit yet, with the reason."""

_LIMITS = {
    "accum": "retile_row; retile_col over a static number of tiles",
    "expand": "tiles, by a count or a reference",
    "flat_map": "retile_streamify by rows",
    "linear_offchip_load": "",
    "linear_offchip_store": "",
    "map": "matmul (int8 to int32), requantize (int32 to int8)",
    "reassemble": 'order "index" and "arrival"',
    "reshape": "",
}
"""What the circuit of an operator supports, where that is not everything."""

_PORTS = ("source", "output")
"""Made by `Graph.input` and `Graph.output`."""


def table() -> str:
    """All operators as a table in Markdown: whether there is a circuit, and for what."""
    lines = ["| operator | type, costs, reference | circuit and cycle model |", "|---|---|---|"]
    for name in operators():
        if name in _PORTS:
            continue
        covers = _LIMITS.get(name)
        if name in WITHOUT_CIRCUIT:
            circuit = f"not yet: {WITHOUT_CIRCUIT[name]}"
        else:
            circuit = f"yes: {covers}" if covers else "yes"
        lines.append(f"| `{name}` | yes | {circuit} |")
    return "\n".join(lines) + "\n"
