"""Reads that begin at a later tile: parts of a tensor, and of a buffer."""

import numpy as np
import pytest
from snippets import WIDTHS, holds

import stepgen as sg
from stepgen.compile.lower import lower


def queries_and_keys(columns=16, queries=3, keys=2):
    """One tensor of weights, of which two loads read a part each, and a buffer read likewise."""
    g = sg.Graph()
    w = g.tensor("w", (8, columns * (queries + keys)), "int8")
    x = g.input("x", sg.int8[1, 8], ("N",))
    for name, offset, count in (("q", 0, queries), ("k", queries, keys)):
        part = {"tile": (8, columns), "shape": (count,), "stride": (1,), "offset": offset}
        weights = sg.linear_offchip_load(w, ref=x, **part, name=f"{name}_weights")
        g.output(x.promote(0).expand(weights).map(sg.fn.matmul(), weights), name)
    made = x.promote(0).expand(count=4).map(sg.fn.square()).bufferize(rank=1)
    g.output(made.streamify(shape=(2,), stride=(1,), offset=1), "middle")
    return g


@pytest.mark.slow
@pytest.mark.parametrize("lanes", WIDTHS)
def test_parts_of_one_tensor_and_of_one_buffer(lanes, tmp_path):
    rng = np.random.default_rng(0)
    w, x = rng.integers(-9, 9, (8, 80), np.int8), rng.integers(-9, 9, (3, 1, 8), np.int8)
    y = x[:, 0].astype(int) @ w
    squares = np.repeat(x.astype(int) ** 2, 2, 1)
    wanted = {"q": y[:, :48], "k": y[:, 48:], "middle": squares}
    holds(queries_and_keys(), {"w": w, "x": x}, wanted, lanes, tmp_path)


def test_a_read_past_the_end_names_its_first_tile():
    g = sg.Graph()
    w = g.tensor("w", (8, 32), "int8")
    with pytest.raises(
        sg.StepError, match=r"shape \[4\] with stride \[1\] from tile 1 reads tile 4"
    ):
        sg.linear_offchip_load(w, tile=(8, 8), shape=(4,), stride=(1,), offset=1)
    with pytest.raises(sg.StepError, match="offset must be an integer of at least 0, not -1"):
        sg.linear_offchip_load(w, tile=(8, 8), shape=(4,), stride=(1,), offset=-1)
    chunks = g.input("x", sg.int8[1, 8], (2, 4)).bufferize(rank=1)
    with pytest.raises(sg.StepError, match="from tile 3 reads tile 4"):
        chunks.streamify(shape=(2,), stride=(1,), offset=3)
    with pytest.raises(sg.StepError, match="an offset belongs to a reading by shape and stride"):
        chunks.streamify(offset=1)


def test_a_circuit_reads_from_the_start_of_a_bus_word_on():
    g = sg.Graph()
    w = g.tensor("w", (3, 6), "int8")
    g.output(sg.linear_offchip_load(w, tile=(1, 6), shape=(2,), stride=(1,), offset=1), "y")
    with pytest.raises(sg.StepError, match="its tile 1, byte 6, not at a multiple of the bus word"):
        lower(g)
