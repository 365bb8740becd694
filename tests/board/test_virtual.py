"""A simulated board, with its own circuits on both wires."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.board import link as links
from stepgen.board import virtual
from stepgen.board.device import Device
from stepgen.board.link import Link, LinkError
from stepgen.board.serial_port import SerialWire
from stepgen.board.session import Session
from stepgen.cosim.case import Case
from stepgen.cosim.experiment import Experiment
from stepgen.emit.interface import interface
from stepgen.hw.board import top
from stepgen.hw.board.memory import BLOCK_TIMING
from stepgen.hw.board.protocol import MOST_WORDS, Space
from stepgen.hw.board.top import Surroundings
from stepgen.hw.design.registers import CYCLES, STATUS
from stepgen.ir.sdram_timing import SdramTiming

AROUND = Surroundings(clock=1_000_000, bit_cycles=8, memory_words=1024, beats=32)
ROWS = 10


def program() -> sg.Graph:
    """Rows through a matrix in memory, kept in memory too."""
    g = sg.Graph("rows")
    x = g.input("x", sg.int8[1, 8], (ROWS,))
    w, kept = g.tensor("w", (8, 8), sg.int8), g.tensor("kept", (ROWS, 8), sg.int8)
    copies = sg.fork(x, 2)
    weights = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=copies[1])
    y = copies[0].map(sg.fn.matmul(), weights.flatten(0, 1)).map(sg.fn.requantize(shift=5))
    out, store = sg.fork(y, 2)
    sg.linear_offchip_store(store, kept)
    g.output(out, "y")
    return g


def drawn(seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, (ROWS, 1, 8), np.int8)
    return {"x": list(x), "w": rng.integers(-128, 128, (8, 8), np.int8)}


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    graph = program()
    return Experiment(graph, drawn(0), lanes=4, memory=BLOCK_TIMING, early=("x",))


@pytest.fixture(scope="module")
def board(experiment: Experiment) -> Path:
    return virtual.build(experiment.design, AROUND)


@pytest.mark.slow
def test_for_a_board_that_is_there_no_verilog_is_written(
    board: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtual, "written", None)
    assert virtual.build(experiment.design, AROUND) == board


@pytest.fixture
def wire(board: Path) -> Iterator[SerialWire]:
    with virtual.switched_on(board, AROUND, seed=7) as wire:
        yield wire


def session(wire: links.Wire, experiment: Experiment) -> Session:
    return Session(Link(wire), experiment.design, AROUND, interface(experiment.design))


SDRAM = SdramTiming(
    data_bits=16, column_bits=8, row_bits=11, cas=3, rcd=3, rp=3, ras=5, rc=8, wr=2, rfc=8, mrd=2,
    refi=300, wake=500,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("past", [False, True])
def test_runs_on_an_sdram_take_the_predicted_cycles(experiment: Experiment, past: bool) -> None:
    """Tensors are written and read back over the link, or past it."""
    around = replace(AROUND, sdram=SDRAM, memory_words=SDRAM.bytes // experiment.bus.bytes)
    design = experiment.design
    with virtual.switched_on(virtual.build(design, around), around, seed=8) as wire:
        assert isinstance(wire, virtual.VirtualWire)
        way = wire if past else None
        on_board = Session(Link(wire), design, around, interface(design), way, 0)
        seen = set()
        for seed in range(3):
            outcome = on_board.perform(replace(again(experiment, seed), sdram=SDRAM).case())
            assert outcome.faults == []
            seen.add(outcome.cycles)
        assert on_board.moved_past >= past * 2 * on_board.read_bytes
    assert seen != {experiment.prediction.cycles}


def test_what_the_board_holds_is_not_written_again(
    wire: SerialWire, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_board, case = session(wire, experiment), experiment.case()
    assert on_board.perform(case).faults == []
    written = []
    write = on_board.link.write

    def counted(space: Space, address: int, words: list[int]) -> None:
        if space is Space.MEMORY:
            written.append(len(words))
        write(space, address, words)

    monkeypatch.setattr(on_board.link, "write", counted)
    assert on_board.perform(case).faults == []
    assert sum(written) <= 2 * ROWS  # of the tensor that the program writes


def test_gaps_between_tensors_are_left_alone(
    wire: SerialWire, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_board = session(wire, experiment)
    moved = dict.fromkeys(("read", "write"), 0)

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def moves(space: Space, address: int, words: Any) -> Any:
            if space is Space.MEMORY:
                moved[name] += words if isinstance(words, int) else len(words)
            return call(space, address, words)

        return moves

    for name in moved:
        monkeypatch.setattr(on_board.link, name, counted(name, getattr(on_board.link, name)))
    case = again(experiment, 3).case()
    assert case.memory is not None
    assert on_board.perform(case).faults == []
    tensors = sum(region.end - region.base for region in experiment.design.regions.values())
    assert tensors < case.memory.size // 2
    assert on_board.read_bytes == tensors
    assert all(tensors <= 4 * words < tensors + 100 for words in moved.values())


def test_what_a_run_has_given_may_be_changed(wire: SerialWire, experiment: Experiment) -> None:
    on_board = session(wire, experiment)
    outcome = on_board.perform(again(experiment, 1).case())
    following = again(experiment, 2).case()
    assert outcome.memory is not None
    outcome.memory[:] = following.memory
    assert on_board.perform(following).faults == []


def again(experiment: Experiment, seed: int) -> Experiment:
    return replace(experiment, inputs=drawn(seed), built=experiment.design)


def test_runs_take_the_predicted_cycles(wire: SerialWire, experiment: Experiment) -> None:
    on_board = session(wire, experiment)
    for seed in range(3):
        case = again(experiment, seed).case()
        assert on_board.exact(case)
        outcome = on_board.perform(case)
        assert outcome.faults == []
        assert outcome.cycles == case.cycles


@pytest.mark.slow
def test_beats_that_do_not_fit_at_once_follow(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rings of 4 beats: the host feeds and drains them while the design runs."""
    small = replace(AROUND, beats=4)
    one = again(experiment, 5)
    one.unpredicted = "the host makes it wait"
    program_of_small = virtual.build(experiment.design, small)
    with virtual.switched_on(program_of_small, small) as wire:
        on_board = Session(Link(wire), experiment.design, small, interface(experiment.design))
        case = one.case()
        assert not on_board.exact(case)
        assert on_board.perform(case).faults == []

        # A board for whose host a look lasts as long as a whole run may.
        read, looks = on_board.link.read, []

        def late(space: Space, address: int, count: int) -> list[int]:
            words = read(space, address, count)
            if (space, address) == (Space.REGISTERS, STATUS.offset // 4) and count > 1:
                looks.append(address)
                words[(CYCLES.offset - STATUS.offset) // 4] += len(looks) * case.limit
            return words

        monkeypatch.setattr(on_board.link, "read", late)
        assert on_board.perform(case).status == "done"
        assert len(looks) > 2


def test_memory_and_registers(wire: SerialWire) -> None:
    link, rng = Link(wire), random.Random(3)
    words = [rng.getrandbits(32) for _ in range(2 * MOST_WORDS + 3)]
    link.write(Space.MEMORY, 5, words)
    assert link.read(Space.MEMORY, 5, len(words)) == words
    assert link.read(Space.MEMORY, 6, 1) == [words[1]]
    last = AROUND.memory_words * 2
    for space, address in (
        (Space.MEMORY, last),
        (Space.REGISTERS, 1 << 24),
        (Space.STREAMS, 3 << 20),
    ):
        with pytest.raises(LinkError, match="nothing at that address"):
            link.read(space, address, 1)
    with pytest.raises(LinkError, match="nothing at that address"):
        link.write(Space.IDENTITY, 0, [1])
    assert link.read(Space.MEMORY, 5, 3) == words[:3]


class Faulty:
    """A wire that flips bits, and loses and doubles bytes."""

    patience = 0.3

    def __init__(self, wire: SerialWire, seed: int, share: float):
        self.wire, self.rng, self.share, self.count = wire, random.Random(seed), share, 0
        self.name = wire.name

    def _hurt(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self.rng.random() >= self.share:
                out.append(byte)
                continue
            self.count += 1
            how = self.rng.randrange(3)
            out += (bytes([byte ^ 1 << self.rng.randrange(8)]), b"", bytes([byte, byte]))[how]
        return bytes(out)

    def send(self, data: bytes) -> None:
        self.wire.send(self._hurt(data))

    def receive(self, seconds: float) -> bytes:
        return self._hurt(self.wire.receive(seconds))


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
def test_nothing_wrong_is_taken_for_right(
    seed: int, wire: SerialWire, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "TRIES", 30)
    faulty = Faulty(wire, seed, 1 / 400)
    link, rng = Link(faulty), random.Random(seed)
    held = [0] * 64
    link.write(Space.MEMORY, 0, held)
    for _ in range(60):
        first = rng.randrange(64)
        count = rng.randrange(1, 65 - first)
        if rng.random() < 0.5:
            held[first : first + count] = [rng.getrandbits(32) for _ in range(count)]
            link.write(Space.MEMORY, first, held[first : first + count])
        else:
            assert link.read(Space.MEMORY, first, count) == held[first : first + count]
    case = again(experiment, seed).case()
    on_board = Session(link, experiment.design, AROUND, interface(experiment.design))
    assert on_board.perform(case).faults == []
    assert faulty.count > 5
    assert link.traffic.repeated > 0


class Pulled:
    """A wire whose cable is out for a time, in the middle of what goes over it."""

    patience = 0.2

    def __init__(self, wire: SerialWire, sends: range):
        self.wire, self.sends, self.count, self.lost = wire, sends, 0, 0
        self.name = wire.name

    def send(self, data: bytes) -> None:
        self.count += 1
        if self.count in self.sends:
            # Half of it has gone through.
            data, self.lost = data[: len(data) // 2 * (self.lost == 0)], self.lost + 1
        self.wire.send(data)

    def receive(self, seconds: float) -> bytes:
        data = self.wire.receive(seconds)
        return b"" if self.count in self.sends else data


def test_a_cable_that_is_put_back_in_time_goes_unnoticed(
    wire: SerialWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "TRIES", 30)
    rng = random.Random(8)
    words = [rng.getrandbits(32) for _ in range(6 * MOST_WORDS)]
    pulled = Pulled(wire, range(4, 8))
    link = Link(pulled)
    link.write(Space.MEMORY, 0, words)
    assert link.read(Space.MEMORY, 0, len(words)) == words
    assert pulled.lost > 1
    assert link.traffic.repeated >= pulled.lost - 1


def test_a_port_that_is_gone_is_reported_and_may_come_again(wire: SerialWire) -> None:
    """The run is over, in one sentence; the next one finds the board as it is."""
    link = Link(wire)
    words = list(range(3 * MOST_WORDS))
    link.write(Space.MEMORY, 0, words)
    send, sent = wire.send, []

    def pull(data: bytes) -> None:
        send(data)
        sent.append(len(data))
        if len(sent) == 2:
            wire.close()

    link.wire.send = pull
    with pytest.raises(LinkError, match=rf"^the serial port {wire.name} is gone: [^\n]*$"):
        link.write(Space.MEMORY, 0, [7] * len(words))
    again = SerialWire(wire.name, wire.baud)
    try:
        found = Link(again).read(Space.MEMORY, 0, len(words))
    finally:
        again.close()
    assert all(word in (7, old) for word, old in zip(found, words, strict=True))


@pytest.mark.parametrize("seed", some_slow(range(8), 2))
def test_the_next_run_after_a_lost_link_is_good(
    wire: SerialWire, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whatever was under way when the cable was pulled."""
    rng = random.Random(seed)
    on_board = session(wire, experiment)
    patient, send, sends = wire.patience, wire.send, 0
    last = rng.randrange(1, 60)

    def pulled(data: bytes) -> None:
        nonlocal sends
        sends += 1
        if sends <= last:
            send(data)

    def endless(case: Case) -> None:
        while True:  # a run may take fewer frames
            on_board.perform(case)

    for k in range(2):
        sends = 0
        with monkeypatch.context() as cable:
            cable.setattr(links, "TRIES", 2)
            cable.setattr(wire, "send", pulled)
            cable.setattr(wire, "patience", 0.1)
            with pytest.raises(LinkError, match="does not answer"):
                endless(again(experiment, k).case())
        assert wire.patience == patient
        assert on_board.perform(again(experiment, k + 5).case()).faults == []


def test_a_run_without_an_end_is_given_up(wire: SerialWire, experiment: Experiment) -> None:
    """What moves nothing for long, however long its beats have taken before."""
    on_board = session(wire, experiment)
    case = again(experiment, 1).case()
    short = {name: rows[:-1] for name, rows in case.sources.items()}
    outcome = on_board.perform(replace(case, sources=short))
    assert outcome.status == "hang"
    assert on_board.perform(case).faults == []


def test_words_are_most_of_the_bytes(wire: SerialWire) -> None:
    """Of each direction, in the frames that move them; at least four of five."""
    link = Link(wire)
    words = [random.Random(1).getrandbits(32) for _ in range(4 * MOST_WORDS)]
    for move in (
        lambda: link.write(Space.MEMORY, 0, words),
        lambda: link.read(Space.MEMORY, 0, len(words)),
    ):
        sent, received = link.traffic.sent, link.traffic.received
        move()
        traffic = link.traffic
        assert not traffic.repeated
        assert 4 * len(words) >= 0.8 * max(traffic.sent - sent, traffic.received - received)


def test_another_design_is_reported(
    wire: SerialWire, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the same of other circuits: of another stepgen, or with another Verilog kernel."""
    other, message = replace(AROUND, clock=2_000_000), "holds another design than rows"
    with pytest.raises(LinkError, match=message):
        Session(Link(wire), experiment.design, other, interface(experiment.design))
    monkeypatch.setattr(top, "circuits", lambda design: "other ones")
    with pytest.raises(LinkError, match=message):
        Session(Link(wire), experiment.design, AROUND, interface(experiment.design))


def test_a_board_that_is_gone_is_reported(
    board: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with virtual.switched_on(board, AROUND) as wire:
        link = Link(wire)
        link.wire = Faulty(wire, 0, 1.0)
        link.wire._hurt = lambda data: b""
        link.wire.patience = 0.02
        with pytest.raises(LinkError, match=r"does not answer a read of memory 0x0, .* 6 times"):
            link.read(Space.MEMORY, 0, 1)


def test_another_host_is_reported(wire: SerialWire) -> None:
    wire.patience = 0.5
    link = Link(wire)
    link._next = (link._next + 1000) % (1 << 16)
    with pytest.raises(LinkError, match="has lost count of the requests"):
        link.read(Space.MEMORY, 0, 1)


@pytest.mark.slow
def test_programs_in_numpy_out_numpy(experiment: Experiment) -> None:
    """Also of threads that use a board at once."""
    seeds = (9, 10, 11)
    with (
        Device("virtual:ulx3s-85f", experiment.graph, lanes=4) as device,
        ThreadPoolExecutor(len(seeds)) as threads,
    ):
        results = list(threads.map(lambda seed: device.run(**drawn(seed)), seeds))
    for use in (lambda: device.run(**drawn(9)), device.__enter__):
        with pytest.raises(sg.StepError, match=r"the device with rows on ULX3S .* is closed"):
            use()
    for seed, found in zip(seeds, results, strict=True):
        wanted = again(experiment, seed).reference
        assert np.array_equal(found["kept"], wanted.tensors["kept"])
        assert np.array_equal(np.array(found["y"]), np.array(wanted.nested("y")))


@pytest.mark.skipif(sys.platform == "win32", reason="processes can't be stopped")
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_board_that_is_stopped_is_left(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    monkeypatch.setattr(virtual, "ENDS", 0.2)
    with suppress(KeyboardInterrupt), Device("virtual:ulx3s-85f", experiment.graph) as device:
        wire = device.link.wire
        assert isinstance(wire, virtual.VirtualWire)
        os.kill(wire._process.pid, signal.SIGSTOP)
        if interrupted:
            raise KeyboardInterrupt
    assert wire._process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/dev/null", "it is not a serial port"),
        ("nowhere", "No such file or directory"),
        (".", "Is a directory"),
    ],
)
def test_a_bad_port_is_reported(name: str, why: str) -> None:
    with pytest.raises(sg.StepError, match=f"^the serial port {name} can't be opened: {why}$"):
        SerialWire(name, 115_200)


def test_what_a_board_can_not_hold_is_refused() -> None:
    g = sg.Graph("large")
    x = g.input("x", sg.int8[1, 64], (4,))
    w = g.tensor("w", (64, 4096), sg.int8)
    g.output(sg.linear_offchip_load(w, tile=(64, 64), shape=(64,), stride=(1,), ref=x), "y")
    with pytest.raises(sg.StepError, match=r"end at 262,144 bytes, but ULX3S .* has 131,072"):
        Device("virtual:ulx3s-85f", g)
    with pytest.raises(sg.StepError, match="there is no board 'abacus', only alveo-u55c, "):
        Device("virtual:abacus", g)


def test_invalid_arguments_are_reported_in_the_users_line(experiment: Experiment) -> None:
    board, graph = "virtual:ulx3s-85f", experiment.graph
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((board, (graph, {})), {}, "program must be a graph or a path or a string, not "),
        ((board, None), {}, "program must be a graph or a path or a string, not None"),
        ((board, graph), {"colour": 1}, "got an unexpected keyword argument 'colour'"),
        ((board, graph), {"bus": 64}, "bus must be a bus, not 64"),
        ((board, graph), {"onchip": "x"}, "onchip must be "),
        ((board,), {}, "missing a required argument: 'program'"),
    ]
    for given, named, message in wrong:
        with pytest.raises(sg.StepError, match=rf"^Device at test_virtual\.py:\d+: {message}"):
            Device(*given, **named)


def test_a_link_that_is_too_fast_is_refused() -> None:
    with pytest.raises(sg.StepError, match="must last 4 clock cycles or more, not 3"):
        replace(AROUND, bit_cycles=3)
    assert replace(AROUND, bit_cycles=4).bit_cycles == 4
