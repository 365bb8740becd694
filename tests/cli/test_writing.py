"""Programs that write, from the command line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from frontend.test_writing import PROMPT, attending

import stepgen as sg


def test_commands_write(stepgen, here) -> None:
    model = attending()
    sg.frontend.save(model, "attend.stepgen")
    np.save("prompt.npy", PROMPT)
    more = "--ids prompt.npy --more 3 --set cache=8 --json"
    one, by_itself = (
        stepgen(f"run attend.stepgen {more} --set phase={phase}").json
        for phase in ("decode", "write")
    )
    assert one["generated"] == by_itself["generated"]
    assert len(one["generated"]) == 3
    shown = stepgen("run attend.stepgen --ids prompt.npy --more 3 --set phase=write").out
    assert "generated: " + ", ".join(map(str, one["generated"])) in shown
    timed = stepgen("time attend.stepgen --set phase=write --set more=2 --set cache=8 --json").json
    longer = stepgen("time attend.stepgen --set phase=write --set cache=8 --json").json
    assert 0 < timed["cycles"] < longer["cycles"]
    said = stepgen("time attend.stepgen --set more=2")
    assert "attend.stepgen: more=2 is for phase=write, whose runs make tokens" in said.err
    said = stepgen("run attend.stepgen --ids prompt.npy --set phase=write --set more=2")
    assert "goes on behind a text by --more, so leave more out of --set" in said.err
    for given, sentence in (
        ("1,2", "attend: filled must be one number, or one for each request of a run, here 1, not"),
        ("-1", "attend: filled must be at least 0, not -1"),
    ):
        for phase in ("decode", "write"):
            said = stepgen(
                f"time attend.stepgen --set cache=8 --set filled={given} --set phase={phase}"
            )
            assert sentence in said.err


def test_tokens_that_follow_stand_for_characters(stepgen, here) -> None:
    sg.frontend.save(replace(attending(columns=12), characters="abcdefghij"), "named.stepgen")
    np.save("prompt.npy", PROMPT)
    np.savez("prompts.npz", one=PROMPT, other=[2])
    for given in (
        "prompt.npy --golden",
        "prompt.npy --set cache=8",
        "prompts.npz --set cache=8",
        "prompt.npy --set cache=8 --set phase=write",
    ):
        found = stepgen(f"run named.stepgen --more 4 --json --ids {given}").json["generated"]
        made = found["one"] if isinstance(found, dict) else found
        assert len(made) == 4, given
        assert max(made) < 10, given
