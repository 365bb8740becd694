from collections import Counter

import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.table import Bus, Channel, Design
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.shift_cols.params import ShiftCols


def one_expert(cols=8, element=sg.int8, **tensor):
    g = sg.Graph("one")
    t = g.tensor("t", (4, cols), element, **tensor)
    x = sg.linear_offchip_load(t, tile=(1, cols), shape=(4,), stride=(1,))
    return g, x


def test_a_stream_used_twice_gets_a_fork():
    g, x = one_expert()
    g.output(x, "a")
    g.output(x.fifo(40), "b")
    design = lower(g)
    (fork,) = design.of_kind(Fork)
    assert fork.inputs == {"x": "linear_offchip_load_0"}
    assert [design.channel[name].depth for name in fork.outputs.values()] == [2, 40]


def test_a_reference_carries_structure_alone():
    g, x = one_expert()
    w = g.tensor("w", (8, 8), sg.int8)
    y = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=x, name="y")
    g.output(x, "a")
    g.output(y, "b")
    design = lower(g)
    (load,) = (u for u in design.of_kind(Load) if u.name == "y")
    ref = design.channel[load.inputs["ref"]]
    assert (ref.lanes, ref.bits, ref.rank) == (0, 0, 2)


@pytest.mark.parametrize(
    ("element", "shift", "bits"), [(sg.int8, None, 19), (sg.int8, 4, 0), (sg.bf16, None, 0)]
)
def test_sums_of_integers_are_stored_without_copies_of_their_sign(element, shift, bits):
    g, x = one_expert(element=element)
    w = g.tensor("w", (8, 8), element)
    weights = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=x)
    y = x.map(sg.fn.matmul(), weights.flatten(0, 1))
    g.output(y if shift is None else y.map(sg.fn.requantize(shift=shift), name="last"), "a")
    design = lower(g)
    assert design.channel["map_0" if shift is None else "last"].value_bits == bits


def test_an_unread_output_is_discarded():
    g, x = one_expert()
    data, _ = x.reshape(chunk=3)
    g.output(data, "a")
    assert Counter(u.kind for u in lower(g).units)["discard"] == 1


def test_tables_survive_json_and_depths():
    g, x = one_expert()
    g.output(x, "a")
    design = lower(g, depths={"linear_offchip_load_0": 300})
    assert design.channel["linear_offchip_load_0"].memory == "blockram"
    assert Design.from_json(design.to_json()) == design


def test_every_unit_names_the_node_it_was_made_for():
    g, x = one_expert()
    g.output(
        x.promote().accum(sg.fn.retile_row(), rank=1).flat_map(sg.fn.retile_streamify(), rank=0),
        "a",
    )
    nodes = {n.name for n in g.nodes}
    assert {u.origin for u in lower(g).units if u.kind not in ("memory", "axi")} <= nodes


def test_a_wider_bus_needs_addresses_of_its_own_words():
    g, x = one_expert(base=8)
    g.output(x, "a")
    lower(g)
    with pytest.raises(sg.StepError, match="t lies at 8, not a multiple of the bus word of 16"):
        lower(g, bus=Bus(data_bits=128))


def test_operators_without_a_circuit_are_named_with_their_line():
    g, x = one_expert()
    columns = sg.dynamic("N", bound=4, positive=True)
    wide = g.input("wide", sg.Tile(1, columns, sg.int8), (2,))
    g.output(x, "a")
    g.output(wide.map(sg.fn.shift_cols(by=1)), "b")
    with pytest.raises(
        sg.StepError, match=r"map map_0 at test_lower.py:\d+: shift_cols.* no circuit yet for tiles"
    ):
        lower(g)


def test_settings_are_checked():
    g, x = one_expert()
    g.output(x, "a")
    with pytest.raises(sg.StepError, match="lanes must be a power of two"):
        lower(g, lanes=3)
    with pytest.raises(sg.StepError, match="no channel nowhere"):
        lower(g, depths={"nowhere": 4})
    with pytest.raises(sg.StepError, match="depth of at least 2, not 1"):
        lower(g, depths={"linear_offchip_load_0": 1})
    with pytest.raises(sg.StepError, match="burst must be a power of two"):
        Bus(burst=12)
    with pytest.raises(sg.StepError, match="data width"):
        Bus(data_bits=48)


def test_a_channel_has_two_ends():
    with pytest.raises(sg.StepError, match="channel c has no consumer"):
        Design("d", 4, Bus(), (), (Channel("c", 4, 8, 2),))


