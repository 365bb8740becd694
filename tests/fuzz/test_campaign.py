"""Campaigns: counted, kept, gone on with, and replayed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from stepgen.fuzz import campaign
from stepgen.fuzz.campaign import Tally
from stepgen.fuzz.case import Case
from stepgen.fuzz.judge import Verdict, judge
from stepgen.tools.workers import Workers

CRASHERS = sorted((Path(__file__).parents[1] / "crashers").glob("*.json"))


@pytest.mark.parametrize("path", CRASHERS, ids=lambda path: path.stem)
def test_what_once_failed_agrees(path: Path) -> None:
    verdict = judge(Case.load(path))
    assert verdict.status == "agrees", verdict.says


def test_a_campaign_goes_on_where_it_ended(tmp_path: Path) -> None:
    def at_once(cases: int, folder: Path, tally: Tally) -> Tally:
        return campaign.run(tally, folder, Workers(), seconds=600, cases=cases)

    whole = at_once(6, tmp_path / "whole", Tally(2, rtl=False))
    assert (whole.cases, whole.next) == (6, 6)
    assert whole.failed == 0
    assert whole.reached["lanes 2"]
    first = at_once(6, tmp_path / "half", Tally(2, rtl=False))
    first = dataclasses.replace(first)
    kept = campaign.load(tmp_path / "half")
    assert kept == first
    again = at_once(2, tmp_path / "half", kept)
    assert (again.cases, again.next) == (8, 8)
    assert dataclasses.replace(whole, seconds=0) == dataclasses.replace(first, seconds=0)


def test_a_failure_is_kept_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(case: Case, *, rtl: bool = True) -> Verdict:
        maps = [n for n in case.graph.nodes if n.op == "promote"]
        return Verdict("failed", "no promote") if maps else Verdict("refused", "")

    monkeypatch.setattr(campaign, "judge", wrong)
    tally = campaign.run(Tally(2, rtl=False), tmp_path, Workers(), seconds=600, cases=12)
    assert tally.failed > 1
    (path,) = tally.failures.values()
    assert [n.op for n in Case.load(Path(path)).graph.nodes] == ["source", "promote", "output"]
