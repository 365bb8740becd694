"""Tensors that stay on a board, and runs on them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from frontend import decoders
from seeds import some_slow

import stepgen as sg
from stepgen.board import link as links
from stepgen.board import virtual
from stepgen.board.device import Device
from stepgen.board.link import LinkError
from stepgen.frontend import Decoder
from stepgen.hw.board.protocol import Space

BOARD = "virtual:ulx3s-85f"
ROWS, SIDE = 16, 8


def program() -> sg.Graph:
    """A sum of all inputs so far, to which weights are added: it tells how often a run ran."""
    g = sg.Graph("sums")
    x = g.input("x", sg.int32[1, SIDE], (ROWS,))
    w, total = (g.tensor(name, (ROWS, SIDE), sg.int32) for name in ("w", "total"))
    at, tile = g.input("at", sg.address[1, 1], (ROWS,)), (1, SIDE)
    before = sg.random_offchip_load(at, total, tile=tile)
    after = x.map(sg.fn.add(), before)
    sg.random_offchip_store(at, after, total, tile=tile)
    g.output(after.map(sg.fn.add(), sg.random_offchip_load(at, w, tile=tile)), "y")
    return g


AT = np.arange(ROWS).reshape(ROWS, 1, 1)


def streams(seed: int) -> dict[str, Any]:
    """Inputs of a step."""
    return {"x": drawn(seed), "at": AT}


def drawn(seed: int) -> Any:
    """Rows."""
    return np.random.default_rng(seed).integers(-999, 999, (ROWS, 1, SIDE), np.int32)


W = drawn(100).reshape(ROWS, SIDE)
TENSORS = {"w": W, "total": np.zeros((ROWS, SIDE), np.int32)}


@pytest.fixture(scope="module")
def shared() -> Iterator[Device]:
    with Device(BOARD, program(), lanes=4, seed=3) as device:
        yield device


@pytest.fixture
def device(shared: Device) -> Device:
    shared.write(TENSORS)
    return shared


def wanted(seeds: Any) -> Any:
    """What the last of some steps gives."""
    return sum(drawn(seed) for seed in seeds) + W[:, None, :]


def test_steps_go_on_from_each_other_and_nothing_but_streams_moves(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = []
    for name in ("read", "write"):
        call = getattr(device.link, name)

        def counted(space: Space, *more: Any, call: Any = call) -> Any:
            touched.append(space)
            return call(space, *more)

        monkeypatch.setattr(device.link, name, counted)
    for n in range(4):
        found = device.step(streams(n), check=("all", "none", "none", "all")[n])
        assert np.array_equal(np.array(found["y"]), wanted(range(n + 1)))
        assert (device.last.predicted is not None) == (n in (0, 3))
        assert device.last.cycles == (device.last.predicted or device.last.cycles)
        moved = device.last.sent + device.last.received
        assert 4 * 2 * ROWS * SIDE < moved < 4 * 4 * ROWS * SIDE + 6000
        if n != 3:  # before which the sum is read, to predict from
            assert Space.MEMORY not in touched
    assert Space.MEMORY in touched
    assert np.array_equal(device.read("total")[:, None], wanted(range(4)) - W[:, None])
    assert np.array_equal(device.read("w"), W)


def test_a_first_step_alone_is_compared(device: Device) -> None:
    seen = []
    for n in range(3):
        device.step(streams(n), check="first")
        seen.append(device.last.predicted is not None)
    assert seen == [True, False, False]


def test_what_differs_is_one_sentence(device: Device) -> None:
    device.step(streams(0))
    address = device.design.regions["total"].base // 4
    (word,) = device.link.read(Space.MEMORY, address, 1)
    device._resident._held["total"] = device.read("total")
    device.link.write(Space.MEMORY, address, [word ^ 1])
    with pytest.raises(sg.StepError, match=r"^sums on ULX3S .*: port y: beat 0 is VALUE .* expect"):
        device.step(streams(1), check="all")
    device.write(TENSORS)
    assert np.array_equal(np.array(device.step(streams(1), check="all")["y"]), wanted([1]))


def test_weights_that_the_board_holds_are_not_sent_again(device: Device) -> None:
    """Nor by another process; other ones are, and those that a run by itself has replaced."""
    size = 4 * ROWS * SIDE

    def sent(tensors: Any) -> int:
        before = device.link.traffic.sent
        device.write(tensors)
        return device.link.traffic.sent - before

    less = sent(TENSORS)
    device._resident._held.clear()
    assert sent(TENSORS) < less + 100
    assert sent({**TENSORS, "w": W + 1}) > less + 0.9 * size
    assert sent(TENSORS) > less + 0.9 * size
    assert sent(TENSORS) < less + 100
    device.run(**streams(0), w=W + 1, total=W)
    assert sent(TENSORS) > less + 0.9 * size
    assert np.array_equal(device.read("w"), W)


@pytest.mark.parametrize("seed", some_slow(range(12), 4))
def test_a_step_behind_a_lost_link_is_carried_out_once(
    device: Device, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng, wire = random.Random(seed), device.link.wire
    assert isinstance(wire, virtual.VirtualWire)
    device.step(streams(0))
    send, left = wire.send, rng.randrange(40)

    def pulled(data: bytes) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            send(data)

    with monkeypatch.context() as cable:
        cable.setattr(links, "TRIES", 2)
        cable.setattr(wire, "send", pulled)
        cable.setattr(wire, "patience", 0.1)
        try:
            found: Any = device.step(streams(1))
        except LinkError:
            found = None
    before = device.link.traffic.sent
    assert (device.resume() is None) == (found is not None) or found is None
    if found is None:
        total = device.read("total")[:, None] + W[:, None]
        assert np.array_equal(total, wanted([0, 1]))
        assert device.link.traffic.sent - before < 4 * ROWS * SIDE + 2000
    assert np.array_equal(np.array(device.step(streams(2))["y"]), wanted([0, 1, 2]))


def test_a_board_that_has_lost_its_tensors_is_reported(device: Device) -> None:
    place = device._resident._mark_at()
    assert place is not None
    device.link.write(Space.MEMORY, place, [7])
    with pytest.raises(LinkError, match=r"no longer holds the tensors of sums .*: write them ag"):
        device.resume()
    with pytest.raises(sg.StepError, match=r"^sums on ULX3S .*: tensor 'w' was not written to the"):
        device.step(streams(0))
    device.write(TENSORS)
    assert np.array_equal(np.array(device.step(streams(0))["y"]), wanted([0]))


@pytest.mark.slow
def test_a_token_moves_less_than_two_kilobytes() -> None:
    """And its weights go past the link of a simulated SDRAM."""
    model = decoders.decoder(decoders.Sizes(heads=2, groups=1, hidden=64), element=np.float32)
    decoder = Decoder(model, cache=8, tile=4, lanes=2)
    board = "virtual:ulx3s-85f-sdram"
    with Device(board, decoder.graph, lanes=2, counters="none") as device:
        device.write(decoder.memory)
        assert device.session.moved_past > 4000
        assert device.link.traffic.sent < 1000
        for token in (3, 1, 4):
            inputs = decoder.inputs({"ids": [token]})
            fed = {name: inputs[name] for name in decoder.graph.inputs}
            found = device.step(fed, check="all")
            assert device.last.cycles == device.last.predicted
            assert device.last.sent + device.last.received < 2048
            ((_, logits),) = decoder.run({"ids": [token]}).items()
            assert np.array_equal(np.array(found["logits"]).ravel(), logits.ravel())
        caches = [name for name in decoder.graph.tensors if name.endswith(("_keys", "_values"))]
        assert len(caches) == 2
        assert all(np.array_equal(device.read(n), decoder.memory[n]) for n in caches)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda d: d.write({"v": W}), "sums has no tensor 'v', it has w, total"),
        (lambda d: d.write({"w": W[1:]}), r"tensor w has shape \[16, 8\], but its contents have"),
        (lambda d: d.step({**streams(0), "w": W}), "takes input streams, and 'w' is a tensor: wr"),
        (lambda d: d.step({**streams(0), "v": W}), "takes input streams, and 'v' is unknown"),
        (lambda d: d.step({"at": AT}), "the input x of sums was not given"),
        (lambda d: d.step(streams(0), check="some"), "check must be none, first, all, not 'some'"),
        (lambda d: d.read("v"), "tensor 'v' was not written to the board"),
    ],
)
def test_bad_input_is_one_sentence(device: Device, use: Any, message: str) -> None:
    with pytest.raises(sg.StepError, match=message):
        use(device)
    assert np.array_equal(np.array(device.step(streams(0))["y"]), wanted([0]))


def test_tensors_are_written_before_a_step() -> None:
    with Device(BOARD, program(), lanes=4, seed=3) as device:
        with pytest.raises(sg.StepError, match="there was no step yet"):
            _ = device.last
        device.write({"w": W})
        with pytest.raises(sg.StepError, match="tensor 'total' was not written to the board"):
            device.step(streams(0))
