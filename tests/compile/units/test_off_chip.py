from dataclasses import replace

import numpy as np
import pytest
from harness import sink, source

from stepgen.hw.design import stages
from stepgen.hw.design.gear import Gear
from stepgen.hw.design.table import Bus, Channel, Design, Region, Unit
from stepgen.hw.units.axi.params import Axi, burst, request_bits
from stepgen.hw.units.load.params import Load, Walk
from stepgen.hw.units.memory.params import join
from stepgen.hw.units.store.params import Store
from stepgen.ir.errors import StepError

BUS = Bus(data_bits=64)


def load(**changes) -> Load:
    given = {
        "region": "w",
        "base": 64,
        "tile_bytes": 16,
        "rows": 2,
        "beat_parts": 4,
        "shape": (2, 3),
        "stride": (3, 1),
    }
    return Load(**{**given, **changes})


def region(base: int, size: int) -> Region:
    return Region(base, size, 1, size, (1, size), "int8")


def starts(walk: Walk) -> list[int]:
    """The starts of a walk's runs, one after the other as the circuit steps."""
    counts, start, seen = [0] * len(walk.extents), walk.base, []
    while True:
        seen.append(start)
        for k, extent in enumerate(walk.extents):
            counts[k] += 1
            if counts[k] < extent:
                start += walk.jumps[k]
                break
            counts[k] = 0
        else:
            return seen


@pytest.mark.parametrize("seed", range(40))
def test_a_walk_visits_the_bytes_of_the_tiles_in_order(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 4, rng.integers(0, 4)).tolist()
    stride = rng.integers(0, 7, len(shape)).tolist()
    tile = int(rng.integers(1, 20))
    offset = int(rng.integers(0, 2)) * BUS.bytes
    params = load(shape=shape, stride=stride, offset=offset, ref_level=2, tile_bytes=tile, rows=1)
    expected = []
    for index in np.ndindex(*shape):
        first = 64 + tile * (offset + (int(np.dot(index, stride)) if shape else 0))
        expected += range(first, first + tile)
    runs = [range(start, start + params.walk.length) for start in starts(params.walk)]
    assert [byte for run in runs for byte in run] == expected
    assert all(start % params.walk.step(BUS.bytes) == 0 for start in starts(params.walk))
    read = [len({byte // BUS.bytes for byte in run}) for run in runs]
    assert params.walk.pass_words(BUS.bytes) == sum(read)
    assert max(read) <= params.walk.most_words(BUS.bytes)
    asked, moved = params.pass_bytes(BUS)
    assert (asked, moved) == (len(expected), 8 * sum(read))


def test_the_words_of_a_long_walk_are_counted_without_walking_it():
    walk = load(shape=(10**9, 2), stride=(5, 2), tile_bytes=3, rows=1).walk
    # runs of 3 bytes: two of the eight places in a word need a second word
    assert walk.pass_words(8) == 2 * 10**9 * 10 // 8


def test_what_lies_together_is_one_run():
    walk = load().walk
    assert (walk.length, walk.extents) == (96, ())
    walk = load(stride=(4, 1)).walk
    assert (walk.length, walk.levels, walk.extents, walk.jumps) == (48, (3,), (2,), (64,))


@pytest.mark.parametrize(
    ("row", "beat", "gear", "divides"),
    [
        (16, 4, Gear(4, 4), True),
        (16, 16, Gear(16, 16), True),
        (2, 8, Gear(2, 2), True),
        (3, 4, Gear(3, 3), False),
        (6, 4, Gear(4, 2), False),
        (24, 32, Gear(24, 24), True),
        (20, 32, Gear(20, 20), False),
        (40, 32, Gear(32, 8), False),
    ],
)
def test_the_gear_between_beats_and_words_of_eight_bytes(row, beat, gear, divides):
    assert Gear.of(row, beat) == gear
    assert gear.divides(8) == divides


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"base": 4}, "w lies at 4, not a multiple of the bus word of 8"),
        ({"shape": (2, 4)}, "a load reads tiles 0 to 6 of w, which has tiles 0 to 5"),
        ({"stride": (3, -1)}, "a load reads tiles -2 to 3 of w, which has tiles 0 to 5"),
        ({"shape": (2, 0)}, "the out shape [2, 0] of a load of w has an empty dim"),
        ({"shape": (), "stride": ()}, "a load of w without a reference needs an out shape"),
        ({"shape": (2,)}, "a load of w has 2 strides for an out shape of 1"),
        ({"rows": 0}, "a tile of w of 16 bytes in 0 rows is empty"),
        ({"rows": 3}, "a tile of w of 16 bytes can't be 3 rows"),
        ({"beat_parts": 0}, "a beat of 0 bits can't be cut"),
    ],
)
def test_what_a_load_cannot_do(changes, message):
    params = load(**changes)
    problem = params.access_problem(BUS, region(changes.get("base", 64), 96))
    assert problem is None if message is None else problem.startswith(message)


def test_what_a_store_cannot_do():
    store = Store(region="t", base=8, size=64)
    assert store.access_problem(BUS, 32, region(8, 64)) is None
    message = store.access_problem(BUS, 28, region(8, 64))
    assert message.startswith("a beat of 28 bits can't be cut from bus words or packed into them")
    message = store.access_problem(BUS, 32, region(8, 32))
    assert message == "t has 32 bytes at 8, not 64 at 8"
    message = Store("t", 9, 64).access_problem(BUS, 32, region(9, 64))
    assert message.startswith("t lies at 9, not a multiple")


