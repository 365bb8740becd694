"""What a user reads when a program can't be timed: one sentence with names and numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.fuzz.generators.loops import Turns, loop
from stepgen.program.tiles import simulate
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.tiles.machines import SDA, Machine

fn = sg.fn


def behind_its_fold(length: int) -> sg.Graph:
    """Elements wait for the sum of all of them."""
    g = sg.Graph("late")
    x = g.input("x", sg.f32[1, 4], (2, length))
    total = x.accum(fn.add(), rank=1, name="total")
    g.output(x.map(fn.sub(), total.promote(0).expand(count=length)), "y")
    return g


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("length", [6, 9, 20])
def test_a_fifo_too_small_is_reported_with_the_smallest_that_is_not(length: int) -> None:
    graph, inputs = behind_its_fold(length), {"x": ones(2, length, 1, 4)}
    with pytest.raises(Deadlock) as raised:
        simulate(graph, inputs, SDA)
    error = raised.value
    assert "program late on sda deadlocks in cycle" in str(error)
    assert "x.0 to map_0 (full, 2 of 2)" in str(error)
    (name,) = error.remedy
    depth = error.remedy[name]
    assert str(error).endswith(f"a depth of {depth} for {name} frees it")
    assert simulate(graph, inputs, SDA, depths={name: depth}).cycles > 0
    with pytest.raises(Deadlock):
        simulate(graph, inputs, SDA, depths={name: depth - 1})
    with pytest.raises(Deadlock):
        simulate(graph, inputs, SDA, depths={name: depth - 1, "x.0": 400})


def test_tensors_beyond_all_addresses() -> None:
    g = sg.Graph("huge")
    for k in range(3):
        t = g.tensor(f"t{k}", (1 << 40, 1 << 22), sg.int8)
        g.output(sg.linear_offchip_load(t, tile=(1, 8), shape=(4,), stride=(1,)), f"y{k}")
    with pytest.raises(sg.StepError, match=f"t2 of {1 << 62} bytes lies behind {1 << 63} bytes"):
        simulate(g, {}, SDA)


def test_it_runs_with_the_depth_asked_for() -> None:
    g = sg.Graph("deep")
    x = g.input("x", sg.f32[1, 4], (9,))
    total = x.accum(fn.add(), rank=1) if x.rank else x.promote().accum(fn.add(), rank=1)
    back = x.fifo(12).promote()
    g.output(back.map(fn.sub(), total.promote(0).expand(back)), "y")
    assert simulate(g, {"x": ones(9, 1, 4)}, SDA).cycles > 9


def test_a_loop_that_nothing_enters_is_reported_at_once() -> None:
    g, inputs = loop(Turns(chunks=[[0]], entering=[[0, 1]], leaving=[[1, 0]]))
    with pytest.raises(Deadlock, match="no FIFO depth frees it") as raised:
        simulate(g, inputs, SDA)
    assert raised.value.remedy == {}


@pytest.mark.usefixtures("unmatched")
def test_what_is_left_at_the_end_is_reported() -> None:
    left = Turns(chunks=[[0], [1]], entering=[[1, 0]], leaving=[[1, 0]])
    with pytest.raises(sg.StepError, match=r"x\.0 has a chunk left when the selectors of enters"):
        simulate(*loop(left), SDA)
    g = sg.Graph("straight")
    x, sel = g.input("x", sg.f32[1, 4], ("N",)), g.input("sel", sg.Selector(1), ("N",))
    g.output(sg.partition(x, sel, rank=0)[0], "y")
    inputs = {"x": ones(1, 1, 4), "sel": np.ones((2, 1), bool)}
    with pytest.raises(sg.StepError, match=r"sel\.0 has a selector left when x\.0 has ended"):
        simulate(g, inputs, SDA)


def look_up(number: int, *, store: bool = False) -> tuple[sg.Graph, dict[str, Any]]:
    g = sg.Graph("look_up")
    table = g.tensor("table", (8, 4), sg.f32)
    place = g.input("place", sg.address[1, 1], (1,))
    inputs: dict[str, Any] = {"place": np.array([[[number]]])}
    if store:
        x = g.input("x", sg.f32[2, 4], (1,))
        sg.random_offchip_store(place, x, table, tile=(2, 4), name="put")
        inputs["x"] = ones(1, 2, 4)
    else:
        g.output(sg.random_offchip_load(place, table, tile=(2, 4), name="get"), "y")
    return g, inputs


@pytest.mark.parametrize("store", [False, True])
def test_a_tile_that_is_not_there(store: bool) -> None:
    assert simulate(*look_up(3, store=store), SDA).traffic == 2 * 4 * 4
    sentence = f"place.0 {'names' if store else 'asks for'} tile 4 of tensor table, which has 4"
    with pytest.raises(sg.StepError, match=sentence) as raised:
        simulate(*look_up(4, store=store), SDA)
    assert not isinstance(raised.value, Deadlock)


def test_an_input_that_is_missing() -> None:
    with pytest.raises(sg.StepError, match="the input x of the program late was not given"):
        simulate(behind_its_fold(1), {}, SDA)


def test_an_input_that_does_not_fit() -> None:
    with pytest.raises(sg.StepError, match="x"):
        simulate(behind_its_fold(3), {"x": ones(2, 3, 1, 5)}, SDA)


LARGEST = "tiles of at most 32767 rows and columns, not 1x40000"


def test_a_tile_larger_than_the_word_of_a_beat() -> None:
    g = sg.Graph("wide")
    tensor = g.tensor("t", (1, 40000), sg.bf16)
    g.output(sg.linear_offchip_load(tensor, tile=(1, 40000), shape=(1,), stride=(0,)), "y")
    with pytest.raises(sg.StepError, match=LARGEST):
        simulate(g, {}, SDA)


def test_a_tile_that_becomes_too_large() -> None:
    g = sg.Graph("growing")
    tensor = g.tensor("t", (20000, 1), sg.bf16)
    n = g.input("n", sg.Selector(1), ("N",))
    rows = sg.linear_offchip_load(tensor, tile=(20000, 1), shape=(1,), stride=(0,), ref=n)
    joined = rows.flatten(0, 1).promote().accum(fn.retile_row(), rank=1, name="joined")
    g.output(joined, "y")
    assert simulate(g, {"n": np.ones((1, 1), bool)}, SDA).traffic == 40000
    with pytest.raises(sg.StepError, match=r"joined .* makes a tile of more than 32767 rows"):
        simulate(g, {"n": np.ones((2, 1), bool)}, SDA)


def test_a_tile_with_too_much_padding() -> None:
    g = sg.Graph("padded")
    x = g.input("x", sg.f32[1, 4], ("N",))
    data, _ = x.reshape(chunk=3500)
    g.output(data.accum(fn.retile_row(), rank=1, name="joined"), "y")
    deep: Machine = replace(SDA, fifo_depth=4000)
    assert simulate(g, {"x": ones(2000, 1, 4)}, deep).cycles > 3000
    with pytest.raises(sg.StepError, match="or with more than 2047 rows"):
        simulate(g, {"x": ones(1000, 1, 4)}, deep)


def test_flags_made_of_data() -> None:
    g = sg.Graph("data")
    x = g.input("x", sg.f32[1, 1], (4,))
    flags = x.map(fn.compare(op="lt"), x, name="less").promote(0)
    g.output(x.flat_map(fn.retile_streamify("row"), rank=0, padding=flags, name="kept"), "y")
    with pytest.raises(sg.StepError, match=r"kept .* needs the contents of .*, which less makes"):
        simulate(g, {"x": ones(4, 1, 1)}, SDA)


@pytest.mark.parametrize("function", ["span", "span_first", "span_last", "span_end"])
def test_ranges_made_of_data(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offset = fn.offset(1)  # as one of a user's own may be
    monkeypatch.setattr(type(offset), "elements", (sg.address,))
    g = sg.Graph("data")
    ranges = g.input("x", sg.address[1, 2], (2,)).map(offset, name="moved")
    one = getattr(fn, function)()
    g.output(ranges.map(one) if function == "span_end" else ranges.flat_map(one, rank=1), "y")
    with pytest.raises(sg.StepError, match=r"needs the contents of .*, which moved makes"):
        simulate(g, {"x": np.ones((2, 1, 2), int)}, SDA)


@pytest.mark.parametrize(
    "one", [fn.span_last(), fn.span_first(), fn.span_end(), fn.span(positive=True)], ids=str
)
def test_an_empty_range(one: Any) -> None:
    g = sg.Graph("ranges")
    ranges = g.input("ranges", sg.address[1, 2], (1,))
    g.output(ranges.map(one) if one.name == "span_end" else ranges.flat_map(one, rank=1), "y")
    assert simulate(g, {"ranges": np.array([[[3, 1]]])}, SDA).cycles > 0
    with pytest.raises(sg.StepError, match=f"{one.name}.* needs ranges of at least 1"):
        simulate(g, {"ranges": np.array([[[3, 0]]])}, SDA)


def test_a_range_that_is_larger_than_a_word() -> None:
    g = sg.Graph("ranges")
    start, length = (g.input(name, sg.address[1, 1], (1,)) for name in ("start", "length"))
    made = start.map(fn.as_range(), length, name="made")
    g.output(made.flat_map(fn.span(), rank=1), "y")
    assert simulate(g, {"start": [[[3]]], "length": [[[2]]]}, SDA).cycles > 0
    with pytest.raises(sg.StepError, match=r"made .*starts below 1073741824 and lengths below"):
        simulate(g, {"start": [[[1 << 30]]], "length": [[[2]]]}, SDA)


@pytest.mark.parametrize("bits", [[0, 0, 0], [1, 0, 1]])
def test_selectors_that_are_not_one_hot(bits: list[int]) -> None:
    g = sg.Graph("named")
    names = g.input("names", sg.Selector(3), (1,))
    g.output(names.flat_map(fn.tile_addresses(2), rank=1), "y")
    assert simulate(g, {"names": np.array([[0, 1, 0]], bool)}, SDA).cycles > 0
    with pytest.raises(sg.StepError, match=r"tile_addresses.* needs selectors with one bit set"):
        simulate(g, {"names": np.array([bits], bool)}, SDA)
