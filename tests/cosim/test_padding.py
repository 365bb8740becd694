"""Rows that end within a beat: what pads them is junk, and is not compared."""

import dataclasses

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.ir.stalls import Stalls

LANES, ROWS = 4, 6
WIDTHS = (1, LANES - 1, LANES, LANES + 1)


def experiment() -> Experiment:
    """Sums of rows of several widths, that are packed, repeated, routed and cut again."""
    g = sg.Graph("widths")
    rng = np.random.default_rng(1)
    inputs = {"sel": rng.random((ROWS, 2)) < 0.5}
    sel = g.input("sel", sg.Selector(2), (ROWS,))
    for width in WIDTHS:
        pair = []
        for side in "ab":
            name = f"{side}{width}"
            pair.append(g.input(name, sg.int8[1, width], (ROWS,)))
            inputs[name] = rng.integers(-128, 128, (ROWS, 1, width)).astype(np.int8)
        routed = sg.reassemble(
            sg.partition(pair[0].map(sg.fn.add(), pair[1]), sel, rank=0), sel, rank=0
        )
        data, padding = routed.flatten(0, routed.rank).reshape(chunk=4, pad=9)
        whole = data.accum(sg.fn.retile_row(), rank=1).promote(0).expand(count=2)
        g.output(whole, f"twice{width}")
        cut = sg.fn.retile_streamify("row")
        g.output(whole.flatten(0, 1).flat_map(cut, rank=0), f"rows{width}")
        g.output(padding, f"padding{width}")
    stalls = Stalls(3, dict.fromkeys(g.inputs, 0.2))
    return Experiment(g, inputs, lanes=LANES, stalls=stalls)


@pytest.mark.slow
def test_rows_of_any_width_agree(tmp_path):
    verdict = experiment().test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
    assert verdict.compared["values"] > 200


@pytest.mark.slow
def test_padding_that_is_used_is_found(tmp_path):
    """A port that passes a padded lane on as if it held a number."""
    leaky = experiment()
    sink = next(unit for unit in leaky.design.units if unit.name == "rows5")
    channels = [
        dataclasses.replace(c, tail=0, short=False) if c.name == sink.inputs["x"] else c
        for c in leaky.design.channels
    ]
    leaky = dataclasses.replace(
        leaky, built=dataclasses.replace(leaky.design, channels=tuple(channels))
    )
    verdict = leaky.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert "port rows5: beat 1 in cycle" in verdict.outcome.faults[0]
