"""Streams and tensors of a test bench without stepgen are those of stepgen, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.payload import pack
from stepgen.cosim.standalone import known, port_of
from stepgen.drivers.files import decisive
from stepgen.drivers.tensors import Tensor
from stepgen.emit.interface import interface
from stepgen.semantics import streamfile
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.semantics.memory import as_bytes, from_image, to_image
from stepgen.semantics.numbers import as_element

LANES = 4


def shape(name: str) -> tuple[sg.Dim, sg.Dim]:
    return sg.dynamic(f"A{name}"), sg.ragged(f"B{name}")


def graph() -> sg.Graph:
    """Ports of all kinds: padded rows, tiles of any number of rows, selectors, addresses."""
    g = sg.Graph("ports")
    for name, element in (("a", sg.bf16), ("b", sg.int8), ("c", sg.f32), ("d", sg.int32)):
        x = g.input(name, sg.Tile(sg.ragged(f"R{name}"), 5, element), shape(name))
        g.output(x.flatten(0, 1), f"{name}_out")
    route = g.input("route", sg.Selector(3), shape("route"))
    g.output(route.flatten(0, 1), "routed")
    table = g.tensor("table", (9, 4), sg.int8)
    at = g.input("at", sg.address[1, 1], shape("at"))
    g.output(at.random_offchip_load(table, tile=(1, 4)), "found")
    return g


def drawn(rng: np.random.Generator, name: str) -> list[list[np.ndarray]]:
    """Groups of groups of tiles, some of them empty."""

    def one() -> np.ndarray:
        if name == "route":
            return rng.random(3) < 0.5
        if name == "at":
            return rng.integers(0, 9, (1, 1)).astype(np.uint64)
        numbers = rng.integers(-128, 128, (rng.integers(0, 3), 5))
        elements = {"a": "bf16", "b": "int8", "c": "f32", "d": "int32"}
        return as_element(numbers / 3 if name in "ac" else numbers, elements[name], name)

    return [[one() for _ in range(rng.integers(0, 4))] for _ in range(rng.integers(0, 4))]


@pytest.mark.parametrize("seed", range(8))
def test_beats_are_those_of_stepgen(seed: int) -> None:
    rng, g = np.random.default_rng(seed), graph()
    design = lower(g, lanes=LANES)
    for port in interface(design).sources:
        stream = g.inputs[port.name]
        tokens = to_tokens(drawn(rng, port.name), stream.type, port.name)
        arrays = streamfile.pack(tokens, stream.rank, port.name)
        seen_as = port_of(port, g, design)
        rows = pack(to_beats(tokens, stream.type, LANES, port.name), port)
        wanted = [int.from_bytes(row.tobytes(), "little") for row in rows]
        assert seen_as.payloads(arrays) == wanted
        again = seen_as.stream([seen_as.unpack(payload) for payload in wanted])
        assert seen_as.payloads(again) == wanted


@pytest.mark.parametrize(
    ("element", "tile"),
    [("int8", (2, 3)), ("bf16", (4, 2)), ("int16", (2, 2)), ("int32", (3, 6)), ("f32", (1, 6))],
)
def test_tensors_lie_as_those_of_stepgen(element: str, tile: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    matrix = as_element(rng.integers(-99, 99, (4, 6)) / 2 // 1, element, "w")
    layout = None if tile[1] == 6 else tile
    tensor = Tensor("w", element, 0, 4, 6, tile)
    image = to_image(matrix, layout)
    plain = matrix.astype(np.float32) if element == "bf16" else matrix
    assert tensor.pack(plain) == image.tobytes()
    assert np.array_equal(tensor.unpack(image.tobytes()), plain)
    assert np.array_equal(from_image(image, (4, 6), layout), matrix)


@pytest.mark.parametrize("tile", [(2, 2), (4, 6), (3, 4)])
def test_tensors_of_int4_lie_as_those_of_stepgen(tile: tuple[int, int]) -> None:
    matrix = np.random.default_rng(1).integers(-8, 8, (4, 6)).astype(np.int8)
    layout = None if tile[1] == 6 or 4 % tile[0] else tile
    tensor = Tensor("w", "int4", 0, 4, 6, tile)
    data = as_bytes(to_image(matrix, layout), sg.int4).tobytes()
    assert len(data) == tensor.size == 12
    assert tensor.pack(matrix) == data
    assert np.array_equal(tensor.unpack(data), matrix)


def test_a_prediction_holds_while_what_decides_is_the_same() -> None:
    g = graph()
    design = lower(g, lanes=LANES)
    rng = np.random.default_rng(2)
    stimulus = {"table": rng.integers(-9, 9, (9, 4)).astype(np.int8)}
    for name, stream in g.inputs.items():
        tokens = to_tokens(drawn(rng, name), stream.type, name)
        for key, array in streamfile.pack(tokens, stream.rank, name).items():
            stimulus[f"{name}/{key}"] = np.asarray(array)

    def key(numbers: bool = False, **changed: np.ndarray) -> str:
        return decisive(stimulus | changed, *known(g, design), numbers)

    assert key(**{"b/values": stimulus["b/values"] + 1, "table": stimulus["table"] + 1}) == key()
    for name in ("route/values", "at/values"):
        assert key(**{name: stimulus[name] ^ stimulus[name].dtype.type(1)}) != key()
    stops = stimulus["c/stops"].copy()
    stops[0] ^= 1
    assert key(**{"c/stops": stops}) != key()
    assert key(True, **{"d/values": stimulus["d/values"] + 1}) != key(True)
