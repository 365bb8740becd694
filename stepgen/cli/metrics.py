"""``stepgen metrics``: costs of a program, as formulas and as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option

if TYPE_CHECKING:
    from stepgen.ir.metrics import Metrics
    from stepgen.program.program import Program


@grouped
@click.option(
    "--policy",
    default="paper",
    help="Accounting model: paper (formulas of its text), published (as its figures count) "
    "or hardware (this circuit).",
)
@click.option("--nodes", is_flag=True, help="One line per use of an operator.")
@json_option
def command(
    program: ProgramOptions, hardware: HardwareOptions, *, policy: str, nodes: bool, json: bool
) -> None:
    """Print off-chip traffic, on-chip memory and operations, symbolic in the dynamic dims."""
    from stepgen.compile import cost  # noqa: F401  registers the policy "hardware"
    from stepgen.ir.metrics import metrics as costs_of
    from stepgen.report import console

    if policy != "hardware":
        check_unused("is for the circuit: add --policy hardware", hardware)
    loaded = program.load(draw=False)
    design = hardware.circuit().experiment(loaded).design if policy == "hardware" else None
    costs = costs_of(loaded.graph, policy, design)
    dims, numbers, missing = _numbers(program, loaded, costs)
    outdated = program.warn_outdated(loaded, json=json)
    if json:
        show_json({**_document(costs, dims, numbers), "outdated": outdated})
        return
    bits = policy == "hardware"
    console.show(console.costs_table(policy, _rows(loaded, costs, nodes), bits=bits))
    if dims:
        console.show(console.dims_line(dims))
    if numbers:
        intensity = numbers["intensity"]
        per_byte = f"{intensity} operations per off-chip byte"
        held = f"{8 * numbers['memory']:,.0f} bits" if bits else f"{numbers['memory']:,} bytes"
        console.show(
            f"off-chip {numbers['traffic']:,} bytes, on-chip {held}, "
            f"{numbers['flops']:,} operations, "
            f"{per_byte if intensity is not None else 'nothing goes off chip'}"
        )
    else:
        open_dims = [s.name for s in costs.symbols if s.name not in dims]
        why = missing or f"the inputs do not determine {', '.join(open_dims)}"
        console.show(f"no numbers: {why}")


def _numbers(
    options: ProgramOptions, program: Program, costs: Metrics
) -> tuple[dict[str, int], dict[str, Any], str]:
    """Dims as far as the inputs determine them, the totals where all are known, or what is missing.

    Inputs that the program does not return are drawn only where dims depend on them.
    """
    from stepgen.program import values
    from stepgen.program.inputs import NotDrawn

    dims, missing = values.dims(program, costs.symbols, run=False), ""
    if len(dims) < len(costs.symbols):
        try:
            dims = values.dims(options.load(), costs.symbols)
        except NotDrawn as error:
            missing = str(error)
    if len(dims) < len(costs.symbols):
        return dims, {}, missing
    given = {s: dims[s.name] for s in costs.symbols}
    names = ("traffic", "memory", "flops")
    numbers = {name: _plain(getattr(costs, name).subs(given)) for name in names}
    traffic = numbers["traffic"]
    intensity = round(numbers["flops"] / traffic, 3) if traffic else None
    return dims, {**numbers, "intensity": intensity}, ""


def _plain(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _rows(program: Program, costs: Metrics, nodes: bool) -> Any:
    from stepgen.report.console import CostRow

    groups: dict[str, list[Any]] = {}
    ops = {n.name: n.op for n in program.graph.nodes}
    for name, c in costs.nodes.items():
        if c.traffic != 0 or c.memory != 0 or c.flops != 0:
            groups.setdefault(name if nodes else ops.get(name, name), []).append(c)
    for name, group in groups.items():
        sums = (sum(getattr(c, k) for c in group) for k in ("traffic", "memory", "flops"))
        yield CostRow(name, len(group), *sums)
    count = sum(map(len, groups.values()))
    yield CostRow("total", count, costs.traffic, costs.memory, costs.flops)


def _document(costs: Metrics, dims: dict[str, int], numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        "policy": costs.policy,
        "nodes": {
            name: {"traffic": str(c.traffic), "memory": str(c.memory), "flops": str(c.flops)}
            for name, c in costs.nodes.items()
        },
        "total": {
            "traffic": str(costs.traffic),
            "memory": str(costs.memory),
            "flops": str(costs.flops),
        },
        "dims": dims,
        "numbers": numbers or None,
    }
