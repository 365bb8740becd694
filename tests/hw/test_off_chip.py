from dataclasses import replace

import numpy as np
import pytest
from axi_memory import AxiMemory
from drawn import Draw
from harness import compare, simulate
from off_chip import OffChip
from seeds import some_slow

from stepgen.hw.design.registers import OUT_OF_RANGE, detail_of
from stepgen.hw.design.table import Bus, Channel
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.ir.wire import Beats, narrowed
from stepgen.timing.model import Fault, predict


def drawn_bus(draw: Draw) -> Bus:
    return Bus(draw.one((32, 64, 128, 256)), 32, draw.one((1, 2, 4, 16)), draw.one((1, 2, 8)))


def drawn_ref(draw: Draw):
    """A nested reference of tiles or of flags; returns it with its element level and wire rank."""
    outer = draw.one((0, 1, 2))
    dims = [(0, 1, 2, 3), (0, 1, 2, 2), (0, 1, 2)][: outer + 1]
    if draw.one((True, False)):
        return draw.nested(dims, lambda: draw.tile(draw.one((0, 1, 3)), 2)), 2, 2 + outer
    return draw.nested(dims, draw.beat), 0, outer


def drawn_load(draw: Draw, design: OffChip, name: str):
    if draw.one((True, False)):
        return design.load(name)
    return design.load(name, *drawn_ref(draw), ahead=draw.one((2, 8)))


