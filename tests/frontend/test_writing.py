"""Programs that write: the circuit itself chooses the tokens that follow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import others_slow

import stepgen as sg
from frontend import decoders
from frontend.test_decoding import SMALL, family
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.builds import built
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.frontend import Builder, Decoder, Model, compile_log, lower
from stepgen.frontend.writing import WRITTEN

PROMPT = [3, 1, 4, 1]


def chosen(decoder: Decoder, prompt: list[int], more: int) -> list[int]:
    """What a host chooses behind a prompt."""
    (out,) = decoder.model.outputs
    found = [int(decoder.run({"ids": prompt})[out][-1].argmax())]
    for _ in range(more):
        found.append(int(decoder.run({"ids": found[-1:]})[out][-1].argmax()))
    return found


@pytest.mark.parametrize("seed", others_slow(range(12), (3, 5, 8)))
def test_a_run_writes_what_a_host_would_choose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = decoders.decoder(decoders.drawn(rng), seed)
    given: dict[str, Any] = {"cache": 16, "tile": int(rng.integers(1, 7)), "element": "f32"}
    golden = chosen(Decoder(model, **given), PROMPT, 8)
    writer = Decoder(model, writes=True, **given)
    first = writer.run({"ids": PROMPT}, more=4)[WRITTEN].tolist()
    assert len(first) == len(PROMPT) + 4
    assert first[-5:] == golden[:5]
    assert writer.rows == 8
    # The next run begins with the last token of the one before.
    assert writer.run({"ids": first[-1:]}, more=3)[WRITTEN].tolist() == golden[5:]


def attending(rows: int = 20, columns: int = 20) -> Model:
    """One attention of one head, without a loop."""
    rng = np.random.default_rng(2)
    b = Builder("attend", tokens=(1, 16))
    x = b.heads(b.embedding(b.ids(), rng.normal(size=(rows, 4))), 4)
    y = b.join(b.attention(x, x, x, scale=1))
    return b.model(b.linear(y, rng.normal(size=(4, columns)), name="scores"))


@pytest.mark.parametrize("seed", others_slow(range(3), (0,)))
def test_linears_that_share_an_array_write(seed: int) -> None:
    """With several heads of keys: rows that come back from the array are as many as tokens."""
    model = decoders.decoder(decoders.Sizes(layers=2), seed)
    given: dict[str, Any] = {"cache": 8, "tile": 3, "element": "f32", "array": "shared"}
    writer = Decoder(model, writes=True, **given)
    found = writer.run({"ids": PROMPT}, more=3)[WRITTEN].tolist()
    assert found[-4:] == chosen(Decoder(model, **given), PROMPT, 3)
    assert Experiment(writer.graph, writer.inputs({"ids": found[-1:]}), lanes=2).prediction.cycles


@pytest.mark.slow
def test_writing_in_rtl(tmp_path: Path) -> None:
    """Runs of one given token, of several, and of those that follow, on one memory."""
    decoder = Decoder(attending(), cache=8, tile=2, writes=True)
    first = Experiment(decoder.graph, decoder.inputs({"ids": [3]}, 4), lanes=2)
    made = decoder.after(first.reference, 5)[WRITTEN]
    inputs = decoder.inputs({"ids": [*made[-1:], 7]}, 1)
    runs = [first, replace(first, inputs=inputs, built=first.design)]
    simulation = built(first.design, opt=LEAST_BUILD)
    for verdict in simulate(runs, tmp_path, driver="cpp", simulation=simulation):
        assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "mixtral"])
def test_layers_that_write_in_rtl(name: str, tmp_path: Path) -> None:
    decoder = Decoder(family(name, tmp_path / "model", **SMALL), cache=16, tile=4, writes=True)
    one = Experiment(decoder.graph, decoder.inputs({"ids": PROMPT}, 3), lanes=2)
    verdict = one.test(tmp_path / "rtl", driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def test_ids_without_a_character_are_not_written() -> None:
    model = attending(columns=10)
    named = replace(model, characters="abc")
    written = Decoder(named, cache=8, tile=2, writes=True).run({"ids": [2]}, more=6)[WRITTEN]
    assert set(written.tolist()) <= {0, 1, 2}
    free = Decoder(model, cache=8, tile=2, writes=True).run({"ids": [2]}, more=6)[WRITTEN]
    assert not set(free.tolist()) <= {0, 1, 2}  # else nothing was masked


def test_depths_hold_one_token() -> None:
    """Tokens wait for each other, so FIFOs hold what one needs: hardly more than to decode."""
    model = decoders.decoder(decoders.Sizes(layers=2))
    found = {}
    for phase in ("decode", "write"):
        graph, _ = lower(model, phase=phase, cache=16, tile=4, data=False)
        design = Experiment(graph, {}, lanes=2).design
        found[phase] = max(channel.depth for channel in design.channels)
    assert found["write"] <= found["decode"]


def looped(most: int, *, one_by_one: bool) -> sg.Graph:
    """What a token makes goes round, and each is added to a row that waits for it."""
    g = sg.Graph("looped")
    tokens = g.input("tokens", sg.address[1, 2], (1,))
    first, last = (
        tokens.flat_map(function(most, one_by_one=one_by_one), rank=1)
        for function in (sg.fn.span_first, sg.fn.span_last)
    )
    start = g.input("start", sg.int32[1, 8], (1,))
    back = g.feedback(start.dtype, (first.count(1),), "back")
    x = sg.reassemble([start, back], first, rank=0).flatten(0, 1)
    total = x.map(sg.fn.row_sum())
    y = x.map(sg.fn.add(), total)
    done, others = sg.partition(y, last, rank=0)
    back.connect(others)
    g.output(done, "done")
    g.output(x.accum(sg.fn.add(), rank=1), "sum")
    return g


def test_depths_of_elements_that_pass_one_by_one_do_not_grow_with_them() -> None:
    def depths(most: int, *, one_by_one: bool) -> dict[str, int]:
        design = Experiment(looped(most, one_by_one=one_by_one), {}, lanes=2).design
        return {channel.name: channel.depth for channel in design.channels}

    assert depths(64, one_by_one=True) == depths(8, one_by_one=True)
    assert depths(64, one_by_one=False) != depths(8, one_by_one=False)


def test_a_model_must_make_what_it_reads() -> None:
    sentence = "scores has 20 columns, and the table of embedding has 12 rows: not each number"
    with pytest.raises(sg.StepError, match=sentence):
        lower(attending(rows=12), phase="write", cache=8)


def test_a_token_has_the_bound_that_it_has_when_it_is_decoded() -> None:
    model = decoders.decoder(decoders.Sizes(layers=2))
    logs = [compile_log(model, phase=phase, cache=16, tile=4) for phase in ("decode", "write")]
    assert logs[0].port == logs[1].port > 0
    assert logs[0].busiest == logs[1].busiest


def test_bad_runs_are_one_sentence() -> None:
    b = Builder("plain", tokens=(1, 8))
    plain = b.model(b.linear(b.embedding(b.ids(), np.ones((4, 4))), np.ones((4, 4))))
    with pytest.raises(sg.StepError, match="plain: phase=write goes on behind tokens in caches"):
        lower(plain, phase="write")
    b = Builder("rows", tokens=(1, 8))
    with pytest.raises(sg.StepError, match="rows: phase=write is for models of ids, and its input"):
        lower(b.model(b.linear(b.input("x", 4), np.ones((4, 4)))), phase="write")
    with pytest.raises(sg.StepError, match="so phase must be decode or prefill, and last false"):
        sg.frontend.fused(attending(), 100_000, phase="write")
    with pytest.raises(sg.StepError, match="phase=write is for one request, token by token"):
        lower(attending(), phase="write", batch=2)
    with pytest.raises(sg.StepError, match="a program that writes takes all of a prompt token by"):
        Decoder(attending(), chunk=2, writes=True)
    writer = Decoder(attending(), cache=8, tile=2, writes=True)
    with pytest.raises(sg.StepError, match="its caches hold 8 tokens, 0 are there and 9 more"):
        writer.inputs({"ids": PROMPT}, 5)
    with pytest.raises(sg.StepError, match="99 of token 1 is past its table of 20 rows"):
        writer.inputs({"ids": [1, 99]}, 1)
    with pytest.raises(sg.StepError, match="a run that writes needs at least one id"):
        writer.inputs({"ids": np.zeros(0, int)}, 1)
    with pytest.raises(sg.StepError, match="more=2 is for a program that writes: phase=write"):
        Decoder(attending(), cache=8).inputs({"ids": [1]}, 2)
