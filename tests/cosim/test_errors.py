"""Runs that stop with an error: registers, cycles, and what hosts say of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.board.device import VIRTUAL, Device
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.hw.design.registers import OUT_OF_RANGE, TOO_LARGE, cause_of
from stepgen.hw.units.pmu.params import Pmu
from stepgen.ir.stalls import Stalls
from stepgen.program.tiles import simulate as simulate_on_tiles
from stepgen.timing.tiles.machines import SDA

MOST, TILES, GROUPS = 6, 5, 4


def program() -> sg.Graph:
    """Buffers without a bound that several read, and tiles read and written by address."""
    g = sg.Graph("errors")
    x = g.input("x", sg.int8[2, 8], (GROUPS, sg.ragged("D")))
    sel = g.input("sel", sg.Selector(2), (GROUPS,))
    kept = x.bufferize(rank=1, most=MOST, name="keep")
    for n, part in enumerate(sg.partition(kept, sel, rank=0)):
        g.output(part.streamify(count=1 + n), f"y{n}")
    w, v = (g.tensor(name, (TILES, 8), sg.int8) for name in "wv")
    read = g.input("at", sg.address[1, 1], (3,)).random_offchip_load(w, tile=(1, 8), name="rows")
    to = g.input("to", sg.address[1, 1], (3,))
    g.output(to.random_offchip_store(read, v, tile=(1, 8), name="put"), "stored")
    return g


def drawn(rng: np.random.Generator, wrong: str) -> dict[str, Any]:
    """Inputs, of which one thing is wrong."""
    sizes = rng.integers(0, MOST // 2 + 1, GROUPS)
    at, to = rng.integers(0, TILES, 3), rng.permutation(TILES)[:3]
    place = int(rng.integers(3))
    if wrong == "large":
        sizes[rng.integers(GROUPS)] = rng.integers(MOST // 2 + 1, 3 * MOST)
    if wrong == "read":
        at[place] = rng.choice([TILES, TILES + 1])
    if wrong == "write":
        to[place] = TILES
    tile = np.ones((2, 8), np.int8)
    return {
        "x": [[n * tile for n in range(size)] for size in sizes],
        "sel": rng.random((GROUPS, 2)) < 0.6,
        "at": at.reshape(-1, 1, 1),
        "to": to.reshape(-1, 1, 1),
        "w": rng.integers(-99, 99, (TILES, 8)).astype(np.int8),
        "v": np.zeros((TILES, 8), np.int8),
    }


SAID = {
    "large": r"keep .*stores a buffer of x.* of (\d+) rows, and has memory for 6",
    "read": r"rows .*tile (\d+) of (tensor )?w, which has 5",
    "write": r"put .*tile (\d+) of (tensor )?v, which has 5",
}
CAUSES = {"large": TOO_LARGE, "read": OUT_OF_RANGE, "write": OUT_OF_RANGE}


@pytest.mark.slow
def test_reference_model_and_circuit_stop_alike(tmp_path: Path) -> None:
    """The same unit, cause and number in all of them, and every beat until then in its cycle."""
    rng, graph, seen = np.random.default_rng(3), program(), Counter()
    experiments, built = [], None
    for n in range(16):
        wrong = ("", "large", "read", "write")[n % 4]
        stalls = Stalls(n, {"x": 0.2, "y0": 0.4 * (n % 3), "mem.r": 0.2, "mem.b": 0.3})
        one = Experiment(
            *(graph, drawn(rng, wrong), 4), stalls=stalls, stops=bool(wrong), built=built
        )
        built = one.design
        experiments.append(one)
        seen[wrong] += 1
        if wrong:
            assert cause_of(one.fault.detail) == CAUSES[wrong]
            with pytest.raises(sg.StepError, match=SAID[wrong]) as raised:
                assert one.reference
            name, number = str(raised.value).split()[0], one.fault.detail % (1 << 28)
            assert built.units[one.fault.code - 1].name == name
            assert f" {number} " in str(raised.value)
            assert f" {number} " in str(one.fault)
    verdicts = simulate(experiments, tmp_path, driver="cpp", opt=LEAST_BUILD)
    for one, verdict in zip(experiments, verdicts, strict=True):
        assert verdict.good, verdict.outcome.faults
        assert verdict.outcome.status == ("hang" if one.stops else "done")
    assert len(seen) == 4
    (params,) = [p for _, p in built.rows_of(Pmu)]
    assert (params.most, params.largest, params.counts) == (MOST, 2 * MOST, True)
    # A host that expects a run to end says what it found.
    says = Experiment(*(graph, experiments[1].inputs, 4), built=built, stops=True)
    says.fault.code = says.fault.detail = 0
    (verdict,) = simulate([says], tmp_path, driver="cpp", opt=LEAST_BUILD)
    (said,) = verdict.outcome.faults
    number = experiments[1].fault.detail % (1 << 28)
    assert said == (
        f"the design reports error {experiments[1].fault.code}: keep stores a buffer of x of "
        f"{number} rows, and has memory for {MOST}"
    )


def test_on_tiles_too() -> None:
    graph, rng = program(), np.random.default_rng(1)
    with pytest.raises(sg.StepError, match=r"keep .* a buffer of x.* of more than 6 rows"):
        simulate_on_tiles(graph, drawn(rng, "large"), SDA)


def test_a_run_that_is_to_stop_and_ends_is_refused() -> None:
    one = Experiment(program(), drawn(np.random.default_rng(0), ""), 4, stops=True)
    with pytest.raises(sg.StepError, match="is to stop with an error, but it ends after"):
        one.case()


@pytest.mark.slow
def test_runs_in_a_row_on_a_board() -> None:
    """An error ends with a soft reset; the next run is as any, whatever stopped the one before."""
    rng, graph = np.random.default_rng(8), program()
    with Device(f"{VIRTUAL}ulx3s-85f", graph, lanes=4) as device:
        for wrong in ("large", "", "read", "write", "", "large", "large", ""):
            inputs = drawn(rng, wrong)
            if not wrong:
                assert device.test(inputs).good
                continue
            one = Experiment(
                graph,
                inputs,
                built=device.design,
                memory=device.around.memory,
                sdram=device.around.sdram,
                early=tuple(graph.inputs),
                stops=True,
            )
            outcome = device.session.perform(one.case())
            assert outcome.good, outcome.faults
            with pytest.raises(sg.StepError, match=SAID[wrong]):
                device.run(**inputs)
