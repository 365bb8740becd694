"""``stepgen lanes``: lanes of each function, chosen by the cycle model and estimates of LUTs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.commands.options import SLOWER, Goal

if TYPE_CHECKING:
    from stepgen.commands.lanes import LanesResult


@grouped
@click.option(
    "--slower",
    type=float,
    metavar="PERCENT",
    show_default=f"{SLOWER:g}, 0 with --fit",
    help="How much longer than the fastest that fits the run may take.",
)
@click.option(
    "--fit",
    metavar="LUTS|BOARD[:PERCENT]",
    help="LUTs that there are, or a board and a share of its LUTs, as in ulx3s-85f:70%; what "
    "stands around a design on a board comes on top.",
)
@click.option(
    "--operators",
    is_flag=True,
    help="Choose for each operator by itself, in place of all that have one function.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    slower: float | None,
    fit: str | None,
    operators: bool,
    json: bool,
) -> int:
    """Choose lanes: the smallest circuit that is fast enough, or the fastest that fits.

    The most lanes are those of --lanes; operators that it names keep theirs. From there the lanes
    of one function after the other are halved or doubled. Each circuit is measured: its cycles by
    the cycle model, on the inputs, and its LUTs by an estimate. Ctrl-C ends the search with the
    best circuit until then.
    """
    from stepgen.commands.lanes import chosen
    from stepgen.tools import waiting
    from stepgen.tools.starting import INTERRUPTED

    goal, named = Goal(slower=slower, fit=fit, operators=operators), program.named()
    _ = goal.limits  # so that what is wrong with it is said at once
    loaded = named.load(tensors=False)
    with waiting.progress(quiet=json) as progress:
        result = chosen(named, loaded, hardware.circuit(), when.timing(), goal, progress)
    if json:
        show_json(result.document())
    else:
        _show(result)
    return INTERRUPTED if result.stopped else 0


def _show(result: LanesResult) -> None:
    """Print the steps, the groups, and what to write behind ``--lanes``."""
    from stepgen.report import console

    first = result.start.cost
    rows = []
    for one in result.found.steps:
        group = one.group or "all"
        lanes = one.lanes[one.group] if one.group else one.lanes["*"]
        name = "the others" if group == "*" else group
        more = (one.cost.cycles - first.cycles) / first.cycles
        rows.append((name, lanes, one.cost.luts, one.cost.cycles, f"{more:+.1%}"))
    heads = ("changed", "lanes", "LUT", "cycles", "longer")
    console.show(console.table("Steps", *heads, rows=rows))
    groups = [("others, FIFOs, control" if r[0] == "*" else r[0], *r[1:]) for r in result.groups()]
    heads = (result.kind, "lanes before", "lanes", "LUT before", "LUT")
    console.show(console.table(f"{result.kind.capitalize()}s", *heads, rows=groups))
    used = result.used
    longer, less = (
        after / before - 1
        for before, after in ((first.cycles, result.cycles), (first.luts, used["lut"]))
    )
    console.show(
        f"{result.circuits}"
        + (", then the search was stopped: the best until then" if result.stopped else ""),
        f"{result.cycles:,} cycles ({longer:+.1%}), {used['lut']:,} LUT ({less:+.1%}), "
        f"{used['ff']:,} FF, {used['multiplier']:,} multipliers, {used['block_ram']:,} block RAM",
        f"--lanes {result.text}",
    )
