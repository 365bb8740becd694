from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from drawn import Draw, extent, floats, raises_error, sliced, to_beats, verify
from harness import beats, check, lone
from hw.test_turn_slices import turned
from seeds import one_seed_each, others_slow, some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.arithmetic.sums import FEEDBACK
from stepgen.hw.design.table import Channel
from stepgen.hw.units.matvec.params import Matvec
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import TILE_LEVELS, VALUE
from stepgen.semantics import numbers
from stepgen.semantics.sums import Sums
from stepgen.timing.model import predict

ELEMENTS = ("int8", "int16")
KINDS = [*((element, transposed) for element in ELEMENTS for transposed in (False, True))]
KINDS += [("bf16", True), ("bf16", False)]


def params_of(k: int, n: int, element: str, *, transposed: bool = False, **more) -> Matvec:
    """Of tiles [k, n] of bf16 turned ones."""
    turned = element == "bf16" and not transposed
    more = {"stops": True, **more}
    return Matvec(k, n, element, transposed=transposed, turned=turned, **more)


def unit(draw: Draw, params: Matvec, lanes: int, wire: int):
    """The unit between ports, with drawn FIFOs."""
    bits = params.summing.element.bits
    delay = params.delay(lanes)
    y = draw.channel("y", wire - params.folds, lanes=lanes, bits=32, delay=delay)
    widths = {"x": params.taken(lanes), "w": lanes}
    inputs = [draw.channel(name, wire, lanes=n, bits=bits) for name, n in widths.items()]
    return lone(params, inputs, [replace(y, tail=params.n % lanes)], lanes=lanes)


def matrix(draw: Draw, element: str, rows: int, columns: int, *, extreme: bool = False):
    """Drawn numbers, or the lowest alone."""
    if element == "bf16":
        largest = numbers.as_element(np.full((rows, columns), 2.0 - 2.0**-7), element)
        return largest if extreme else floats(draw, (rows, columns))
    low, high = numbers.lowest(element), numbers.highest(element)
    if extreme:
        return np.full((rows, columns), low, element)
    return draw.rng.integers(low, high + 1, (rows, columns)).astype(element)


def compare(draw: Draw, params: Matvec, lanes: int, dims: list, *, extreme: bool = False):
    """Compare circuit, reference and model for nested tiles; the innermost dim is summed up."""
    k, n, element = params.k, params.n, params.element
    wire, depth = TILE_LEVELS + len(dims) - 1, len(dims) - params.folds

    def pair():
        inner = draw.one((1, k)) if params.dynamic else k
        return (
            matrix(draw, element, 1, inner, extreme=extreme),
            matrix(draw, element, inner, n, extreme=extreme),
        )

    def row(x):
        spare = -x.shape[1] % lanes if params.turned and params.dynamic else 0
        return sliced(np.pad(x, ((0, 0), (0, spare))), params.taken(lanes))

    def tile(w):
        if params.turned:
            return turned(w, lanes)
        return sliced(w.T if params.transposed else w, lanes)

    def each(items, depth, leaf):
        return [each(i, depth - 1, leaf) for i in items] if depth else leaf(items)

    def product(group):
        pairs = group if params.folds else [group]
        if element == "bf16":
            begun = np.array([params.start or 1 << 31], np.uint32).view(np.float32)
            sums = Sums.of(np.repeat(begun[None], n, axis=1))
            for x, w in pairs:
                sums = sums.plus(x, w, lanes)
            return sliced(sums.rounded(), lanes)
        total = np.full((1, n), params.start, np.int64)
        for x, w in pairs:
            total = total + x.astype(np.int64) @ w.astype(np.int64)
        return sliced(total.astype(np.int32), lanes)

    pairs = draw.nested(dims, pair)
    x = each(pairs, len(dims), lambda p: row(p[0]))
    w = each(pairs, len(dims), lambda p: tile(p[1]))
    y = each(pairs, depth, product)
    dtype, sums = numbers.DTYPES[element], np.float32 if element == "bf16" else np.int32
    weights = to_beats(w, wire, dtype)
    if not params.stops:
        tiles = weights.kind == VALUE
        weights = replace(weights, stop=np.where(tiles, np.minimum(weights.stop, 2), weights.stop))
    design = unit(draw, params, lanes, wire)
    inputs = {"s_x": to_beats(x, wire, dtype), "s_w": weights}
    expected = {"d_y": to_beats(y, wire - params.folds, sums)}
    return verify(design, inputs, expected, draw.stalls(design))


