import numpy as np
import pytest

from stepgen.compile.design import Bus
from stepgen.compile.units import load, memory, store
from stepgen.compile.units.axi import burst, request_bits

BUS = Bus(data_bits=64)


def parameters(**changes):
    given = {
        "region": "w",
        "base": 64,
        "tile_bytes": 16,
        "rows": 2,
        "slices": 2,
        "shape": [2, 3],
        "stride": [3, 1],
    }
    return load.parameters(**{**given, **changes})


def words(walk: load.Walk) -> list[int]:
    """All words of a walk, run by run as the circuit steps."""
    counts, start, seen = [0] * len(walk.extents), walk.base, []
    while True:
        seen += range(start, start + walk.words)
        for k, extent in enumerate(walk.extents):
            counts[k] += 1
            if counts[k] < extent:
                start += walk.jumps[k]
                break
            counts[k] = 0
        else:
            return seen


@pytest.mark.parametrize("seed", range(20))
def test_a_walk_visits_the_words_of_the_tiles_in_order(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 4, rng.integers(0, 4)).tolist()
    stride = rng.integers(0, 7, len(shape)).tolist()
    params = parameters(shape=shape, stride=stride, ref_level=2, ref_rank=2)
    expected = []
    for index in np.ndindex(*shape):
        tile = 64 // 8 + 2 * int(np.dot(index, stride)) if shape else 64 // 8
        expected += [tile, tile + 1]
    assert words(load.walk(params, BUS)) == expected


def test_what_lies_together_is_one_run():
    walk = load.walk(parameters(), BUS)
    assert (walk.words, walk.extents) == (12, ())
    walk = load.walk(parameters(stride=[4, 1]), BUS)
    assert (walk.words, walk.extents, walk.jumps) == (6, (2,), (8,))


@pytest.mark.parametrize(
    ("changes", "beat_bits", "told"),
    [
        ({}, 32, None),
        ({"base": 4}, 32, "w lies at 4, not a multiple of the bus word of 8"),
        ({"tile_bytes": 12}, 32, "a tile of w is 12 bytes, not a multiple of the bus word of 8"),
        ({}, 48, "a beat of 48 bits can't be cut from bus words of 64 bits"),
        ({"shape": [2, 4]}, 32, "a load reads tiles 0 to 6 of w, which has tiles 0 to 5"),
        ({"stride": [3, -1]}, 32, "a load reads tiles -2 to 3 of w, which has tiles 0 to 5"),
        ({"shape": [2, 0]}, 32, "the out shape [2, 0] of a load of w has an empty dim"),
        ({"shape": [], "stride": []}, 32, "a load of w without a reference needs an out shape"),
    ],
)
def test_what_a_load_cannot_do(changes, beat_bits, told):
    problem = load.problem(parameters(**changes), BUS, beat_bits, 96)
    assert problem is None if told is None else problem.startswith(told)


def test_what_a_store_cannot_do():
    params = store.parameters(region="t", base=8, size=64)
    assert store.problem(params, BUS, 32) is None
    assert store.problem(params, BUS, 24).startswith("a beat of 24 bits can't be packed")
    assert store.problem({**params, "base": 9}, BUS, 32).startswith("t lies at 9, not a multiple")


@pytest.mark.parametrize(("depth", "words"), [(2, 2), (3, 2), (15, 8), (16, 16), (99, 16)])
def test_a_burst_fits_its_fifo(depth, words):
    assert burst(BUS, depth) == words


def test_the_arbiter_is_joined_to_all():
    a, b = ("a_req", "a_data"), ("b_req", "b_data")
    units, channels = memory.join(BUS, [a, b], [("t_wreq", "t_wdata", "t_ack")])
    assert units[0].inputs == ("a_req", "b_req", "t_wreq", "t_wdata", "mem_r", "mem_b")
    assert units[0].outputs == ("a_data", "b_data", "t_ack", "mem_ar", "mem_aw", "mem_w")
    assert units[1].inputs == ("mem_ar", "mem_aw", "mem_w")
    assert [c.name for c in channels] == ["mem_ar", "mem_r", "mem_aw", "mem_w", "mem_b"]
    assert channels[0].bits == request_bits(BUS) == 29 + 8
    units, channels = memory.join(BUS, [a], [])
    assert (units[1].inputs, units[1].outputs) == (("mem_ar",), ("mem_r",))


def test_many_units_take_registers_on_the_way():
    assert [memory.stages(n) for n in (1, 8, 9, 64, 65)] == [0, 0, 1, 1, 2]
    _, channels = memory.join(BUS, [(f"r{k}", f"d{k}") for k in range(9)], [])
    assert channels[0].delay == 1
    assert channels[0].depth > channels[0].latency
