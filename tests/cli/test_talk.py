"""``stepgen talk``: the same text, whatever computes it."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import stepgen as sg
from stepgen.cli import talk
from stepgen.cosim import case
from stepgen.frontend import files
from stepgen.frontend.builder import Builder
from stepgen.frontend.text import Sampler, ids_of
from stepgen.tools.shipped import shipped

SHIPPED = shipped("examples") / "talk" / "talk.stepgen"
TOKENS = 200
ON_BOARD = int(os.environ.get("BOARD_TOKENS", "24"))
"""Characters that a simulated board writes, which takes seconds for each."""
SOME = "--tokens 3 --temperature 0.7 --top-k 5 --seed 4 --json"


def test_golden_model_and_reference_write_the_same(stepgen, here) -> None:
    texts = [stepgen(f"talk --machine {m} {SOME}").json["text"] for m in ("golden", "reference")]
    assert texts[0] == texts[1]
    assert texts[0].startswith("The ")
    assert len(texts[0]) == 7
    shown = stepgen("talk --machine golden --tokens 3").out
    assert shown.splitlines()[0].startswith("The ")


def test_what_computes_is_said_first() -> None:
    loaded = files.load(os.fspath(SHIPPED))
    said = talk._introduction(loaded, talk.BOARD, 1)
    assert said.startswith("talk: a mixture of experts of 233,992 parameters as one circuit, on vi")
    assert "the circuit itself chooses 2 of 4 experts in each layer" in said
    said = talk._introduction(loaded, talk.BOARD, 6)
    assert "It chooses the characters, too: up to 6 in a run, without this computer." in said


def test_the_circuit_may_choose_the_characters(stepgen, here) -> None:
    one = stepgen("talk --machine golden --tokens 5 --json").json
    several = stepgen("talk --machine reference --per-run 3 --tokens 5 --json").json
    assert several["text"] == one["text"]
    assert several["tokens"] == [6, 2]  # those of the prompt with the first


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_machines_write_the_same_text(stepgen, here) -> None:
    """Each logit and cycle of the Verilog and of the board is compared as the text is written."""
    tokens = {"golden": TOKENS, "reference": TOKENS, "rtl": TOKENS, "board": ON_BOARD}
    made = {
        machine: stepgen(f"talk --machine {machine} --tokens {count} --temperature 0.4 --json").json
        for machine, count in tokens.items()
    }
    text = made["golden"]["text"]
    assert len(text) == len("The ") + TOKENS
    for machine, count in tokens.items():
        assert made[machine]["text"] == text[: len("The ") + count], machine
    for machine in ("rtl", "board"):
        assert len(made[machine]["cycles"]) == len("The ") + tokens[machine] - 1
        assert made[machine]["cycles"] == made[machine]["predicted"]


@pytest.mark.slow
def test_a_board_writes_by_itself(stepgen, here) -> None:
    """As many characters as the host would choose one by one, in two runs."""
    golden = stepgen(f"talk --machine golden --tokens {ON_BOARD} --json").json
    half = -(-ON_BOARD // 2)
    made = stepgen(f"talk --per-run {half} --tokens {ON_BOARD} --json").json
    assert made["text"] == golden["text"]
    assert len(made["cycles"]) == 2
    assert made["cycles"] == made["predicted"]


@pytest.mark.slow
def test_the_verilog_writes_and_a_difference_ends_the_text(stepgen, here, monkeypatch) -> None:
    b = Builder("small", tokens=(1, 8))
    weights = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    model = b.model(b.linear(b.embedding(b.ids(), weights), weights.T))
    files.save(replace(model, characters="abcde"), "small.stepgen")
    words = "talk small.stepgen --prompt ab --tokens 3 --json --machine"
    made = stepgen(f"{words} rtl --timeline token.png").json
    assert made["timeline"] == "token.png"
    assert (here / "token.png").read_bytes().startswith(b"\x89PNG")
    assert made["text"] == stepgen(f"{words} reference").json["text"]
    assert made["cycles"] == made["predicted"]
    assert len(made["cycles"]) == len(made["seconds"]) == 4

    def stuck(path, image, word, undefined=None) -> None:
        write_hex(path, image | 1, word, undefined)

    write_hex = case.write_hex
    monkeypatch.setattr(case, "write_hex", stuck)
    said = stepgen(f"{words} rtl")
    assert said.code == 2
    assert said.json["error"].startswith("small under Verilator: port linear: beat 0")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--prompt é", "has no id for 'é', character 0 of the text; it has 94 characters"),
        ("--tokens 300", "4 of the prompt and 300 more do not fit: give --tokens 252 at most"),
        (f"--prompt {256 * 'a'}", "a context of 256 characters, and 256 of the prompt and 24 more"),
        (
            "--board virtual:ulx3s-85f",
            "--board can't be given with --machine golden, which needs none",
        ),
        ("--clock 70", "--clock can't be given with --machine golden, which needs none"),
        ("--port /dev/none", "--port can't be given with --machine golden, which needs none"),
        ("--bus-bits 64", "--bus-bits can't be given with --machine golden, which has no circuit"),
        ("--lanes 4", "--lanes can't be given with --machine golden, which has no circuit"),
        ("--machine board --clock 70", "--clock can't be given for virtual:ulx3s-85f-sdram: no cl"),
        ("--machine board --board ulx3s-85f-sdram --clock auto", "--clock takes the MHz that the"),
        ("--machine board --port /dev/none", "/dev/none"),
        ("--temperature nan", "temperature"),
        (
            "--timeline t.png",
            "--timeline can't be given with --machine golden, which has no cycles",
        ),
        ("--top-k 0", "--top-k"),
        ("--per-run 4", "--per-run can't be given with --machine golden, which has no circuit"),
        (
            "--machine board --per-run 4 --temperature 0.5",
            "--per-run 4 writes the likeliest characters: leave --temperature out",
        ),
        ("--top-k 5", "--top-k is for drawing: give a --temperature above 0"),
    ],
)
def test_bad_input_is_one_sentence(stepgen, here, words, sentence) -> None:
    said = stepgen(f"talk --machine golden {words}")
    assert said.code == 2
    assert sentence in said.err


def test_ids_that_are_no_characters(stepgen, here) -> None:
    b = Builder("plain", tokens=(1, 8))
    files.save(b.model(b.embedding(b.ids(), np.ones((4, 4), np.float32))), "plain.stepgen")
    said = stepgen("talk plain.stepgen --machine golden")
    assert said.code == 2
    assert "ids of plain do not stand for characters" in said.err


def test_characters_are_in_the_file(stepgen, here) -> None:
    source = sg.frontend.load(SHIPPED)
    assert len(source.characters) == 94
    assert source == files.loads(files.dumps(source), source.weights)
    shutil.copy(SHIPPED, "again.stepgen")
    assert stepgen(f"talk again.stepgen --machine golden {SOME}").code == 0
    text = files.dumps(source).replace('"characters": "', '"characters": "aa')
    with pytest.raises(sg.StepError, match="two ids stand for the character 'a'"):
        files.loads(text, source.weights)


def test_the_next_id_is_drawn_by_its_logits() -> None:
    logits = np.log([0.1, 0.2, 0.3, 0.4])
    assert Sampler().choose(logits) == 3
    drawn = [Sampler(1.0, seed=n).choose(logits) for n in range(400)]
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    assert np.abs(shares - [0.1, 0.2, 0.3, 0.4]).max() < 0.07
    assert {Sampler(1.0, 2, seed=n).choose(logits) for n in range(40)} == {2, 3}
    cold = [Sampler(0.01, seed=n).choose(logits) for n in range(20)]
    assert set(cold) == {3}


def test_a_text_has_characters() -> None:
    model = sg.frontend.load(SHIPPED)
    assert "".join(model.characters[n] for n in ids_of(model, "The text")) == "The text"
    with pytest.raises(sg.StepError, match="a text needs at least one character"):
        ids_of(model, "")
