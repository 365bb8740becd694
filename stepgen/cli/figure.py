"""``stepgen figure``: the paper's evaluation and further studies."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from stepgen.cli.groups import given_options, grouped
from stepgen.cli.options import LimitOptions, WorkerOptions, json_option
from stepgen.cli.outputs import INPUT, Output


@grouped
@click.argument(
    "figure",
    help="8, 9, 10, 12, 13, 14, 15, 17, 19, 20, 21, combined, or all; on generated circuits "
    "rtl-tiles, rtl-regions, rtl-attention, rtl-decoder, or rtl for these; streamtensor.",
)
@click.option(
    "-o",
    "--out",
    type=Output(),
    default="figures",
    metavar="DIR",
    help="Folder for CSV and pictures.",
)
@click.option(
    "--data",
    type=INPUT,
    metavar="DIR",
    help="Folder with routing/*.npz and kv_lengths/*.npy, else $STEPGEN_DATA; missing "
    "traces are drawn.",
)
@click.option("--view", default="both", help="published (the paper's settings), fair, or both.")
@click.option("--small", is_flag=True, help="Small programs, drawn, to see a figure in seconds.")
@click.option(
    "--rtl",
    is_flag=True,
    help="Simulate the Verilog of some points under Verilator, too, and compare everything.",
)
@click.option("--claims", is_flag=True, help="Print the claims about the results, in markdown.")
@click.option(
    "--page",
    type=Output(".md"),
    metavar="FILE.md",
    help="Write the claims between the marks of a page, such as docs/figures.md.",
)
@click.option(
    "--report",
    type=Output(".html"),
    metavar="FILE.html",
    help="Write pictures and tables of all figures as one page.",
)
@json_option
def command(
    limit: LimitOptions,
    who: WorkerOptions,
    *,
    figure: str,
    out: Path,
    data: Path | None,
    view: str,
    small: bool,
    rtl: bool,
    claims: bool,
    page: Path | None,
    report: Path | None,
    json: bool,
) -> None:
    """Run the timing simulations of a figure of the paper; write its table and picture."""
    from stepgen.report import console
    from stepgen.study import evaluate, study, traces
    from stepgen.study.html import figures_page
    from stepgen.study.page import Page, marked, names
    from stepgen.study.page import claims as claimed
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_file
    from stepgen.tools.workers import ALONE

    wanted, views = study.chosen(figure), study.views(view)
    claiming = names(wanted, views) if claims or page is not None else []
    carrier = Page.read(page, claiming) if page is not None else None
    workers, inputs = who.workers(), traces.found(data, small=small)
    unused = list(inputs.unused())
    for sentence in unused:
        console.warn(sentence)
    with waiting.progress(quiet=json) as progress:
        if workers != ALONE:
            progress("getting ready", 0.0)
            evaluate.compile_engines()  # once, instead of in every process
        outcomes = study.run(
            wanted,
            inputs,
            out,
            views=views,
            rtl=rtl,
            workers=workers,
            progress=progress,
            evaluate=functools.partial(evaluate.evaluate, limit=limit.cycles),
        )
    found = claimed(outcomes) if claiming else {}
    if carrier is not None:
        carrier.write(found)
    if report is not None:
        with atomic_file(report) as place:
            place.write_text(figures_page(outcomes, given_options()), encoding="utf-8")
    if json:
        documents = {o.figure.name: o.document() for o in outcomes}
        outcome_data = {"figures": documents, "claims": found, "warnings": unused}
        console.show_json(outcome_data | {"files": {"report": report}})
        return
    if claims:
        print(marked(found))
        return
    for outcome in outcomes:
        console.show(*outcome.parts())
    files = [path for outcome in outcomes for path in outcome.files.values()]
    files += [report] if report is not None else []
    console.show(*(f"written to {path}" for path in files))
