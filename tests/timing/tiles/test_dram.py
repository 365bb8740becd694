"""The DRAM model: closed forms, laws, and a reference that serves burst by burst."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from dram_reference import Request, answers, place
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.swiglu import swiglu
from stepgen.ir.errors import StepError
from stepgen.program.tiles import simulate
from stepgen.timing.layout import Layout
from stepgen.timing.tiles import dram_steps
from stepgen.timing.tiles.bandwidth import PATTERNS, bandwidth
from stepgen.timing.tiles.dram import DDR4, HBM2, Dram
from stepgen.timing.tiles.dram_timings import DDR4_3200, HBM2_2000, Timings
from stepgen.timing.tiles.machines import SDA, SDA_DDR4, SDA_HBM2
from stepgen.timing.tiles.memory import PORT, SimpleMemory

CLOCK = replace(HBM2_2000, clock_ps=1000)
"""One clock of the memory is one cycle at 1 GHz."""
ONE = Dram(CLOCK, clock_mhz=1000, channels=1, latency_ps=5000)
"""One channel whose clock is the machine's."""
T = CLOCK
ROWS = ONE.turn * ONE.row_bytes
"""Bytes until the next set of banks."""
SETS = ONE.bank_groups * ONE.banks // ONE.turn


def run(memory: Dram, ports: list[list[Request]]) -> list[list[tuple[int, int]]]:
    """Transfer tiles, looking at each port when it asks for it."""
    layout = Layout("test")
    address = memory.lay_out(layout)
    records = [memory.port(layout, address) for _ in ports]
    M = layout.build()
    found: list[list[tuple[int, int]]] = [[] for _ in ports]
    look: list[int | None] = [r[0].cycle if r else None for r in ports]
    busy = [False] * len(ports)
    while any(t is not None for t in look):
        t = min(t for t in look if t is not None)
        for p, requests in enumerate(ports):
            while look[p] == t:
                if not busy[p]:
                    r = requests[len(found[p])]
                    dram_steps.start(
                        *(M, records[p], t, r.address, r.rows, r.row_bytes, r.pitch, int(r.write))
                    )
                    busy[p] = True
                then = dram_steps.advance(M, records[p], t)
                if then:
                    look[p] = then
                    continue
                busy[p] = False
                found[p].append((t, int(M[records[p] + PORT.done])))
                left = requests[len(found[p]) :]
                look[p] = max(t, left[0].cycle) if left else None
    return found


def one_burst(cycle: int, address: int, write: bool = False) -> Request:
    return Request(cycle, address, 1, 64, 64, write)


def ends(memory: Dram, *requests: Request) -> list[int]:
    """When the last data of each request of one port moves."""
    return [done - memory.latency for _, done in run(memory, [list(requests)])[0]]