def test_a_buffer_needs_a_bound():
    g = sg.Graph("unbounded")
    x = g.input("x", sg.int8["R", 8], (1, 1))
    g.output(x.expand(count=2), "a")
    with pytest.raises(sg.StepError, match="number of rows of int8 Rx8 has no upper bound"):
        lower(g)


def dynamic_route(bound):
    g = sg.Graph("route")
    x = g.input("x", sg.int8[1, 8], (sg.dynamic("N", bound=bound),))
    sel = g.input("sel", sg.Selector(2), (sg.dynamic("N", bound=bound),))
    one, other = sg.partition(x, sel, rank=0)
    packed = one.promote().accum(sg.fn.retile_row(), rank=1)
    cut = packed.flat_map(sg.fn.retile_streamify("row"), rank=0)
    g.output(sg.reassemble([cut, other], sel, rank=0), "y")
    return g


def test_what_must_wait_needs_a_bound():
    assert lower(dynamic_route(9)).channel["sel_to_reassemble_0"].depth == 9
    message = (
        r"reassemble reassemble_0 at test_lower.py:\d+: while it waits for flat_map_0, the "
        r"channel partition_0_1 may have to buffer all its beats, but partition_0.1 is "
        r"Stream\[int8 1x8; E1\], and E1 has no bound; give one to N"
    )
    with pytest.raises(sg.StepError, match=message):
        lower(dynamic_route(None))


def test_a_memory_of_buffers_that_wait_needs_a_bound():
    g = sg.Graph("kept")
    x = g.input("x", sg.int8[1, 8], ("N", 3))
    kept = x.bufferize(rank=1)
    total = kept.promote().flatten(0, 1).streamify().accum(sg.fn.add(), rank=1)
    every = total.promote().accum(sg.fn.add(), rank=1)
    again = kept.streamify().promote()
    g.output(every.promote(0).promote(0).expand(again, rank=2).map(sg.fn.add(), again), "y")
    message = (
        r"bufferize bufferize_0 at .*: while it waits for flatten_0, it may have to store more "
        r"than its memory bufferize_0.memory_0 holds, since N has no bound; give one to N$"
    )
    with pytest.raises(sg.StepError, match=message):
        lower(g)


def test_no_bound_is_asked_for_where_nothing_waits():
    g = sg.Graph("straight")
    x = g.input("x", sg.int8[1, 8], ("N",))
    for copy, name in zip(x.fork(2), "ab", strict=True):
        g.output(copy.promote(), name)
    assert all(c.depth == 2 for c in lower(g).channels)


@pytest.mark.parametrize("op", ["map", "expand", "accum"])
def test_memories_that_no_chip_has_are_refused(op):
    g = sg.Graph("large")
    x = g.input("x", sg.int8[2, 1 << 16], (3, 1))
    w = g.input("w", sg.int8[1 << 16, 1 << 16], (3, 1))
    if op == "map":
        y = sg.map(sg.fn.matmul(), x, w)
    elif op == "expand":
        y = w.expand(count=2)
    else:
        y = sg.accum(sg.fn.retile_col(), w.flatten(0, 1).promote(), rank=1)
    g.output(x, "other")
    g.output(w, "same")
    g.output(y, "y")
    with pytest.raises(sg.StepError, match=rf"^{op} {op}_0 at test_lower.py:\d+: .* bits"):
        lower(g)


def chosen_by(fn, choose, monkeypatch):
    """A program of one function, which chooses its circuit so."""
    monkeypatch.setattr(type(fn), "unit", lambda self, *given: choose(given[0]))
    g = sg.Graph("chosen")
    streams = [g.input(f"x{n}", sg.int8[1, 8], (3,)) for n in range(fn.arity)]
    g.output(streams[0].map(fn, *streams[1:]), "y")
    return g


def test_units_in_a_chain(monkeypatch):
    """The same unit twice, one behind the other: each has channels of its own."""
    fn = sg.fn.shift_cols(1)
    unit = fn.unit(4, [sg.int8[1, 8]] * 2, [False])
    design = lower(chosen_by(fn, lambda lanes: [unit, unit], monkeypatch))
    first, last = design.of_kind(ShiftCols)
    assert first.outputs["y"] == last.inputs["x"]
    assert (first.inputs, last.outputs) == ({"x": "x0"}, {"y": "map_0"})


def test_units_in_a_chain_take_one_operand(monkeypatch):
    fn = sg.fn.add()
    unit = sg.fn.shift_cols(1).unit(4, [sg.int8[1, 8]] * 2, [False])
    with pytest.raises(sg.StepError, match=r"add\(\) has 2 operands and chooses .* take one"):
        lower(chosen_by(fn, lambda lanes: [unit], monkeypatch))
