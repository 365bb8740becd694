"""``stepgen figure``: the paper's evaluation and further studies."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

from stepgen.cli.options import Json, MaxCycles, limit_of
from stepgen.cli.outputs import Output


def command(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="8, 9, 10, 12, 13, 14, 15, 17, 19, 20, 21, combined, or all.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Folder for CSV and pictures."),
        Output(),
    ] = Path("figures"),
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder with routing/*.npz and kv_lengths/*.npy, else $STEPGEN_DATA; missing "
            "traces are drawn.",
            show_default=False,
        ),
    ] = None,
    view: Annotated[
        str, typer.Option("--view", help="published (the paper's settings), fair, or both.")
    ] = "both",
    executor: Annotated[
        str,
        typer.Option(
            "--executor", help="serial, processes, dask, or dask://HOST:PORT.", show_default=False
        ),
    ] = "processes",
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Processes or workers.")] = 1,
    max_cycles: MaxCycles = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Print the claims about the results, in markdown.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE.md",
            help="Write the claims between the marks of a page, such as docs/figures.md.",
            show_default=False,
        ),
        Output((".md",)),
    ] = None,
    json: Json = False,
) -> None:
    """Run the timing simulations of a figure of the paper; write its table and picture."""
    from stepgen.report import console
    from stepgen.study import evaluate, executors, study, traces
    from stepgen.study.page import Page, marked, names
    from stepgen.study.page import claims as claimed
    from stepgen.tools import waiting

    wanted, views = study.chosen(figure), study.views(view)
    claiming = names(wanted, views) if claims or page is not None else []
    carrier = Page.read(page, claiming) if page is not None else None
    who, inputs = executors.named(executor, jobs), traces.found(data)
    unused = list(inputs.unused())
    for sentence in unused:
        console.warn(sentence)
    with waiting.progress(quiet=json) as progress:
        if who != executors.Serial():
            progress("getting ready", 0.0)
            evaluate.compile_engines()  # once, instead of in every process
        outcomes = study.run(
            wanted,
            inputs,
            out,
            views=views,
            executor=who,
            progress=progress,
            evaluate=functools.partial(evaluate.evaluate, limit=limit_of(max_cycles)),
        )
    found = claimed(outcomes) if claiming else {}
    if carrier is not None:
        carrier.write(found)
    if json:
        documents = {o.figure.name: o.document() for o in outcomes}
        console.show_json({"figures": documents, "claims": found, "warnings": unused})
        return
    if claims:
        print(marked(found))
        return
    for outcome in outcomes:
        console.show(*outcome.parts())
    files = [path for outcome in outcomes for path in outcome.files.values()]
    console.show(*(f"written to {path}" for path in files))
