"""``stepgen time``: the cycle model's prediction."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import grouped
from stepgen.cli.judging import judge_words, judged
from stepgen.cli.options import (
    HardwareOptions,
    PictureOptions,
    ProgramOptions,
    RunOptions,
    json_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepgen.cosim.experiment import Experiment
    from stepgen.program.program import Program


@grouped
@click.option("--all", "every", is_flag=True, help="Show forks and stop units too.")
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    pictures: PictureOptions,
    *,
    every: bool,
    json: bool,
) -> None:
    """Predict the cycles of a run, and in how many each unit is busy, starved or full."""
    from stepgen.compile.cost import traffic_varies
    from stepgen.report import console, timeline
    from stepgen.tools import waiting

    loaded = program.load(tensors=False)
    with_data = functools.cache(program.load)
    experiment = when.experiment(loaded, hardware, seed=program.seed)
    if experiment.numbers_decide:
        loaded, built = with_data(), experiment.design
        experiment = dataclasses.replace(experiment, inputs=loaded.inputs, built=built)
    outdated = program.tell_outdated(loaded, json=json)
    varies = traffic_varies(experiment.design)
    with waiting.progress(quiet=json) as progress, judged(program):
        progress("predicting", 0.0)
        data = document(experiment, program=loaded, with_data=with_data, every=every or json)
        off_chip = data["off_chip_bytes"]
        judge_words(program, experiment, off_chip["symbolic"])
    seen = functools.partial(timeline.of_prediction, loaded.graph.name, experiment.prediction)
    files = pictures.write(lambda: seen(every=every), lambda: seen(every=True))
    if json:
        console.show_json({**data, "files": files, "outdated": outdated})
        return
    most = "at most " if varies else ""
    console.show(
        console.units_table(data["units"]),
        f"{data['cycles']:,} cycles",
        f"off-chip {off_chip['model']:,} bytes ({off_chip['read']:,} read, "
        f"{off_chip['written']:,} written), by formula {_known(off_chip['symbolic'], most)}",
    )
    for name, taken in data["choices"].items():
        order = f"in the order {' '.join(map(str, taken))}" if taken else "to their ends, no chunk"
        console.show(f"{name} took its inputs {order}")
    for path in filter(None, files.values()):
        console.show(f"written to {path}")


def _known(number: int | None, most: str) -> str:
    return "unknown" if number is None else f"{most}{number:,}"


def document(
    experiment: Experiment, *, program: Program, with_data: Callable[[], Program], every: bool
) -> dict[str, Any]:
    """The prediction, for ``--json``."""
    from stepgen.report.summary import symbolic_traffic, units

    prediction = experiment.prediction
    read, written = experiment.traffic
    return {
        "program": program.name,
        "cycles": prediction.cycles,
        "units": units(prediction, every=every),
        "off_chip_bytes": {
            "symbolic": symbolic_traffic(program, experiment, with_data),
            "model": read + written,
            "read": read,
            "written": written,
        },
        "choices": prediction.choices,
    }
