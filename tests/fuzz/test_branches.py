"""Which branches of cycle models programs take, and what is drawn more often for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepgen as sg
from stepgen.fuzz import branches, campaign, coverage
from stepgen.fuzz.case import Case
from stepgen.fuzz.draw import case, cases
from stepgen.tools.workers import Workers


def promoted(level: int | None) -> Case:
    g = sg.Graph("promoted")
    x = g.input("x", sg.int8[1, 2], (2,))
    g.output(x.promote() if level is None else x.promote(level), "y")
    return Case(g, {"x": [np.zeros((1, 2), np.int8)] * 2}, lanes=2)


def test_the_branches_of_a_run_are_those_of_its_actors() -> None:
    inner, outer = promoted(0), promoted(None)
    took = [branches.taken(c, c.experiment().prediction.cycles) for c in (inner, outer)]
    assert all(took)
    assert took[0] ^ took[1]
    assert {name.partition("/")[0] for name in took[0] | took[1]} <= {
        unit.params.kind for unit in outer.experiment().design.units
    }


@pytest.mark.slow
def test_interpreted_and_compiled_models_agree_and_reach_most_branches() -> None:
    reached: set[str] = set()
    for number in range(60):
        one = case(31, number)[0]
        try:
            cycles = one.experiment().prediction.cycles
        except sg.StepError:
            continue
        reached |= branches.taken(one, cycles)
    assert reached <= branches.every().keys() - branches.unreachable().keys()
    assert len(reached) > 0.7 * len(branches.every())
    with pytest.raises(RuntimeError, match="interpreted"):
        branches.taken(promoted(0), 1)


def test_branches_for_invalid_programs_are_known_and_not_looked_for() -> None:
    """Each entry of the tables names one condition of today's models."""
    assert len(branches.unreachable()) == len(branches.ERRORS) + len(branches.BEHIND)
    assert branches.unreachable().keys() <= branches.every().keys()
    assert not branches.unreachable().keys() & set(coverage.unreached([]))


def test_steps_that_lead_to_branches_not_taken_are_drawn_more_often() -> None:
    kinds = {name.partition("/")[0] for name in branches.every()} - {"partition"}
    reached = dict.fromkeys(
        (f"branch {n}" for n in branches.every() if not n.startswith("partition")), 1
    )
    reached |= {"step route": 10, "step promote": 10, "unit partition": 10}
    reached |= {f"unit {kind}": 20 for kind in kinds}
    reached |= {"makes route > partition": 10}
    wanted = coverage.wanted(reached, 20)
    assert wanted["route"] > wanted["promote"] == 1
    assert all(name.startswith("partition/") for name in coverage.unreached(reached))

    def drawn(more: dict[str, float]) -> int:
        return sum(cases(1, n, wanted=more)[1].count("route") for n in range(12))

    assert drawn(dict.fromkeys(wanted, 1.0) | {"route": 20.0}) > drawn({})


def padded() -> Case:
    g = sg.Graph("padded")
    x = g.input("x", sg.int8[1, 4], (3,))
    data, padding = x.reshape(chunk=2, pad=0)
    rows = data.accum(sg.fn.retile_row(), rank=1)
    g.output(rows.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding), "y")
    return Case(g, {"x": [np.zeros((1, 4), np.int8)] * 3}, lanes=2)


def test_a_last_condition_is_seen_to_be_false() -> None:
    """Nothing of the function is run behind it: beats within a row take no flag."""
    ends = {
        name
        for name, (file, _, inside) in branches.every().items()
        if Path(file).read_text().splitlines()[inside - 1].strip() == "pop(M, M[a + P.flags], t)"
    }
    one = padded()
    assert len(ends) == 2
    assert ends <= branches.taken(one, one.experiment().prediction.cycles)


def test_programs_with_units_whose_branches_are_missing_are_asked_for_them(tmp_path: Path) -> None:
    every = {f"branch {name}": 1 for name in branches.every()}
    assert coverage.sought(every) == []
    often, *_, missing = (name for name in every if name.startswith("branch source/"))
    del every[missing]
    assert coverage.sought(every) == ["source"]
    tally = campaign.run(
        campaign.Tally(2, rtl=False, cases=96, reached=every),
        tmp_path,
        Workers(),
        seconds=600,
        cases=12,
    )
    assert tally.reached[often] > 4