def copying(unit: str = "", channel: str = "", **changes) -> Design:
    """A load by reference into a store, with changes to one unit's params or to one channel."""
    joined, between = join(BUS, [("l_req", "l_data")], [("t_wreq", "t_wdata", "t_ack")])
    units = [
        source("r"),
        Unit(
            "l",
            load(ref_level=2),
            {"ref": "r", "data": "l_data"},
            {"out": "x", "req": "l_req"},
        ),
        Unit(
            "t",
            Store("t", 160, 96),
            {"x": "x", "ack": "t_ack"},
            {"wreq": "t_wreq", "wdata": "t_wdata"},
        ),
        *joined,
    ]
    channels = [
        Channel("r", 0, 0, 2),
        Channel("x", 4, 8, 4),
        *Load.channels("l", BUS, 8),
        *Store.channels("t", BUS, 8),
        *between,
    ]
    return Design(
        "d",
        4,
        BUS,
        tuple(
            replace(u, params=replace(u.params, **changes)) if u.name == unit else u for u in units
        ),
        tuple(replace(c, **changes) if c.name == channel else c for c in channels),
        {"w": region(64, 96), "t": region(160, 96)},
    )


@pytest.mark.parametrize(
    ("unit", "channel", "changes", "message"),
    [
        ("l", "", {"region": "v"}, "load l: no tensor v lies off chip"),
        ("l", "", {"base": 72}, "load l: w lies at 64, not at 72"),
        ("l", "", {"ref_level": 3}, "load l: elements of ref end at level 3, not in 0..2"),
        ("l", "", {"ahead": 65}, "load l: 2 to 64 elements of ref may be in flight, not 65"),
        ("", "x", {"rank": 3}, "load l: out must be of rank 4 with 4 lanes of 8 bits, not of rank"),
        ("", "x", {"lanes": 2}, "load l: out must have beats of 32 bits, not 16"),
        ("", "x", {"tail": 3}, "load l: rows of out must end at bit 0 of a beat, not 24"),
        ("", "l_req", {"bits": 8}, "load l: req must be raw with 1 lane of 37 bits, not raw with"),
        ("", "r", {"rank": 1}, "load l: elements of ref end at level 2, not in 0..1"),
        ("t", "", {"region": "v"}, "store t: no tensor v lies off chip"),
        ("t", "", {"row_bytes": 6}, "store t: rows of 6 bytes don't end in lane 0 of x"),
        ("t", "", {"size": 104}, "store t: t has 96 bytes at 160, not 104 at 160"),
        ("", "t_ack", {"rank": 0}, "store t: ack must be raw with 1 lane of 1 bit, not of rank 0"),
        ("", "mem_aw", {"delay": 1}, "memory memory: aw must be raw with 1 lane of 37 bits, not"),
        ("", "mem_b", {"bits": 2}, "memory memory: b must be raw with 1 lane of 1 bit, not raw"),
    ],
)
def test_what_no_design_holds(unit, channel, changes, message):
    assert copying()
    with pytest.raises(StepError, match=f"design d: {message}"):
        copying(unit, channel, **changes)


def test_one_port_to_the_memory():
    design = copying()
    second = Unit("more", Axi(False, True), {"aw": "aw", "w": "w"}, {"b": "b"})
    ends = [source("aw"), source("w"), sink("b")]
    channels = [replace(design.channel[f"mem_{name}"], name=name) for name in ("aw", "w", "b")]
    with pytest.raises(StepError, match="one port to the off-chip memory, and it is mem"):
        replace(
            design,
            units=(*design.units, second, *ends),
            channels=(*design.channels, *channels),
        )


@pytest.mark.parametrize(("depth", "words"), [(2, 2), (3, 2), (15, 8), (16, 16), (99, 16)])
def test_a_burst_fits_its_fifo(depth, words):
    assert burst(BUS, depth) == words


def test_the_arbiter_is_joined_to_all():
    a, b = ("a_req", "a_data"), ("b_req", "b_data")
    (arbiter, master), channels = join(BUS, [a, b], [("t_wreq", "t_wdata", "t_ack")])
    assert arbiter.inputs == {
        "req_0": "a_req",
        "req_1": "b_req",
        "wreq_0": "t_wreq",
        "wdata_0": "t_wdata",
        "r": "mem_r",
        "b": "mem_b",
    }
    assert arbiter.outputs == {
        "data_0": "a_data",
        "data_1": "b_data",
        "ack_0": "t_ack",
        "ar": "mem_ar",
        "aw": "mem_aw",
        "w": "mem_w",
    }
    assert master.inputs == {"ar": "mem_ar", "aw": "mem_aw", "w": "mem_w"}
    assert master.outputs == {"r": "mem_r", "b": "mem_b"}
    assert [c.name for c in channels] == ["mem_ar", "mem_r", "mem_aw", "mem_w", "mem_b"]
    assert channels[0].bits == request_bits(BUS) == 29 + 8
    (_, master), _ = join(BUS, [a], [])
    assert (master.inputs, master.outputs) == ({"ar": "mem_ar"}, {"r": "mem_r"})


def test_many_units_take_registers_on_the_way():
    assert [stages.multiplexer(n) for n in (1, 8, 9, 64, 65)] == [0, 0, 1, 1, 2]
    _, channels = join(BUS, [(f"r{k}", f"d{k}") for k in range(9)], [])
    assert channels[0].delay == 1
    assert channels[0].depth > channels[0].latency