@pytest.mark.parametrize("seed", some_slow(range(16), 3))
def test_load(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    _, nested, dtype = drawn_load(draw, design, "y")
    design.sink("y", nested, dtype)
    design.verify(design.timing(), design.stalls())


@pytest.mark.parametrize("seed", some_slow(range(16), 2))
def test_prompt_load(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    _, nested, dtype = design.load("y", *drawn_ref(draw), ahead=draw.one((2, 8)), prompt=True)
    design.sink("y", nested, dtype)
    design.verify(design.timing(), design.stalls())


def test_a_prompt_load_does_not_wait_for_the_end_of_its_reference():
    """The reference stalls after its first beat; the tile of that beat comes out all the same."""
    last = {}
    for prompt in (False, True):
        draw = Draw(2)
        design = OffChip(draw, Bus(64, 32, 4, 2))
        ref = [draw.tile(12, 2)]
        _, nested, dtype = design.load("y", ref, 2, 2, prompt=prompt)
        design.sink("y", nested, dtype)
        stalls = Stalls(1, {"s_y_ref": 0.9})
        moved = design.verify(MemoryTiming(), stalls, runs=1).pushes
        last[prompt] = int(moved["y"][-2]), int(moved["y_ref"][-2])
    assert last[False][0] > last[False][1]
    assert last[True][0] < last[True][1]


@pytest.mark.parametrize("seed", some_slow(range(4), 2))
def test_a_load_for_its_structure_alone(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    _, nested, dtype = drawn_load(draw, design, "y")
    design.channels = [
        replace(c, lanes=0, bits=0, tail=0) if c.name == "y" else c for c in design.channels
    ]
    design.sink("y", nested, dtype)
    design.verify(design.timing(), design.stalls())


@pytest.mark.parametrize("seed", some_slow([0, 1, *range(3, 32), 2], 4))
def test_load_by_address(seed):
    """Tiles that straddle words and bursts, and addresses, of a memory that answers at any time."""
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    addresses = draw.one((True, False, False))
    _, nested, dtype = design.look_up(
        "y", draw.one((0, 1, 2)), addresses=addresses, ahead=draw.one((2, 8, 40))
    )
    design.sink("y", nested, dtype)
    design.verify(design.timing(), design.stalls(), aborts=draw.one((0, 1)))


@pytest.mark.parametrize("seed", some_slow(range(6), 3))
def test_an_address_past_the_last_tile(seed):
    """All tiles before it arrive, the circuit tells the number, and a soft reset is enough."""
    draw = Draw(seed)
    made = OffChip(draw, drawn_bus(draw))
    channel, nested, dtype = made.look_up("y", counts=(9,), ahead=draw.one((2, 8)))
    made.sink("y", nested, dtype)
    design, timing, stalls = made.design(), made.timing(), made.stalls()
    params, wire = made.units[1].params, design.channel["y_ref"]
    bad, most = int(draw.rng.integers(9)), (1 << wire.bits) - 1
    number = draw.one((params.tiles, most))
    good = made.inputs["s_y_ref"]
    data = good.data.copy()
    data[bad] = draw.one((number, 1 << 40)) if number == most else number
    wrong = {"s_y_ref": replace(good, data=narrowed(data, wire.bits))}
    with pytest.raises(Fault) as raised:
        predict(design, wrong, memory=timing, stalls=stalls)
    assert f"y is to read tile {number} of y, which has {params.tiles} tiles" in str(raised.value)

    predicted = predict(design, made.inputs, memory=timing, stalls=stalls)
    axi = AxiMemory(bytearray(made.before), made.bus.bytes, timing, stalls, made.windows)
    seen: list = []
    got, pushes, *_, error = simulate(
        design,
        made.inputs,
        stalls,
        memory=axi,
        aborts=[predicted.cycles + raised.value.cycle],
        first=wrong,
        seen=seen,
    )
    (came, flags, detail), wanted = seen[0], made.expected["d_y"]
    assert flags == 1 << design.units.index(made.units[1])
    assert detail == raised.value.detail == detail_of(OUT_OF_RANGE, number)
    assert flags == 1 << raised.value.code - 1
    beats = bad * params.rows * params.slices
    before = Beats(*(getattr(wanted, f)[:beats] for f in ("kind", "stop", "low", "data")))
    compare("d_y", channel, came["d_y"], before)
    assert not error
    compare("d_y", channel, got["d_y"], wanted)
    assert all(pushes[name] == predicted.pushes[name].tolist() for name in design.channel)


@pytest.mark.parametrize("seed", some_slow(range(16), 4))
def test_store(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    dtype = draw.one((np.int8, np.int16, np.int32))
    lanes, bits = draw.one((2, 4, 8)), np.dtype(dtype).itemsize * 8

    def beat():
        return draw.rng.integers(-128, 128, lanes).astype(dtype)

    slices, tail = draw.one((1, 2, 3)), draw.one((0, int(draw.rng.integers(1, lanes))))

    def tile():
        return [[beat() for _ in range(slices)] for _ in range(draw.one((0, 1, 2, 5)))]

    outer = draw.one((0, 1))
    nested = draw.nested([(0, 1, 3, 6)] + [(0, 1, 2)] * outer, tile)
    channel = Channel("x", lanes, bits, 2 + outer, draw.one((2, 3, 70)), tail=tail)
    design.source("x", channel, nested, dtype)
    design.store("t", channel, nested, dtype, spare=draw.one((0, 0, 4)))
    design.verify(design.timing(), design.stalls())


@pytest.mark.parametrize("seed", some_slow(range(32), 4))
def test_store_by_address(seed):
    """Tiles that straddle words and bursts, beside a linear store, and their flags."""
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    if draw.one((True, False)):
        design.store("t", *design.load("l"))
    design.scatter("y", draw.one((0, 1, 2)), ahead=draw.one((2, 8, 40)))
    design.verify(design.timing(), design.stalls(), aborts=draw.one((0, 1)))


def test_a_store_by_address_past_the_last_tile():
    """Tiles before it are written and acknowledged, and bytes around them stay."""
    draw = Draw(3)
    made = OffChip(draw, Bus(64, 32, 4, 4))
    made.scatter("y", counts=(9,))
    design, wire = made.design(), made.channels[0]
    unit = next(u for u in design.units if u.name == "y")
    good = made.inputs["s_y_at"]
    data = good.data.copy()
    data[5] = unit.params.tiles
    wrong = made.inputs | {"s_y_at": replace(good, data=data)}
    with pytest.raises(Fault, match=f"y is to write tile {unit.params.tiles} of y") as raised:
        predict(design, wrong, memory=MemoryTiming())
    axi = AxiMemory(bytearray(made.before), 8, MemoryTiming(), Stalls(), made.windows)
    seen: list = []
    aborts = [raised.value.cycle + 300]
    *_, error = simulate(
        design, made.inputs, Stalls(), memory=axi, aborts=aborts, first=wrong, seen=seen
    )
    came, flags, detail = seen[0]
    assert wire.name == "y_at"
    assert flags == 1 << design.units.index(unit)
    assert detail == raised.value.detail == detail_of(OUT_OF_RANGE, unit.params.tiles)
    assert len(came["d_y"]) == 5
    assert not error
    assert axi.data == made.after


def test_a_tile_is_acknowledged_after_the_last_of_its_bursts():
    """Tiles of three bursts and more: no flag comes before the response to the last one."""
    draw = Draw(11)
    made = OffChip(draw, Bus(32, 32, 2, 8))
    made.scatter("y", counts=(6,))
    predicted = made.verify(MemoryTiming(write_latency=20), Stalls(), runs=1)
    acknowledged, answers = predicted.pushes["y"][:-1], predicted.pushes["y_ack"]
    each = len(answers) // len(acknowledged)
    assert each > 2
    assert all(flag > answers[each * (n + 1) - 1] for n, flag in enumerate(acknowledged))


@pytest.mark.parametrize("seed", some_slow([0, 2, 1, *range(3, 12)], 2))
def test_several(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    for k in range(draw.one((1, 2, 3))):
        channel, nested, dtype = drawn_load(draw, design, f"y{k}")
        if draw.one((True, False)):
            design.store(f"t{k}", channel, nested, dtype)
        else:
            design.sink(f"y{k}", nested, dtype)
    design.verify(design.timing(), design.stalls())


@pytest.mark.parametrize("slow", MEMORY_CHANNELS)
def test_one_channel_of_the_memory_is_slow(slow):
    """The others run ahead of it, as far as they can."""
    draw = Draw(1)
    design = OffChip(draw, Bus(32, 32, 2, 8))
    for k in range(2):
        design.store(f"t{k}", *design.load(f"y{k}"))
    design.verify(MemoryTiming(), Stalls(3, {slow: 0.9}), runs=1)


@pytest.mark.slow
def test_more_than_one_multiplexer_can_join():
    draw = Draw(14)
    design = OffChip(draw, Bus(32, 32, 4, 4))
    for k in range(9):
        design.store(f"t{k}", *design.load(f"y{k}"))
    design.verify(design.timing(), design.stalls(), runs=1)


def test_the_bus_is_kept_busy():
    """With enough bursts in flight, a word moves in every cycle after the first one."""
    draw = Draw(1)
    design = OffChip(draw, Bus(32, 32, 4, 8))
    design.depth = lambda: 64
    for k in range(3):
        design.sink(f"y{k}", *design.load(f"y{k}")[1:])
    predicted = design.verify(MemoryTiming(read_latency=9), Stalls(), runs=1)
    moved = predicted.pushes["mem_r"]
    assert len(moved) > 60
    assert moved[-1] - moved[0] == len(moved) - 1


@pytest.mark.parametrize("latency", some_slow([1, 3, 2, 9], 1))
def test_many_bursts_in_flight(latency):
    """The order of the requesters is then kept in a block RAM, slower than a fast memory."""
    draw = Draw(latency)
    design = OffChip(draw, Bus(32, 32, 4, 100))
    for k in range(2):
        design.store(f"t{k}", *design.load(f"y{k}"))
    memory = MemoryTiming(read_latency=latency, write_latency=latency)
    design.verify(memory, design.stalls(), runs=2)


def errors(made: OffChip, refuses: bool = False) -> tuple[set[str], bytearray]:
    """Names of the units that raise their error flag, and the memory after the run."""
    design = made.design()
    axi = AxiMemory(bytearray(made.before), made.bus.bytes, MemoryTiming(), Stalls(), made.windows)
    axi.refuses = refuses
    *_, flags = simulate(design, made.inputs, Stalls(), memory=axi)
    return {u.name for k, u in enumerate(design.units) if flags >> k & 1}, axi.data


@pytest.mark.parametrize("missing", [0, 1, 3])
def test_a_stream_longer_than_its_tensor(missing):
    """Beats beyond the tensor are dropped and reported, and the memory behind is unchanged."""
    draw = Draw(missing)
    made = OffChip(draw, Bus(64, 32, 4, 2))
    rows = [[[draw.beat()] for _ in range(7)]]
    channel = Channel("x", 2, 8, 2)
    made.source("x", channel, rows)
    made.store("t", channel, rows, np.int8, spare=-missing)
    params = made.units[-1].params
    fitting = made.windows.place(params.base + params.size)
    made.after[fitting:] = made.before[fitting:]
    raised, after = errors(made)
    assert raised == ({"t"} if missing else set())
    assert after == made.after


@pytest.mark.parametrize(("loads", "stores"), [(1, 0), (0, 1), (1, 1)])
def test_a_refused_access(loads, stores):
    draw = Draw(0)
    made = OffChip(draw, Bus(64, 32, 4, 2))
    for k in range(loads):
        made.sink(f"y{k}", *made.load(f"y{k}")[1:])
    for k in range(stores):
        rows, channel = [[[draw.beat()] for _ in range(7)]], Channel(f"x{k}", 2, 8, 2)
        made.source(f"x{k}", channel, rows)
        made.store(f"t{k}", channel, rows, np.int8)
    assert errors(made)[0] == set()
    assert errors(made, refuses=True)[0] == {"mem"}


@pytest.mark.parametrize("prompt", [False, True])
@pytest.mark.parametrize("ahead", [2, 3, 8])
def test_so_many_elements_of_a_reference_are_in_flight(ahead, prompt):
    """Their data fit into the FIFO, and what leaves is stalled: the reference waits."""
    draw = Draw(ahead)
    made = OffChip(draw, Bus(256, 32, 16, 8))
    made.depth = lambda: 70
    ref = [draw.beat() for _ in range(ahead + 4)]
    made.sink("y", *made.load("y", ref, 0, 0, ahead=ahead, prompt=prompt, most=1)[1:])
    moved = made.verify(MemoryTiming(), Stalls(ahead, {"d_y": 0.8}), runs=1)
    taken, left = moved.pops["y_ref"], moved.pushes["y"]
    waiting = [np.sum(taken <= t) - np.sum(left <= t) for t in range(moved.cycles)]
    assert ahead <= max(waiting) <= ahead + 1