def drawn_dims(draw: Draw, more: int) -> list:
    return [(0, 1, 2, 4), *[(0, 1, 2)] * more]


@pytest.mark.parametrize(("seed", "kind"), one_seed_each(range(16), KINDS))
def test_multiplies(seed, kind):
    element, transposed = kind
    draw = Draw(seed)
    lanes = draw.one((1, 2, 2, 4))
    k, n = (extent(draw, lanes, (1, 1, 2, 3)) for _ in range(2))
    n = max(n, FEEDBACK) if element == "bf16" else n
    stops = bool(seed % 3)
    dynamic = stops and not transposed and seed % 2 > 0
    params = params_of(k, n, element, stops=stops, transposed=transposed, dynamic=dynamic)
    compare(draw, params, lanes, drawn_dims(draw, draw.one((0, 1, 2))))


@pytest.mark.parametrize("seed", some_slow(range(16), 3))
def test_sums_up_the_tiles_of_a_group(seed):
    """Groups of no tile give where sums start."""
    draw = Draw(seed)
    lanes = draw.one((1, 2, 2, 4))
    k, n = (extent(draw, lanes, (1, 1, 2, 3)) for _ in range(2))
    start, dynamic = draw.one((0, 0, 1, 12345)), draw.one((False, True))
    params = params_of(k, n, draw.one(ELEMENTS), folds=True, start=start, dynamic=dynamic)
    compare(draw, params, lanes, drawn_dims(draw, draw.one((1, 2))))


@pytest.mark.parametrize("seed", some_slow(range(16), 3))
def test_sums_up_the_tiles_of_a_group_of_floats(seed):
    """As those of integers; they start at any number, of which there are 26 bits."""
    draw = Draw(seed)
    lanes, most = draw.one((1, 2, 2, 4)), 2
    k, n = (extent(draw, lanes, (1, 1, 2, 3)) for _ in range(2))
    start = int(np.float32(draw.one((0, -1.5, 2.0**-90, 3e38))).view(np.uint32))
    more = {"folds": True, "start": start, "tiles": most, "dynamic": draw.one((False, True))}
    params = params_of(k, max(n, FEEDBACK), "bf16", **more)
    compare(draw, params, lanes, drawn_dims(draw, draw.one((1, 2))))


@pytest.mark.parametrize(
    ("slices", "transposed"),
    others_slow(
        product((1, 2, 3, 4, 5, 32, 33, 34), (False, True)),
        [*product((1, 2, 3, 4, 5), (False, True)), (32, True), (33, False)],
    ),
)
def test_every_kind_of_memory(slices, transposed):
    """Registers, LUT RAM and block RAM, whose sums are read as soon as they may be."""
    draw, long, short = Draw(slices), 2 * slices, 3 + slices % 2
    k, n = (long, short) if transposed else (short, long)
    params = Matvec(k, n, "int8", stops=True, transposed=transposed)
    compare(draw, params, 2, [(3,)])


@pytest.mark.parametrize(("element", "transposed"), others_slow(KINDS, KINDS[::2]))
def test_many_lanes(element, transposed):
    params = params_of(19, 33, element, transposed=transposed)
    compare(Draw(1), params, 16, [(2,), (0, 1, 2)])


