"""Files with one mistake each: refused in one sentence, or read as something valid."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import TEXTS, arrays, bytes_of, mutated, places
from programs import every_unit, example

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.emit.interface import Interface, interface
from stepgen.fuzz import draw
from stepgen.hw.design.sharing import SHARED
from stepgen.hw.design.table import Design
from stepgen.program import inputs, routing, traces
from stepgen.semantics import executor, streamfile
from stepgen.semantics.tokens import END, value
from stepgen.timing.tiles import variants


@pytest.fixture(scope="module")
def design() -> Design:
    graph, _ = example("moe").moe(tokens=4, experts=2, top=1, width=8, hidden=8, columns=8)
    return lower(graph)


def accepted(read: Callable[[], Any], what: str) -> Any:
    """What was read; None if it was refused in one sentence."""
    try:
        return read()
    except sg.StepError as error:
        said = str(error)
        assert "\n" not in said, what
        assert len(said) < 700, what
        assert re.match(r".*\w", said)
        return None
    except Exception as error:
        error.add_note(what)
        raise


@pytest.mark.parametrize("kind", [Design, Interface])
def test_tables(kind: type[Any], design: Design) -> None:
    whole = design if kind is Design else interface(design)
    read = kind.from_json
    assert read(whole.to_json()) == whole
    for text in TEXTS:
        assert accepted(lambda text=text: read(text), text[:20]) is None
    for what, data in mutated(json.loads(whole.to_json()), seed=1, count=400):
        found = accepted(lambda data=data: read(json.dumps(data)), what)
        assert found is None or read(found.to_json()) == found, what


def test_numbers_of_every_unit() -> None:
    """Too large a number is refused before anything of that size is made."""
    tried: set[tuple[Any, ...]] = set()
    for design in (
        lower(every_unit(), loaders=SHARED),
        *(draw.case(5, n)[0].experiment().design for n in range(8)),
    ):
        data = json.loads(design.to_json())
        for row in data["units"]:
            for *path, last in places(row["params"]):
                at = reduce(getitem, path, row["params"])
                known = (row["kind"], *(k for k in (*path, last) if isinstance(k, str)))
                if type(old := at[last]) is not int or known in tried:
                    continue
                tried.add(known)
                for number in ((-1, 10**5), (0, 10**12), (-1, 10**30))[len(tried) % 3]:
                    at[last] = number
                    accepted(lambda data=data: Design.from_json(json.dumps(data)), f"{known}")
                at[last] = old
    assert len(tried) > 60


MACHINE = {
    "like": "sda",
    "name": "mine",
    "fifo_depth": 4,
    "memory.channels": 8,
    "compute.of_functions.matmul": 64,
    "policy": "paper",
    "loads_add_up": True,
}


def test_machines(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    dram = {"like": "sda-hbm2", "memory.timings": "DDR4-3200", "memory.timings.tCCD_L": 4}
    cases = [(text[:20], text) for text in TEXTS]
    for seed, data in enumerate((MACHINE, dram)):
        cases += [(what, json.dumps(d)) for what, d in mutated(data, seed, 200)]
    for what, text in cases:
        path.write_text(text)
        found = accepted(lambda: variants.find(str(path)), what)
        assert found is None or isinstance(found.name, str)
    path.write_bytes(b"\xff\xfe")
    assert accepted(lambda: variants.find(str(path)), "no text") is None


def program() -> sg.Graph:
    g = sg.Graph("files")
    x = g.input("x", sg.int8[1, 8], (4,))
    g.input("sel", sg.Selector(2, hot=1), (4,))
    f = g.input("f", sg.f32[1, 1], (4,))
    w = g.tensor("w", (4, 8), sg.int8)
    g.output(x, "y")
    g.output(f, "z")
    g.output(g.node("sel").outputs[0], "s")
    g.output(sg.linear_offchip_load(w, tile=(4, 8), shape=(1,), stride=(1,)), "v")
    return g


def saved(path: Path) -> bytes:
    """A valid file of all inputs, streams as streams."""
    g = program()
    found = inputs.complete(g, {})
    result = executor.run(g, found)
    ranks = {"x": ("y", 0), "sel": ("s", 0), "f": ("z", 0)}
    inputs.save(path, {n: (result.streams[o], r) for n, (o, r) in ranks.items()}, {"w": found["w"]})
    return path.read_bytes()


def runs(path: Path) -> None:
    g = program()
    executor.run(g, inputs.complete(g, inputs.load(path, g)))


def test_inputs(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    whole = saved(path)
    runs(path)
    with np.load(path) as file:
        parts = dict(file)
    for key in (*parts, "x", "f", "sel", "x/shapes", "x/nonsense", "nonsense", "x/values.0"):
        for number, array in enumerate(arrays()):
            np.savez(path, **{**parts, key: array})
            accepted(lambda: runs(path), f"{key} is array {number}")
        np.savez(path, **{k: v for k, v in parts.items() if k != key})
        accepted(lambda: runs(path), f"without {key}")
    for what, data in bytes_of(whole, seed=3, count=100):
        path.write_bytes(data)
        accepted(lambda: runs(path), what)


def header(shape: tuple[int, ...], dtype: str = "<i8") -> bytes:
    """An ``.npy`` file that says more than it holds."""
    buffer = io.BytesIO()
    about = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(buffer, about)
    return buffer.getvalue() + b"\0" * 64


HEADERS = [
    header((10**15,)),
    header((10**30, 2)),
    header((2**62, 2**62)),
    header((-1, 2)),
    header((4, 2), "|O"),
    b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 70_000,
    b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
    b"\x93NUMPY\x09\x00",
    b"PK\x03\x04",
    b"",
]


@pytest.mark.parametrize("read", [routing.read, traces.load_lengths])
def test_traces(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    npy, npz, csv = (tmp_path / f"t.{suffix}" for suffix in ("npy", "npz", "csv"))
    for number, array in enumerate(arrays()):
        np.save(npy, array)
        np.savez(npz, data=array)
        for path in (npy, npz):
            found = accepted(lambda path=path: read(path), f"array {number}")
            assert found is None or (found.dtype == np.int64 and (found >= 0).all())
    np.save(npy, np.arange(8).reshape(4, 2))
    cases = [(f"header {i}", data) for i, data in enumerate(HEADERS)]
    for what, data in [*cases, *bytes_of(npy.read_bytes(), seed=5, count=200)]:
        npy.write_bytes(data)
        accepted(lambda: read(npy), what)
    for text in (
        "",
        "a\nb",
        "1,2\n3",
        "9e99,1",
        "nan,1",
        "1e400,2",
        "1,2\n\n3,4,",
        "٣,4",
        "\0",
        ",",
    ):
        csv.write_text(text)
        found = accepted(lambda: read(csv), text)
        assert found is None or (found >= 0).all()


def test_stream_files(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    tiles = [np.ones((1, 4), np.int8), np.ones((2, 4), np.int8)]
    streamfile.save(path, [value(tiles[0]), value(tiles[1], 1), END], 1)
    with np.load(path) as file:
        parts = dict(file)
    for key in parts:
        for number, array in enumerate(arrays()):
            np.savez(path, **{**parts, key: array})
            accepted(lambda: streamfile.load(path), f"{key} is array {number}")
