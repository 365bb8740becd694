"""The wires of a board, judged by models of a serial port that are not ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_bench import simulated

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.board.top import BoardTop, Surroundings
from stepgen.hw.verilog import written

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("bit_cycles", [4, 9])
def test_words_take_most_of_the_symbols(
    bit_cycles: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least four of five that the wire has time for, in both directions."""
    graph = sg.Graph("small")
    weights = graph.tensor("w", (4, 8), sg.int8)
    graph.output(sg.linear_offchip_load(weights, tile=(4, 8), shape=(1,), stride=(1,)), "y")
    design = lower(graph, lanes=4)
    around = Surroundings(clock=1_000_000, bit_cycles=bit_cycles, memory_words=1024, beats=32)
    text = written("judged", lambda part: BoardTop(design, around, part=part))
    (tmp_path / "judged.v").write_text(text)
    monkeypatch.setenv("BIT_CYCLES", str(bit_cycles))
    said = simulated(tmp_path, "judged", ["judged.v"], HERE / "judged_wire.py")
    assert "PASS=1 FAIL=0" in said
