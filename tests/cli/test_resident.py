"""``stepgen deploy --resident``: tokens one by one, on tensors that stay on the board."""

from __future__ import annotations

import random

import numpy as np
import pytest
from frontend import decoders
from seeds import some_slow

from stepgen.board.device import Device
from stepgen.board.link import LinkError, OtherBoard
from stepgen.board.virtual import VirtualWire
from stepgen.cli import resident
from stepgen.frontend import files

BOARD = "virtual:ulx3s-85f-sdram"
MODEL = "small.stepgen --set cache=8 --set tile=4 --lanes 2"
LINE = f"deploy {MODEL} --board {BOARD} --no-counters --resident --ids ids.npy"


@pytest.fixture
def small(here) -> None:
    sizes = decoders.Sizes(layers=1, heads=2, groups=1, hidden=64)
    files.save(decoders.decoder(sizes, element=np.float32), "small.stepgen")
    np.save("ids.npy", [3, 1])


@pytest.mark.slow
def test_tokens_run_on_weights_that_stay(stepgen, small) -> None:
    made = stepgen(f"{LINE} --more 3 --json -o board.npz --report run.json").json
    text = stepgen(f"run {MODEL} --ids ids.npy --more 3 --json -o host.npz").json
    assert made["generated"] == text["generated"]
    with np.load("board.npz") as board, np.load("host.npz") as host:
        assert np.array_equal(board["logits"], host["logits"])
    cycles = [one["cycles"] for one in made["tokens"]]
    assert len(cycles) == 5
    assert all(one["board"] == one["predicted"] for one in cycles)
    assert all(one["sent"] + one["received"] < 2048 for one in made["tokens"][1:])
    assert made["written"] > 1000
    assert made["lost"] == 0
    shown = stepgen(f"{LINE} --check none")
    assert shown.code == 0
    assert "0 of 2 with reference and prediction" in shown.out
    assert "bytes on the link, from the second one on" in shown.out


@pytest.mark.parametrize("seed", some_slow(range(6), 0))
def test_a_text_goes_on_behind_a_lost_link(stepgen, small, monkeypatch, seed: int) -> None:
    wanted = stepgen(f"{LINE} --more 1 --json").json
    left, send = random.Random(seed).randrange(20, 120), VirtualWire.send

    def pulled(self: VirtualWire, data: bytes) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise LinkError("the serial port is gone: pulled")
        send(self, data)

    monkeypatch.setattr(VirtualWire, "send", pulled)
    monkeypatch.setattr(resident, "PAUSE", 0.0)
    found = stepgen(f"{LINE} --more 1 --json").json
    assert left < 0
    assert found["lost"] == 1
    assert found["written"] == wanted["written"]
    assert found["generated"] == wanted["generated"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OtherBoard("the board at tty9 holds another design"), "holds another design"),
        (LinkError("the board at tty9 does not answer"), "the serial port is gone: pulled"),
    ],
)
def test_a_board_that_is_another_or_does_not_come_back_ends_the_text(
    stepgen, small, monkeypatch, error, sentence
) -> None:
    def pulled(*_: object, **more: object) -> None:
        raise LinkError("the serial port is gone: pulled")

    def found(*_: object, **more: object) -> None:
        raise error

    monkeypatch.setattr(Device, "step", pulled)
    monkeypatch.setattr(Device, "resume", found)
    monkeypatch.setattr(resident, "PATIENCE", 0.1)
    monkeypatch.setattr(resident, "PAUSE", 0.01)
    said = stepgen(LINE)
    assert said.code == 2
    assert sentence in said.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"deploy p.py:layer --board {BOARD} --resident --ids ids.npy", "is for a model, and"),
        (f"deploy {MODEL} --board {BOARD} --resident", "--resident runs tokens of a model: give"),
        (f"deploy {MODEL} --board {BOARD} --ids ids.npy", "--ids is for tokens on tensors that"),
        (f"deploy {MODEL} --board {BOARD} --check none", "--check is for tokens on tensors that"),
        (f"{LINE} --runs 2", "--runs can't be given with --resident"),
        (f"{LINE} --set phase=prefill --set rows=4", "leave --set phase=prefill out"),
        (f"{LINE} --more 7", "its caches hold 8 tokens"),
    ],
)
def test_bad_input_is_one_sentence(stepgen, small, line, sentence) -> None:
    said = stepgen(line)
    assert said.code == 2
    assert sentence in said.err.splitlines()[-1]
