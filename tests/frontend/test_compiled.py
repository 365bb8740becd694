"""The compile log of models: units, reasons, and cycles that no run goes below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from frontend.decoders import Sizes, decoder
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import CompileLog, compile_log, lower
from stepgen.frontend.bounds import Costs, costs_of
from stepgen.frontend.lowering import fed, lowered, sizes_of
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.matvec.params import Matvec
from stepgen.ir.errors import StepError

MODEL = decoder(Sizes(layers=2, each=2, hidden=4), element=np.float32)
SMALL: dict[str, Any] = {"cache": 8, "tile": 4, "columns": 4}
FILLED = 4


@dataclass
class Made:
    """A program and its log."""

    settings: Mapping[str, Any]
    run: Experiment
    log: CompileLog

    @property
    def entries(self) -> dict[str, Any]:
        """By short name."""
        return {entry.name.rpartition(".")[2]: entry for entry in self.log}


def made(**settings: Any) -> Made:
    graph, weights = lower(MODEL, **SMALL, **settings)
    sizes = sizes_of(MODEL, settings.get("phase"), settings.get("rows"), 8, 4)
    assert sizes is not None
    inputs = fed(MODEL, {"ids": np.arange(sizes.tokens)}, sizes, FILLED)
    run = Experiment(graph, weights | inputs)
    log = compile_log(MODEL, filled=FILLED, design=run.design, **SMALL, **settings)
    return Made(settings, run, log)


@pytest.fixture(scope="module")
def decode() -> Made:
    return made()


@pytest.fixture(scope="module")
def prefill() -> Made:
    return made(phase="prefill", rows=2)


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_run_takes_the_bytes_of_the_log_and_no_fewer_cycles(
    phase: str, request: pytest.FixtureRequest
) -> None:
    one: Made = request.getfixturevalue(phase)
    log, (read, written) = one.log, one.run.traffic
    assert log.tokens * sum(e.read * e.layers for e in log) == pytest.approx(read, rel=0.05)
    assert log.tokens * sum(e.written * e.layers for e in log) == pytest.approx(written, abs=16)
    assert log.port <= -(-read // (8 * log.tokens))
    assert max(log.port, log.busiest) * log.tokens <= one.run.prediction.cycles
    assert all(entry.cycles is not None for entry in log)


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_units_are_those_of_the_circuit(phase: str, request: pytest.FixtureRequest) -> None:
    one: Made = request.getfixturevalue(phase)
    owner = lowered(MODEL, **SMALL, **one.settings, data=False).owner
    inner = [u for u in one.run.design.units if u.params.main and u.origin in owner]
    assert sum(sum(entry.units.values()) for entry in one.log) == len(inner)
    assert any(isinstance(u.params, Matmul | Matvec) for u in inner)
    for entry in one.log:
        said = {r.split(" for ")[0] for r in entry.reasons if " for weights of " in r}
        assert ("matvec" in said) == ("matvec" in entry.units)
        assert ("matrix unit" in said) == ("matmul" in entry.units)


def test_reasons_of_one_row_and_of_several(decode: Made, prefill: Made) -> None:
    one, several = decode.entries, prefill.entries
    assert one["logits"].reasons[-1] == "matvec for weights of 1 x 8: one row"
    assert several["logits"].reasons[-1] == "matrix unit for weights of 1 x 8: 2 rows share a tile"
    assert several["up"].read * 2 == one["up"].read
    assert one["up"].multipliers < several["up"].multipliers
    assert one["second_norm"].reasons == ("its weight is part of what reads it",)
    assert "2 heads of queries share a tile, since they share keys" in one["attention"].reasons
    lines = str(decode.log).splitlines()
    assert lines[0] == (
        "decoder: 4 lanes, memory port of 64 bits, tiles of 1 token, 4 tokens in the caches"
    )
    assert len(lines) == 3 + len(decode.log) + len(decode.log.joints)


def test_of_more_tokens_only_attention_takes_more() -> None:
    program = lowered(MODEL, **SMALL)
    few, many = (Costs(program, filled, 4) for filled in (0, 7))
    for name, bound in few.bounds.items():
        assert (bound.read < many.bounds[name].read) == name.endswith("attention")
    assert many.port(8) > few.port(8)
    last = costs_of(MODEL, 8)
    assert isinstance(last, Costs)
    assert last.bounds.keys() == many.bounds.keys()


def test_what_has_no_log() -> None:
    with pytest.raises(StepError, match="caches hold 8 tokens, 9 are there"):
        compile_log(MODEL, filled=9, **SMALL)
    with pytest.raises(StepError, match="rows must be 1, not 3"):
        compile_log(MODEL, rows=3)
