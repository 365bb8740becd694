"""``stepgen fuzz``: drawn programs through all faces."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import WorkerOptions, json_option
from stepgen.cli.outputs import INPUT, Output
from stepgen.cosim.simulators import SIMULATORS, Simulator

if TYPE_CHECKING:
    from stepgen.fuzz.campaign import Tally

MOST_REFUSALS = 12


@grouped
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), default=2.0, help="How long to go on."
)
@click.option(
    "--cases",
    type=click.IntRange(1),
    help="How many cases, at most; where a campaign goes on, so many more.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 48) - 1),
    help="Decides all that is drawn; without it, a new one.",
)
@click.option(
    "--import",
    "imports",
    type=INPUT,
    multiple=True,
    metavar="FILE.py",
    help="A Python file of yours whose functions and operators are drawn too; repeatable.",
)
@click.option(
    "--simulator",
    type=click.Choice(SIMULATORS),
    help="Of the Verilog: verilator, or icarus, which has four states, finds an X in the wrong "
    "place, and is slower. Kept cases name theirs.",
)
@click.option("--no-rtl", is_flag=True, help="Compare reference and timing alone, without RTL.")
@click.option(
    "-o",
    "--out",
    type=Output(),
    default="build/fuzz",
    metavar="DIR",
    help="Folder for failing cases and for the state, from which the same seed goes on.",
)
@click.option(
    "--replay",
    multiple=True,
    type=INPUT,
    metavar="FILE.json",
    help="Judge a kept case instead; repeatable.",
)
@json_option
def command(
    who: WorkerOptions,
    *,
    minutes: float,
    cases: int | None,
    seed: int | None,
    imports: tuple[Path, ...],
    simulator: Simulator | None,
    no_rtl: bool,
    out: Path,
    replay: tuple[Path, ...],
    json: bool,
) -> int:
    """Draw programs, compare reference, cycle model, timing on tiles and RTL; shrink failures."""
    from stepgen.fuzz import campaign
    from stepgen.fuzz.coverage import imported, unreached
    from stepgen.ir.errors import StepError
    from stepgen.program.program import import_files
    from stepgen.report import console
    from stepgen.tools import waiting

    if not math.isfinite(minutes):
        raise StepError(f"--minutes must be a number, not {minutes}")
    if no_rtl and simulator:
        raise StepError(f"with --no-rtl nothing is simulated, not by {simulator} either")
    if replay:
        why = "is for cases that are drawn, and --replay judges kept ones: leave one of them out"
        check_unused(why, who, "minutes", "cases", "seed", "out")
        import_files(imports)
        return _replayed(replay, simulator, rtl=not no_rtl, json=json)
    workers = who.workers()
    import_files(imports)
    if seed is None:
        import secrets  # takes a while to load

        seed = secrets.randbelow(1 << 32)
    tally = campaign.load(out, seed, rtl=not no_rtl, simulator=simulator or "verilator")
    if not json:
        console.show(f"seed {seed}" + (f", after {tally.cases:,} cases" if tally.cases else ""))
    before, runs, spent = tally.cases, tally.runs, tally.seconds
    with waiting.progress(quiet=json) as progress:
        campaign.run(
            tally,
            out,
            workers,
            seconds=60 * minutes,
            cases=cases,
            imports=imports,
            progress=progress,
        )
    hours = max(tally.seconds - spent, 1e-9) / 3600
    rates = {
        "cases_per_hour": round((tally.cases - before) / hours),
        "runs_per_hour": round((tally.runs - runs) / hours),
    }
    if json:
        own = imported(tally.reached, tally.refused | tally.unjudged)
        more = {
            "imported": {name: {"cases": n, "why": why or None} for name, (n, why) in own.items()},
            "not_taken": unreached(tally.reached),
        }
        console.show_json({**dataclasses.asdict(tally), **rates, **more})
    else:
        _show(tally)
        console.show("per hour: {cases_per_hour:,} cases, {runs_per_hour:,} runs".format(**rates))
        if tally.failed:
            console.show(f"to see it again: {_again(tally, imports, out)}")
    return 1 if tally.failed else 0


def _again(tally: Tally, imports: tuple[Path, ...], out: Path) -> str:
    """The command that draws and compares the same cases."""
    words = ["stepgen", "fuzz", "--seed", tally.seed, "--cases", tally.cases, "--minutes"]
    words.append(math.ceil(2 + tally.seconds / 30))
    words += [word for path in imports for word in ("--import", path)]
    words += ["--simulator", tally.simulator] if tally.rtl else ["--no-rtl"]
    return shlex.join(map(str, [*words, "-o", out / "again"]))


def _replayed(
    paths: tuple[Path, ...], simulator: Simulator | None, *, rtl: bool, json: bool
) -> int:
    from stepgen.fuzz.case import Case
    from stepgen.fuzz.compare import compare
    from stepgen.report import console

    cases = [(path, Case.load(path)) for path in paths]
    if simulator:
        cases = [(path, dataclasses.replace(case, simulator=simulator)) for path, case in cases]
    verdicts = [(str(path), case, compare(case, rtl=rtl)) for path, case in cases]
    if json:
        rows = [{"file": path, "status": v.status, "says": v.says} for path, _, v in verdicts]
        console.show_json({"cases": rows})
    else:
        for path, case, verdict in verdicts:
            console.show(f"{path}: {verdict.status} {verdict.says}".rstrip(), str(case.graph))
    return 0 if all(v.status == "agrees" for _, _, v in verdicts) else 1


def _show(tally: Tally) -> None:
    from stepgen.fuzz.branches import unreachable
    from stepgen.fuzz.coverage import WHAT, by_file, by_kind, imported, unreached
    from stepgen.report import console

    kinds = by_kind(Counter(tally.reached))
    rows: list[tuple[Any, ...]] = []
    for kind, seen in kinds.items():
        rare = ", ".join(f"{what} ({count})" for what, count in seen.most_common()[-4:][::-1])
        rows.append((WHAT[kind], len(seen), rare))
    refused = sorted(tally.refused.items(), key=lambda item: -item[1])
    console.show(
        console.table("Reached", "what", "different ones", "the rarest (cases)", rows=rows, left=3),
        console.table(
            "Steps that the generator drew and the program refused",
            "why",
            "times",
            rows=[(why, n) for why, n in refused[:MOST_REFUSALS]],
        ),
        console.table(
            "Programs that could not be compared: to be looked at, unless they are too long",
            "why",
            "times",
            rows=[*tally.unjudged.items()],
        ),
        f"{tally.cases:,} cases in {tally.runs:,} runs: "
        f"{tally.agrees:,} agree, {tally.failed:,} fail, "
        f"{tally.cases - tally.agrees - tally.failed:,} refused; "
        f"{tally.deadlocks:,} have deadlocks that their advice frees, {tally.errors:,} stop with "
        f"the error that is predicted",
    )
    for name, why in unreachable().items():
        console.show(f"{name} is for invalid programs: {why}")
    for name, (count, why) in imported(tally.reached, tally.refused | tally.unjudged).items():
        console.show(f"{name}: in {count:,} cases" + (f" ({why})" if why else ""))
    if left := unreached(tally.reached):
        files = ", ".join(f"{file} {count}" for file, count in by_file(left).items())
        console.show(
            f"{len(left)} branches not taken ('no': the condition of an if or while was never "
            f"false, 'yes': never true; --json lists them): {files}"
        )
    console.show(*tally.failures.values())
