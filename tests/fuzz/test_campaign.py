"""Campaigns: counted, kept, gone on with, and replayed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from icarus import needs_icarus
from seeds import some_slow

from stepgen.cosim import experiment
from stepgen.fuzz import campaign
from stepgen.fuzz.campaign import Tally
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import Verdict, compare
from stepgen.fuzz.generators import plain
from stepgen.ir.errors import StepError
from stepgen.tools.workers import Workers

CRASHERS = sorted((Path(__file__).parents[1] / "crashers").glob("*.json"))


@pytest.mark.parametrize("path", some_slow(CRASHERS, 1), ids=lambda path: path.stem)
def test_what_once_failed_agrees(path: Path) -> None:
    verdict = compare(Case.load(path))
    assert verdict.status == "agrees", verdict.says


def counted(tally: Tally) -> Tally:
    return dataclasses.replace(tally, seconds=0.0)


@pytest.mark.slow
def test_the_seed_decides_whoever_works_and_wherever_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "ROUND", 5)

    def more(cases: int, folder: str, workers: Workers) -> Tally:
        place = tmp_path / folder
        tally = campaign.load(place, 2, rtl=False)
        return campaign.run(tally, place, workers, seconds=600, cases=cases)

    whole = more(12, "whole", Workers())
    assert (whole.cases, whole.failed) == (12, 0)
    assert whole.reached["lanes 2"]
    for cases in (3, 1, 8):
        parts = more(cases, "parts", Workers(2) if cases > 1 else Workers())
    assert counted(parts) == counted(whole)


@needs_icarus
@pytest.mark.slow
def test_faces_agree_with_four_states(tmp_path: Path) -> None:
    tally = campaign.run(Tally(5, simulator="icarus"), tmp_path, Workers(), seconds=3600, cases=12)
    assert (tally.cases, tally.failures) == (12, {})
    assert campaign.load(tmp_path, 5, rtl=True, simulator="icarus") == tally
    assert campaign.load(tmp_path, 5, rtl=True).cases == 0


@pytest.mark.slow
def test_what_was_not_compared_in_time_is_compared_later(tmp_path: Path) -> None:
    tally = campaign.run(Tally(2, rtl=False), tmp_path, Workers(), seconds=0.5)
    again = campaign.run(tally, tmp_path, Workers(), seconds=600, cases=20 - tally.cases)
    whole = campaign.run(Tally(2, rtl=False), tmp_path / "w", Workers(), seconds=600, cases=20)
    assert counted(again) == counted(whole)


@pytest.mark.slow
def test_what_was_compared_before_an_interrupt_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign goes on from there as if nothing had happened."""
    monkeypatch.setattr(campaign, "SHARE", {True: 4, False: 4})
    shares = campaign._share

    def interrupted(share: campaign.Share) -> list[campaign.CampaignResult]:
        if share.numbers[0] == 4:
            raise KeyboardInterrupt
        return shares(share)

    monkeypatch.setattr(campaign, "_share", interrupted)
    with pytest.raises(KeyboardInterrupt):
        campaign.run(Tally(2, rtl=False), tmp_path, Workers(), seconds=600, cases=12)
    monkeypatch.setattr(campaign, "_share", shares)
    again = campaign.load(tmp_path, 2, rtl=False)
    assert again.cases == 4
    campaign.run(again, tmp_path, Workers(), seconds=600, cases=8)
    whole = campaign.run(Tally(2, rtl=False), tmp_path / "w", Workers(), seconds=600, cases=12)
    assert counted(again) == counted(whole)


def test_a_state_can_not_be_less_than_nothing(tmp_path: Path) -> None:
    campaign.save(Tally(2, rtl=False), tmp_path)
    path = campaign.state(tmp_path, 2, rtl=False)
    path.write_text(path.read_text().replace('"cases": 0', '"cases": -5'))
    with pytest.raises(StepError, match="can't have compared less than 0 cases"):
        campaign.load(tmp_path, 2, rtl=False)


def test_failures_of_one_kind_are_kept_once_and_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(case: Case, *, rtl: bool = True) -> Verdict:
        several = [n.name for n in case.graph.nodes if n.op == "promote"]
        return Verdict("failed", f"no {several[0]}_7") if several else Verdict("refused", "")

    def all_wrong(cases: Sequence[Case], *, rtl: bool = True, levels: bool = True) -> list[Verdict]:
        return [wrong(one, rtl=rtl) for one in cases]

    monkeypatch.setattr(campaign, "compare", wrong)
    monkeypatch.setattr(campaign, "compare_all", all_wrong)
    tally = campaign.run(Tally(2, rtl=False), tmp_path, Workers(), seconds=600, cases=24)
    assert tally.failed > 1
    assert len(tally.failures) == 1
    (path,) = (tmp_path / "crashers").iterdir()
    assert [n.op for n in Case.load(path).graph.nodes] == ["source", "promote", "output"]


def test_a_crash_while_drawing_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*args: object, **more: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(plain, "lower", crash)
    monkeypatch.setattr(experiment, "lowered", crash)
    tally = campaign.run(Tally(2, rtl=False), tmp_path, Workers(), seconds=600, cases=6)
    assert tally.failed == 6
    assert all("KeyError" in says for says in tally.failures.values())
