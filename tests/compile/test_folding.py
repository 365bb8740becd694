"""Folds as units: of operands, and of tiles that another unit makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from harness import check

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.table import Design
from stepgen.hw.units.accumulate.params import Accumulate
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.matmul.params import Matmul
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens


def tiled(element=sg.int8, **options):
    """A product of matrices, tiled over rows, columns and K."""
    g = sg.Graph("tiled")
    x, w = (g.input(name, sg.Tile(4, 4, element), (2, 3, 3)) for name in "xw")
    g.output(x.accum(sg.fn.matmul(**options), w, rank=1), "y")
    return g


def test_products_are_summed_over_tiles_of_k():
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, size) for size in ((8, 12), (12, 12)))
    rows, cols = a.reshape(2, 4, 3, 4).swapaxes(1, 2), b.reshape(3, 4, 3, 4).transpose(2, 0, 1, 3)
    x, w = np.repeat(rows[:, None], 3, 1), np.repeat(cols[None], 2, 0)
    product = (a @ b).reshape(2, 4, 3, 4).swapaxes(1, 2)
    g = tiled()
    design = lower(g, lanes=2)
    assert all(len([*design.of_kind(kind)]) == 1 for kind in (Matmul, Accumulate))

    def beats(stream, values):
        return to_beats(to_tokens(values, stream.type, "a stream"), stream.type, 2)

    given = {name: beats(g.inputs[name], v) for name, v in {"x": x, "w": w}.items()}
    due = {"y": beats(g.outputs["y"], product.astype(np.int32))}
    predicted = check(design, given, due)
    (unit,) = (
        a for a in predicted.activities if a.unit == "accum_0_matmul" and a.name == "compute"
    )
    assert unit.busy >= 18 * 4 * 2 * 2


def sums_of_products(rank: int, init: float | None = None) -> Design:
    """Of bf16, over the inner dims."""
    g = sg.Graph()
    x, w = (g.input(name, sg.Tile(4, 4, sg.bf16), (2, 3, 3)) for name in "xw")
    g.output(x.accum(sg.fn.matmul(), w, rank=rank, init=init), "y")
    return lower(g, lanes=2)


def test_sums_of_bf16_products_start_at_a_number():
    (unit,) = sums_of_products(1, 1.0).of_kind(Matmul)
    assert unit.params.start == int(np.float32(1).view(np.uint32))


def test_bf16_products_are_summed_over_dims_that_are_joined_before():
    one, two = sums_of_products(1), sums_of_products(2)
    assert not [*one.of_kind(Flatten)]
    assert [u.params for u in two.of_kind(Flatten)] == [Flatten(2, 3, hold=False)] * 2
    (once,), (twice,) = ([u.params for u in d.of_kind(Matmul)] for d in (one, two))
    assert (once.tiles, twice.tiles) == (3, 9)
    assert replace(twice, tiles=once.tiles) == once


def test_sums_of_bf16_products_have_bits_for_all_tiles_of_a_chunk():
    g = sg.Graph()
    chunks = (2, sg.dynamic("D", bound=5))
    x, w = (g.input(name, sg.Tile(4, 4, sg.bf16), chunks) for name in "xw")
    g.output(x.accum(sg.fn.matmul(), w, rank=1), "y")
    (unit,) = lower(g, lanes=2).of_kind(Matmul)
    assert unit.params.summing.k == 5 * 4


def test_a_sum_of_bf16_products_without_a_bound_is_refused():
    g = sg.Graph()
    x, w = (g.input(name, sg.Tile(4, 4, sg.bf16), (2, sg.dynamic("D"))) for name in "xw")
    g.output(x.accum(sg.fn.matmul(), w, rank=1), "y")
    with pytest.raises(sg.StepError, match=r"bound for the number of tiles .* have none"):
        lower(g, lanes=2)


def test_a_scan_of_bf16_products_is_the_same_unit_which_joins_no_dims():
    g = sg.Graph()
    x, w = (g.input(name, sg.Tile(4, 4, sg.bf16), (2, 3, 3)) for name in "xw")
    g.output(sg.scan(sg.fn.matmul(), x, w, rank=2), "y")
    design = lower(g, lanes=2)
    (scan,), (accum,) = (d.of_kind(Matmul) for d in (design, sums_of_products(2)))
    assert not [*design.of_kind(Flatten)]
    assert scan.params == replace(accum.params, level=4)
