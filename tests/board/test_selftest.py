"""``stepgen deploy --selftest``: a good board passes, and what is broken is named."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

from stepgen.board import selftest
from stepgen.board.device import Device
from stepgen.board.link import LinkError
from stepgen.board.virtual import VirtualWire
from stepgen.cli.app import execute
from stepgen.hw.board.protocol import Space

BOARD = "virtual:ulx3s-85f-sdram"


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    graph, _ = selftest.program()
    with Device(BOARD, graph, lanes=selftest.LANES, past_link=False) as found:
        yield found


def examined(device: Device) -> dict[str, selftest.SelfTestStep]:
    _, inputs = selftest.program()
    return {step.name: step for step in selftest.examine(lambda: device, inputs)}


def test_a_good_board(device: Device) -> None:
    steps = examined(device)
    assert [*steps] == [*selftest.STEPS]
    assert [step.fault for step in steps.values()] == [""] * len(steps)
    assert steps["memory"].found["bytes"] == 32 << 20
    assert abs(steps["clock"].found["measured_hz"] / device.around.clock - 1) < 0.01
    assert steps["answer"].found["cycles"] == steps["answer"].found["predicted"]
    assert steps["link"].found["repeated"] == 0


@pytest.mark.parametrize("seed", some_slow(range(6), 1))
def test_cycles_do_not_depend_on_what_the_host_read_and_wrote_before(
    device: Device, seed: int
) -> None:
    rng, (_, inputs) = random.Random(seed), selftest.program()
    device.session.forget()
    for _ in range(rng.randrange(12)):
        place = rng.randrange(device.session.memory_words)
        if rng.random() < 0.5:
            device.link.write(Space.MEMORY, place, [rng.randrange(1 << 32)])
        else:
            device.link.read(Space.MEMORY, place, 1)
    assert device.test(inputs).outcome.faults == []


@pytest.mark.parametrize("factor", some_slow([0.97, 0.99, 1.01, 1.03], 1))
def test_another_clock_is_found(
    device: Device, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    wire = device.link.wire
    assert isinstance(wire, VirtualWire)
    monkeypatch.setattr(wire, "hz", wire.hz * factor)
    steps = examined(device)
    assert [name for name, step in steps.items() if not step.good] == ["clock"]
    found = steps["clock"].found
    assert abs(found["measured_hz"] / device.around.clock - factor) < 0.008
    # How exactly it is measured depends on how busy the host is.
    assert re.search(
        rf"MHz by that of the host, within 0\.\d%, and {device.around.clock / 1e6:g} MHz",
        steps["clock"].fault,
    )


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
def test_a_link_that_drops_ends_the_test(
    device: Device, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    wire, left = device.link.wire, random.Random(seed).randrange(200)
    send = wire.send

    def pulled(data: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise LinkError(f"the serial port {wire.name} is gone: pulled")
        send(data)

    with monkeypatch.context() as patched:
        patched.setattr(wire, "send", pulled)
        *before, last = examined(device).values()
    assert all(step.good for step in before)
    assert last.fault == f"the serial port {wire.name} is gone: pulled"
    device.link.synchronize()


def test_a_link_that_loses_bytes_is_named(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    wire, count = device.link.wire, 0
    send = wire.send

    def lossy(data: bytes) -> None:
        nonlocal count
        count += 1
        send(data[:-3] + data[-2:] if count == 20 else data)

    monkeypatch.setattr(wire, "send", lossy)
    monkeypatch.setattr(wire, "patience", 0.5)
    step = next(iter(examined(device).values()))
    assert step.name == "link"
    assert step.fault.startswith("1 of 64 requests had to be sent again")


class Memory:
    """A memory of so many words that a link reads, with a fault."""

    def __init__(self, words: int, low: int = 0, high: int = 0, line: int = 0) -> None:
        self.words = np.zeros(words, np.uint64)
        self.low, self.high, self.line = low, high, line

    def _at(self, address: int, count: int) -> Any:
        return np.arange(address, address + count) & ~self.line

    def write(self, space: Space, address: int, words: list[int]) -> None:
        for place, word in zip(self._at(address, len(words)), words, strict=True):
            self.words[place] = word

    def read(self, space: Space, address: int, count: int) -> list[int]:
        return [int(w) & ~self.low | self.high for w in self.words[self._at(address, count)]]

    def examined(self) -> str:
        session = SimpleNamespace(memory_words=len(self.words), forget=lambda: None)
        device: Any = SimpleNamespace(link=self, session=session)
        return selftest._memory(device)[0]


@pytest.mark.parametrize("words", [256, 1 << 14])
def test_every_stuck_bit_and_address_line_is_named(words: int) -> None:
    assert Memory(words).examined() == ""
    for bit in range(32):
        assert Memory(words, low=1 << bit).examined().startswith(f"bit {bit} is read as 0; ")
        assert Memory(words, high=1 << bit).examined().startswith(f"bit {bit} is read as 1; ")
    both = Memory(words, low=3, high=4).examined()
    assert both.startswith("bit 0 is read as 0, bit 1 is read as 0, bit 2 is read as 1; ")
    for line in range(6, words.bit_length() - 1):
        said = Memory(words, line=1 << line).examined()
        assert said == (
            f"words 0x0 and {1 << line:#x} of the memory are the same: an address line is wrong"
        )
    for line in range(6):
        assert Memory(words, line=1 << line).examined() != ""


def test_a_memory_that_forgets_is_named() -> None:
    memory = Memory(4096)
    assert memory.examined() == ""
    session = SimpleNamespace(memory_words=4096)
    device: Any = SimpleNamespace(link=memory, session=session)
    assert selftest._kept(device)[0] == ""
    memory.words[5] ^= np.uint64(1 << 7)
    assert selftest._kept(device)[0].startswith("the memory forgets: bit 7 is read as ")


def test_the_command_writes_a_file_to_send(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["deploy", "--selftest", BOARD]) == 0
    said = capsys.readouterr().out
    assert "written to build/selftest/virtual-ulx3s-85f-sdram.json" in said
    report = json.loads((tmp_path / "build/selftest/virtual-ulx3s-85f-sdram.json").read_text())
    assert report["good"]
    assert [step["name"] for step in report["steps"]] == [*selftest.STEPS]
    assert report["description"]["key"] == "ulx3s-85f-sdram"
    assert {"stepgen", "tools", "host", "design", "physical"} <= report.keys()


def test_a_broken_board_is_reported_with_what_was_not_reached(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)

    def gone(*_: object) -> selftest.Found:
        raise LinkError("the serial port tty9 is gone: pulled")

    monkeypatch.setattr(selftest, "_clock", gone)
    assert execute(["deploy", "--selftest", BOARD, "--report", "sent.json", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    sent = json.loads((tmp_path / "sent.json").read_text())
    for data in (said, sent):
        assert not data["good"]
        assert [step["good"] for step in data["steps"]] == [True, True, False]
        assert data["steps"][-1]["fault"] == "the serial port tty9 is gone: pulled"
        assert data["not_reached"] == ["memory kept", "answer"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (f"{BOARD} moe", "program can't be given with --selftest"),
        (f"{BOARD} --lanes 2", "--lanes can't be given with --selftest, which brings a program of"),
        (f"{BOARD} --runs 2", "--runs can't be given with --selftest"),
        (f"{BOARD} --port tty9", "is simulated and has no serial port"),
        ("virtual:nope", "there is no board 'nope'"),
        ("arty-a7-100", "--selftest virtual:arty-a7-100 tests the simulated one"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys) -> None:
    assert execute(["deploy", "--selftest", *words.split()]) == 2
    assert sentence in capsys.readouterr().err