@pytest.mark.parametrize("seed", some_slow(range(12), 1))
def test_sums_of_floats_whose_exponents_grow(seed):
    """Slice by slice, by any distance, so that what was summed up moves by any number of places."""
    draw = Draw(seed)
    lanes, k, n = draw.one((1, 2, 4)), 48, 6
    steps = draw.rng.choice([0, 0, 1, 2, 3, 5, 9, 15, 16, 17, 30, 33], k)
    exponent = np.minimum(np.cumsum(steps), 120) - 60

    def factors(shape, exponent):
        return numbers.as_element(draw.rng.standard_normal(shape) * 2.0**exponent, "bf16")

    x, w = factors((1, k), exponent), factors((k, n), draw.one((0, -exponent[:, None] // 2)))
    params = Matvec(k, n, "bf16", stops=True, transposed=True)
    design = unit(draw, params, lanes, 2)
    y = Sums.of(np.full((1, n), -0.0, np.float32)).plus(x, w, lanes).rounded()
    inputs = {
        "s_x": to_beats([sliced(x, lanes)], 2, x.dtype),
        "s_w": to_beats([sliced(w.T, lanes)], 2, w.dtype),
    }
    verify(
        design, inputs, {"d_y": to_beats([sliced(y, lanes)], 2, np.float32)}, draw.stalls(design)
    )


@pytest.mark.parametrize(("element", "transposed"), KINDS)
def test_sums_of_the_largest_products_are_exact(element, transposed):
    params = params_of(32, 4, element, transposed=transposed)
    compare(Draw(0), params, 2, [(3,)], extreme=True)


@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize(("k_slices", "n_slices"), [(1, 1), (1, 4), (4, 1), (3, 2)])
def test_a_beat_of_weights_is_taken_in_every_cycle(k_slices, n_slices, transposed):
    lanes, tiles = 2, 5
    k, n = lanes * k_slices, lanes * n_slices
    params = Matvec(k, n, "int8", stops=True, transposed=transposed)
    design = unit(Draw(1), params, lanes, 2).with_depths({"x": 4, "w": 4, "y": 4})
    w = np.zeros((tiles, n, k) if transposed else (tiles, k, n), np.int8)
    inputs = {
        "s_x": to_beats([sliced(t, lanes) for t in np.zeros((tiles, 1, k), np.int8)], 2),
        "s_w": to_beats([sliced(t, lanes) for t in w], 2),
    }
    taken = predict(design, inputs).pops["w"][:-1]
    assert (np.diff(taken) == 1).all()
    assert len(taken) == tiles * k * n // lanes


@pytest.mark.parametrize("lanes", some_slow([4, 1, 8], 1))
def test_keys_and_values_of_any_number_stream_through(lanes):
    """Those of a cache, which a query is multiplied by: within one beat, and in several.

    Rows of values and weights of keys are of any number too.
    """
    g, rng, keys = sg.Graph("scores"), np.random.default_rng(lanes), [2, 7, 1, 4]
    length = sg.ragged("T", bound=7, positive=True)
    inputs, wide = {}, {"few": (sg.int8, 3), "many": (sg.bf16, 13)}
    for name, (element, k) in wide.items():
        q = g.input(f"q_{name}", element[1, k], (len(keys),))
        tiles = g.input(f"k_{name}", sg.Tile(length, k, element), (len(keys),))
        g.output(q.map(sg.fn.matmul(transpose=True), tiles), name)
        inputs[q.node.name] = rng.integers(-100, 100, (len(keys), 1, k))
        inputs[tiles.node.name] = [rng.integers(-100, 100, (n, k)) for n in keys]
        p = g.input(f"p_{name}", sg.Tile(1, length, element), (len(keys),))
        tiles = g.input(f"v_{name}", sg.Tile(length, k + 2, element), (len(keys),))
        g.output(p.map(sg.fn.matmul(), tiles), f"sum_{name}")
        inputs[p.node.name] = [rng.integers(-100, 100, (1, n)) for n in keys]
        inputs[tiles.node.name] = [rng.integers(-100, 100, (n, k + 2)) for n in keys]
    stalls = Stalls(lanes, {"q_few": 0.5, "k_many": 0.4, "few": 0.3, "many": 0.6, "v_few": 0.4})
    run = Experiment(g, inputs, lanes=lanes, stalls=stalls)
    assert all(u.params.dynamic for u, _ in run.design.rows_of(Matvec))
    assert len([*run.design.of_kind(Matvec)]) == 2 * len(wide)
    due = {name: run.reference.beats(name, lanes) for name in g.outputs}
    check(run.design, run.beats, due, stalls, aborts=[15])


@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
def test_shape_mismatch_raises_the_error_flag(transposed):
    params = Matvec(4, 4, "int8", stops=True, transposed=transposed)
    design = unit(Draw(0), params, 2, 2).with_depths({"x": 2, "w": 2, "y": 4})
    w = beats([([1, 2], n % 2 if n < 7 else 2) for n in range(8)], 2)
    good = beats([([1, 2], 0), ([1, 2], 2)], 2)
    assert not raises_error(design, {"s_x": good, "s_w": w})
    for x in (
        beats([([1, 2], 0), ([1, 2], 0), ([1, 2], 2)], 2),
        beats([([1, 2], 2)], 2),
        beats([([1, 2], 0), ([1, 2], 1), ([1, 2], 0), ([1, 2], 2)], 2),
        beats([("bare", 2, 2)], 2),
        beats([], 2),
    ):
        assert raises_error(design, {"s_x": x, "s_w": w})
    for stops in ((0, 1) * 4, (0, 2) * 4, (0, 0, 0, 1, 0, 1, 0, 2), (0, 1, 0, 1, 0, 1, 0, 1)):
        wrong = beats([([1, 2], stop) for stop in stops], 2)
        assert raises_error(design, {"s_x": good, "s_w": wrong})
    assert raises_error(design, {"s_x": good, "s_w": beats([("bare", 2, 2)], 2)})


@pytest.mark.parametrize("x", [(3, 3), (3, 4), (4, 4)])
@pytest.mark.parametrize("w", [(3, 3), (3, 4), (4, 4)])
def test_empty_groups_have_to_be_the_same(x, w):
    params = Matvec(2, 2, "int8", stops=True)
    design = unit(Draw(0), params, 2, 4).with_depths({"x": 2, "w": 2, "y": 4})
    inputs = {"s_x": beats([("bare", *x)], 2), "s_w": beats([("bare", *w)], 2)}
    assert raises_error(design, inputs, limit=40) == (x != w)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": 0}, r"products of \[1,4\] and \[4,0\] are empty"),
        ({"element": "f32"}, "it multiplies int8 or int16 or bf16, not f32"),
        ({"element": "bf16"}, "tiles of bf16 must be transposed or turned: slices of K are"),
        ({"turned": True}, "only tiles of bf16, of at least 4 columns, are turned"),
        ({"tiles": 0}, "a group needs at least 1 tile, not 0"),
        ({"folds": True}, "the rank of x must be at least 3, not 2"),
        ({"dynamic": True, "stops": False}, "only tiles that have the stops of x may have any num"),
        ({"start": 1}, "only sums of groups start at a number"),
        ({"element": "int16"}, "x must be of rank 2 with 2 lanes of 16 bits, not"),
        ({"transposed": True}, "y must be .* 2 lanes of 32 bits 10 cycles late, not"),
    ],
)
def test_what_can_not_be_built(changed, message):
    params = Matvec(**{"k": 4, "n": 2, "element": "int8", "stops": True, **changed})
    y = Channel("y", 2, 32, 2, delay=4)
    with pytest.raises(StepError, match=f"^design lone: matvec dut: {message}"):
        lone(params, [Channel("x", 2, 8, 2), Channel("w", 2, 8, 2)], [y])


@pytest.mark.parametrize("wrong", [{"transposed": True}, {"stops": False}])
def test_what_can_not_be_summed_up(wrong):
    params = Matvec(**{"k": 4, "n": 2, "element": "int8", "stops": True, "folds": True, **wrong})
    with pytest.raises(StepError, match="it sums up tiles that are not transposed and have the st"):
        lone(params, [Channel("x", 2, 8, 3), Channel("w", 2, 8, 3)], [Channel("y", 2, 32, 2)])