def same_bank(memory: Dram) -> tuple[int, int]:
    """Addresses of two rows of one bank."""
    places = [place(memory, n * ROWS // memory.burst_bytes) for n in range(2 * SETS)]
    _, bank, row = places[0]
    other = next(n for n, (_, b, r) in enumerate(places) if b == bank and r != row)
    return 0, other * ROWS


def test_a_closed_bank_costs_an_activate():
    assert ends(ONE, one_burst(3, 0)) == [3 + T.rcd + T.cl + T.burst]
    assert ends(ONE, one_burst(3, 0, write=True)) == [3 + T.rcd + T.cwl + T.burst]


def test_an_open_row_is_cheaper_than_another_row():
    here, there = same_bank(ONE)
    hit = ends(ONE, one_burst(0, here), one_burst(1000, here))[1] - 1000
    conflict = ends(ONE, one_burst(0, here), one_burst(1000, there))[1] - 1000
    assert hit == T.cl + T.burst
    assert conflict == T.rp + T.rcd + T.cl + T.burst


def test_a_row_stays_open_for_its_time():
    here, there = same_bank(ONE)
    second = ends(ONE, one_burst(0, here), one_burst(1, there))[1]
    assert second == T.ras + T.rp + T.rcd + T.cl + T.burst
    written = ends(ONE, one_burst(0, here, write=True), one_burst(1, there))[1]
    closed = T.rcd + T.cwl + T.burst + T.wr
    assert written == max(T.ras, closed) + T.rp + T.rcd + T.cl + T.burst


def test_turning_the_bus_round_costs():
    read = T.rcd + T.cl + T.burst
    next_in_group = 64 * ONE.turn
    rr = ends(ONE, one_burst(0, 0), one_burst(1, next_in_group))
    rw = ends(ONE, one_burst(0, 0), one_burst(1, next_in_group, write=True))
    wr = ends(ONE, one_burst(0, 0, write=True), one_burst(1, next_in_group))
    assert rr == [read, read + T.ccd_l]
    assert rw[1] == T.rcd + T.rtw + T.cwl + T.burst
    assert wr[1] == T.rcd + T.cwl + T.burst + T.wtr_l + T.cl + T.burst


def test_four_activates_in_a_window():
    timings = replace(T, faw=100, rrd_s=3, rrd_l=5)
    memory = replace(ONE, timings=timings)
    requests = [one_burst(0, n * ROWS) for n in range(5)]
    assert ends(memory, *requests)[4] == 100 + T.rcd + T.cl + T.burst


def test_a_window_of_one_opens_rows_one_after_the_other():
    narrow = replace(ONE, window=1)
    requests = [one_burst(0, n * ROWS) for n in range(2)]
    first, second = ends(narrow, *requests)
    assert second - first == T.rcd
    assert ends(ONE, *requests)[1] - first < T.rcd


def test_rows_of_a_tile_are_offered_without_gaps():
    wide = replace(ONE, channels=64, interleave=64, requests_per_cycle=4)
    tile = Request(0, 0, 2, 3 * 64, 1024, False)
    first = T.rcd + T.cl + T.burst
    assert run(wide, [[tile]]) == [[(2, 1 + first + wide.latency)]]


@pytest.mark.parametrize("timings", [HBM2_2000, DDR4_3200], ids=["hbm2", "ddr4"])
def test_refresh_takes_its_share(timings):
    memory = replace(ONE, timings=replace(timings, clock_ps=1000))
    never = replace(memory, timings=replace(memory.timings, refi=1 << 40))
    long = Request(0, 0, 1, 1 << 22, 1 << 22, False)
    cycles, without = ends(memory, long)[0], ends(never, long)[0]
    t = memory.timings
    refreshes = cycles // t.refi
    closing_and_opening = t.rtp + t.rp + t.faw + t.rcd
    each = (cycles - without) / refreshes
    assert t.rfc <= each <= t.rfc + closing_and_opening
    # Of its whole time a busy channel spends at least the share that is refresh.
    assert without / cycles <= 1 - 0.99 * t.rfc / t.refi


@pytest.mark.parametrize("memory", [HBM2, DDR4, SimpleMemory()], ids=["hbm2", "ddr4", "simple"])
@pytest.mark.parametrize("ports", [1, 4, 16])
@pytest.mark.parametrize("tile", [1024, 8192, 65536])
def test_in_order_is_best_and_nothing_is_above_the_peak(memory, ports, tile):
    found = {p: bandwidth(memory, p, ports=ports, tile=tile, bytes=1 << 22) for p in PATTERNS}
    assert found["sequential"].share >= found["random"].share
    assert 0 < max(b.share for b in found.values()) <= 1
    assert found["sequential"] == bandwidth(memory, ports=ports, tile=tile, bytes=1 << 22)


def test_a_busy_memory_comes_near_its_peak():
    for memory in (HBM2, DDR4):
        assert bandwidth(memory, ports=16, tile=65536, bytes=1 << 25).share > 0.9


def test_mixing_loads_and_stores_costs():
    apart = bandwidth(DDR4, ports=4, bytes=1 << 21)
    mixed = bandwidth(DDR4, ports=4, writes=2, bytes=1 << 21)
    assert mixed.cycles > apart.cycles


def test_ports_are_served_alike():
    tiles = [Request(0, 0, 1, 65536, 65536, False) for _ in range(4)]
    ports = [
        [replace(t, address=(4 * p + n) * 65536) for n, t in enumerate(tiles)] for p in range(4)
    ]
    done = [tile[-1][1] for tile in run(DDR4, ports)]
    assert max(done) < 1.05 * min(done)


@pytest.mark.parametrize("base", [HBM2, DDR4], ids=["hbm2", "ddr4"])
def test_more_channels_are_never_slower(base):
    cycles = [
        bandwidth(replace(base, channels=n), ports=8, tile=32768, bytes=1 << 23).cycles
        for n in (1, 2, 4, 8, 16, 32, 64)
    ]
    assert cycles == sorted(cycles, reverse=True)


def test_a_program_on_each_memory():
    graph, inputs = swiglu(batch=8, width=32, inner=64, tile_batch=4, tile_inner=16)
    simple, hbm2, ddr4 = (simulate(graph, inputs, m) for m in (SDA, SDA_HBM2, SDA_DDR4))
    assert simple.traffic == hbm2.traffic == ddr4.traffic > 0
    assert simple.cycles < hbm2.cycles < ddr4.cycles
    assert ddr4.cycles >= ddr4.traffic / DDR4.peak
    assert simulate(graph, inputs, SDA_DDR4).cycles == ddr4.cycles


def test_peaks():
    assert HBM2.peak == SimpleMemory().peak == 1024
    assert DDR4.peak == pytest.approx(2 * 25.6 / 2)


@st.composite
def memories(draw: st.DrawFn) -> Dram:
    def pick(low: int, high: int) -> int:
        return draw(st.integers(low, high))

    def one(*choices: int) -> int:
        return draw(st.sampled_from(choices))

    burst, cl, cwl = pick(1, 4), pick(4, 20), pick(2, 10)
    times = {
        **{"burst": burst, "cl": cl, "cwl": cwl, "rcd": pick(1, 20), "rp": pick(1, 20)},
        **{"ras": pick(1, 40), "ccd_s": burst + pick(0, 2), "ccd_l": burst + pick(0, 6)},
        **{"rrd_s": pick(1, 6), "rrd_l": pick(1, 9), "faw": pick(1, 40), "wr": pick(1, 20)},
        **{"rtp": pick(1, 10), "wtr_s": pick(1, 6), "wtr_l": pick(1, 10)},
        **{
            "rtw": max(1, cl + burst - cwl) + pick(0, 4),
            "refi": pick(150, 900),
            "rfc": pick(5, 50),
        },
    }
    if times["ccd_l"] < times["ccd_s"]:
        times["ccd_s"], times["ccd_l"] = times["ccd_l"], times["ccd_s"]
    groups = pick(1, 4)
    turn = one(*(n for n in range(1, groups + 1) if groups % n == 0))
    size = 32 << pick(0, 1)
    row = size * one(4, 8, 12)
    interleave = size * one(*(n for n in (1, 2, 4, 6) if turn * row % (size * n) == 0))
    return Dram(
        Timings("drawn", clock_ps=one(625, 1000, 937), **times),
        clock_mhz=one(800, 1000, 2000),
        channels=pick(1, 4),
        bank_groups=groups,
        banks=pick(1, 4),
        row_bytes=row,
        burst_bytes=size,
        interleave=interleave,
        turn=turn,
        window=pick(1, 6),
        latency_ps=pick(1, 20000),
        request_bytes=size * pick(1, 2),
        requests_per_cycle=pick(1, 20),
    )


@st.composite
def requests(draw: st.DrawFn) -> list[Request]:
    """Tiles that one port asks for, each where the one before ended or somewhere else."""
    somewhere = st.integers(0, 1 << 16)
    pauses = st.one_of(st.just(0), st.integers(0, 100), st.integers(0, 3000))
    found, cycle, near = [], 0, draw(somewhere)
    for _ in range(draw(st.integers(0, 6))):
        rows, row_bytes = draw(st.integers(1, 4)), draw(st.integers(1, 400))
        pitch = row_bytes + draw(st.one_of(st.just(0), st.integers(0, 2000)))
        near = draw(st.one_of(st.just(near), somewhere))
        found.append(Request(cycle, near, rows, row_bytes, pitch, draw(st.booleans())))
        near += rows * row_bytes
        cycle += draw(pauses)
    return found


@settings(max_examples=60)
@given(memories(), st.lists(requests(), min_size=1, max_size=3))
def test_drawn_tiles_against_the_reference(memory, ports):
    assert run(memory, ports) == answers(memory, ports)


@pytest.mark.parametrize("memory", [HBM2, DDR4], ids=["hbm2", "ddr4"])
def test_named_sets_against_the_reference(memory):
    rng = np.random.default_rng(7)
    ports = [
        [
            Request(0, int(rng.integers(1 << 20)) * 64, 1, 1024, 1024, bool(rng.random() < 0.3))
            for _ in range(4)
        ]
        for _ in range(4)
    ]
    assert run(memory, ports) == answers(memory, ports)


@settings(max_examples=10)
@given(memories())
def test_no_two_bytes_share_a_place(memory):
    bursts = range(3000)
    places = {}
    for burst in bursts:
        places.setdefault(place(memory, burst), []).append(burst)
    # A row of a bank holds as many bursts as it has columns.
    assert max(map(len, places.values())) <= memory.row_bytes // memory.burst_bytes


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"channels": 0}, "channels must be at least 1, not 0"),
        ({"burst_bytes": 48}, "burst_bytes of 48 does not divide row_bytes of 2048"),
        ({"turn": 3}, "turn of 3 does not divide bank_groups of 4"),
        ({"interleave": 3 * 64}, "interleave of 192 bytes does not divide the 4096 bytes"),
    ],
)
def test_wrong_descriptions_are_refused(change, says):
    with pytest.raises(StepError, match=says):
        replace(ONE, **change)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rp": 0}, "rp must be at least 1, not 0"),
        ({"rtw": 1}, "overlap"),
        ({"ccd_s": 1}, "overlap"),
        ({"refi": 300}, "leaves no time"),
    ],
)
def test_wrong_timings_are_refused(change, says):
    with pytest.raises(StepError, match=says):
        replace(T, **change)


def test_wrong_measurements_are_refused():
    with pytest.raises(StepError, match="one of sequential, streams, random, not 'odd'"):
        bandwidth(HBM2, "odd")
    with pytest.raises(StepError, match="0 bytes"):
        bandwidth(HBM2, bytes=0)
    with pytest.raises(StepError, match="of which 3 write"):
        bandwidth(HBM2, ports=2, writes=3)


def test_sets_are_complete():
    names = {f.name for f in dataclasses.fields(Timings)} - {"name", "clock_ps"}
    assert names == set(dram_steps.TIMES)
    assert DDR4_3200.clock_ps < HBM2_2000.clock_ps
