from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.drawn import plain
from semantics.programs import SCALAR, execute, numbers_of, scalars, shape
from stepgen.cosim.experiment import Experiment
from stepgen.ir.dims import as_dim
from stepgen.semantics.memory import as_bytes, from_bytes, from_image, to_image

few = settings(max_examples=60)
MATRIX = np.arange(6 * 8).reshape(6, 8).astype(np.int8)


def tile_at(number: int, rows: int, cols: int) -> Any:
    """Tile `number` of MATRIX, cut out by hand."""
    r, c = divmod(number, MATRIX.shape[1] // cols)
    return MATRIX[r * rows : (r + 1) * rows, c * cols : (c + 1) * cols].tolist()


def reading(rows: int, cols: int, dims: list[int], strides: list[int], first: int = 0) -> Any:
    if not dims:
        return tile_at(first, rows, cols)
    return [
        reading(rows, cols, dims[1:], strides[1:], first + i * strides[0]) for i in range(dims[0])
    ]


@few
@given(st.data())
def test_linear_load(data: st.DataObject) -> None:
    rows, cols = data.draw(st.sampled_from([1, 2, 3])), data.draw(st.sampled_from([2, 4, 8]))
    tiles = (6 // rows) * (8 // cols)
    dims: list[int] = []
    strides: list[int] = []
    last = 0
    for _ in range(data.draw(st.integers(1, 3))):
        strides.append(data.draw(st.integers(0, 3)))
        most = 3 if strides[-1] == 0 else min(3, (tiles - 1 - last) // strides[-1] + 1)
        dims.append(data.draw(st.integers(1, most)))
        last += strides[-1] * (dims[-1] - 1)
    expected = reading(rows, cols, dims, strides)
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    read: Any = {"tile": (rows, cols), "shape": dims, "stride": strides}
    g.output(sg.linear_offchip_load(tensor, **read), "once")
    rank = data.draw(st.integers(0, 2))
    ref = data.draw(scalars(rank))
    g.output(sg.linear_offchip_load(tensor, **read, ref=g.input("ref", SCALAR, shape(rank))), "y")
    result = execute(g, {"m": MATRIX, "ref": ref})
    assert plain(result.nested("once")) == expected
    assert plain(result.nested("y")) == models.on_groups(ref, rank, 0, lambda _: expected)


@pytest.mark.parametrize("tile", [(2, 4), (3, 8), (1, 2)])
def test_image_and_matrix(tile: tuple[int, int]) -> None:
    layout = None if tile[1] == 8 else tile
    image = to_image(MATRIX, layout)
    assert (from_image(image, (6, 8), layout) == MATRIX).all()
    size = tile[0] * tile[1]
    for number in range(MATRIX.size // size):
        part = image[number * size : (number + 1) * size]
        assert part.reshape(tile).tolist() == tile_at(number, *tile)


@few
@given(st.data())
def test_linear_store_of_tiles_of_any_rows(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3))
    rng = np.random.default_rng(0)
    tiles = models.on_groups(sizes, 1, 0, lambda n: rng.integers(-9, 9, (n, 4)))
    g = sg.Graph()
    x = g.input("x", sg.Tile(sg.ragged("R"), 4, sg.int8), shape(1))
    sg.linear_offchip_store(x, g.tensor("y", (27, 4), sg.int8))
    y = execute(g, {"x": tiles}).tensors["y"]
    rows = [row for group in tiles for tile in group for row in tile.tolist()]
    assert y.tolist() == rows + [[0] * 4] * (27 - len(rows))


@pytest.mark.parametrize("shape", [(0, 8), (2, 0), (0, 0)])
def test_empty_tiles_store_nothing(shape: tuple[int, int]) -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[shape], (3,))
    x.linear_offchip_store(g.tensor("t", (4, 8), sg.int8), name="put")
    inputs = {"x": np.zeros((3, *shape), np.int8)}
    assert not execute(g, inputs).tensors["t"].any()
    if shape[1]:
        prediction = Experiment(g, inputs).prediction
        assert len(prediction.pushes["x"]) == 4
        assert Experiment(g, inputs).traffic == (0, 0)


def test_store_into_a_tensor_that_is_too_small() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], ("N",))
    sg.linear_offchip_store(x, g.tensor("y", (2, 4), sg.int8), name="store")
    with pytest.raises(sg.StepError, match=r"store .*x\.0 has more than the 8 elements .* y has"):
        execute(g, {"x": np.zeros((3, 1, 4))})


def test_tiles_stored_lie_in_the_tensor_as_a_grid() -> None:
    g = sg.Graph()
    x = sg.linear_offchip_load(g.tensor("m", (6, 8), sg.int8), tile=(2, 4), shape=(6,), stride=(1,))
    sg.linear_offchip_store(x, g.tensor("y", (6, 8), sg.int8))
    result = execute(g, {"m": MATRIX})
    assert (result.tensors["y"] == MATRIX).all()
    assert (result.images["y"] == to_image(MATRIX, (2, 4))).all()


def test_a_tensor_lies_in_one_way_only() -> None:
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    for name, tile in (("a", (2, 4)), ("b", (6, 2))):
        g.output(
            sg.linear_offchip_load(tensor, tile=tile, shape=(1,), stride=(1,), name=name), name * 2
        )
    with pytest.raises(
        sg.StepError, match=r"m can't be stored in tiles of 2x4 for a and .* 6x2 for b"
    ):
        execute(g, {"m": MATRIX})


@few
@given(st.data())
def test_random_load(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    addresses = models.on_groups(data.draw(scalars(rank)), rank, 0, lambda n: n + 5)
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    stream = g.input("a", sg.address[1, 1], shape(rank))
    g.output(stream.random_offchip_load(tensor, tile=(2, 2)), "y")
    y = plain(execute(g, {"m": MATRIX, "a": addresses}).nested("y"))
    assert y == models.on_groups(addresses, rank, 0, lambda n: tile_at(n, 2, 2))


@few
@given(st.data())
def test_random_store(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    addresses = models.on_groups(data.draw(scalars(rank)), rank, 0, lambda n: n + 5)
    count = iter(range(1, 100))
    tiles = models.on_groups(addresses, rank, 0, lambda _: np.full((2, 2), next(count)))
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    a = g.input("a", sg.address[1, 1], shape(rank))
    g.output(
        a.random_offchip_store(g.input("x", sg.int8[2, 2], shape(rank)), tensor, tile=(2, 2)), "ack"
    )
    result = execute(g, {"m": MATRIX, "a": addresses, "x": tiles})
    expected = MATRIX.copy()
    pairs = zip(models.groups(addresses, rank, 0), models.groups(tiles, rank, 0), strict=True)
    for number, tile in pairs:
        r, c = divmod(number, 4)
        expected[2 * r : 2 * r + 2, 2 * c : 2 * c + 2] = tile
    assert (result.tensors["m"] == expected).all()
    assert numbers_of(result, "ack") == models.on_groups(addresses, rank, 0, lambda _: True)


def test_what_was_read_and_given_stays_when_the_tensor_is_overwritten() -> None:
    given = MATRIX.copy()
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    rows = sg.linear_offchip_load(tensor, tile=(1, 8), shape=(6,), stride=(1,))
    g.output(rows, "rows")
    to = g.input("to", sg.address[1, 1], (6,))
    g.output(to.random_offchip_store(rows.map(sg.fn.offset(50)), tensor, tile=(1, 8)), "ack")
    result = execute(g, {"m": given, "to": list(range(6))})
    assert (result.tensors["m"] == MATRIX + 50).all()
    assert (np.concatenate(result.nested("rows")) == MATRIX).all()
    assert (given == MATRIX).all()


@pytest.mark.parametrize("first", ["load", "store"])
@pytest.mark.parametrize(("gets", "puts", "races"), [([0, 1], [2, 3], 0), ([0, 1], [3, 1], 1)])
def test_nothing_decides_the_order(
    first: str, gets: list[int], puts: list[int], races: int
) -> None:
    """Whatever is written first: a tile that is both loaded and written is refused."""
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    get, put = g.input("get", sg.address[1, 1], (2,)), g.input("put", sg.address[1, 1], (2,))
    x = g.input("x", sg.int8[1, 8], (2,))
    uses = [
        lambda: g.output(get.random_offchip_load(tensor, tile=(1, 8), name="read"), "y"),
        lambda: put.random_offchip_store(x, tensor, tile=(1, 8), name="write"),
    ]
    for use in uses if first == "load" else uses[::-1]:
        use()
    inputs = {"m": MATRIX, "get": gets, "put": puts, "x": np.ones((2, 1, 8))}
    if not races:
        assert execute(g, inputs)
        return
    message = r"tile 1 of tensor m .* (read loads|write writes) it"
    with pytest.raises(sg.StepError, match=message):
        execute(g, inputs)


@pytest.mark.parametrize(
    ("gets", "puts", "message"),
    [
        ([0, 1], [0, 1], ""),
        ([0, 1], [1, 0], "tile 1 of .* neither of the two accesses waits for the other"),
        ([0, 0], [0, 1], "tile 0 of .* neither of the two accesses waits for the other"),
        ([0, 1], [0, 0], ""),
        ([0, 0], [1, 0], ""),
        ([2, 1], [0, 0], ""),
    ],
)
def test_a_write_waits_for_what_it_derives_from(
    gets: list[int], puts: list[int], message: str
) -> None:
    """A tile that is loaded later than the one that a write derives from may be either."""
    g = sg.Graph()
    tensor = g.tensor("m", (6, 8), sg.int8)
    get, put = g.input("get", sg.address[1, 1], (2,)), g.input("put", sg.address[1, 1], (2,))
    more = get.random_offchip_load(tensor, tile=(1, 8), name="read").map(sg.fn.offset(1))
    put.random_offchip_store(more, tensor, tile=(1, 8), name="write")
    inputs = {"m": MATRIX, "get": gets, "put": puts}
    if not message:
        assert execute(g, inputs)
        return
    with pytest.raises(sg.StepError, match=message):
        execute(g, inputs)


def test_two_stores_write_different_tiles() -> None:
    g = sg.Graph()
    tensor, x = g.tensor("m", (6, 8), sg.int8), g.input("x", sg.int8[1, 8], (2,))
    for name in "ab":
        at = g.input(name, sg.address[1, 1], (2,))
        at.random_offchip_store(x, tensor, tile=(1, 8), name=f"put_{name}")
    inputs = {"m": MATRIX, "x": np.ones((2, 1, 8)), "a": [0, 2], "b": [3, 1]}
    assert execute(g, inputs)
    with pytest.raises(sg.StepError, match=r"put_\w .* of tensor m .* put_\w writes it"):
        execute(g, inputs | {"b": [3, 2]})


@pytest.mark.parametrize("each", [True, False])
def test_a_load_that_follows_acknowledgements(each: bool) -> None:
    """Once all flags are there all is read, also what was written twice; not for each of them."""
    g = sg.Graph()
    tensor, x = g.tensor("m", (6, 8), sg.int8), g.input("x", sg.int8[1, 8], (1, 3))
    at = g.input("at", sg.address[1, 1], (1, 3))
    done = at.random_offchip_store(x, tensor, tile=(1, 8), name="write")
    inputs = {"m": MATRIX, "at": [[0, 2, 0]], "x": np.ones((1, 3, 1, 8))}
    ref = done if each else done.map(sg.fn.convert(sg.int8)).accum(sg.fn.add(), rank=1)
    y = sg.linear_offchip_load(tensor, tile=(1, 8), shape=(6,), stride=(1,), ref=ref)
    g.output(y, "y")
    if not each:
        assert execute(g, inputs)
        return
    message = r"linear_offchip_load_0 .* write writes it too, and neither of the two accesses waits"
    with pytest.raises(sg.StepError, match=message):
        execute(g, inputs)


@pytest.mark.parametrize("waits", [True, False])
def test_items_of_tuples_do_not_wait_for_each_other(waits: bool) -> None:
    """In a circuit they go separate ways, so an address beside an acknowledgement is no later."""
    g = sg.Graph()
    tensor, x = g.tensor("m", (6, 8), sg.int8), g.input("x", sg.int8[1, 8], (3,))
    put, get = (g.input(name, sg.address[1, 1], (3,)) for name in ("put", "get"))
    done = put.random_offchip_store(x, tensor, tile=(1, 8), name="write")
    address, flag = get.zip(done).unzip()
    g.output(flag, "flag")
    y = address.random_offchip_load(tensor, tile=(1, 8), name="read")
    g.output(y, "y")
    inputs = {"m": MATRIX, "put": [0, 1, 2], "x": np.ones((3, 1, 8))}
    if not waits:
        assert execute(g, inputs | {"get": [3, 4, 5]})
        return
    with pytest.raises(sg.StepError, match="neither of the two accesses waits for the other"):
        execute(g, inputs | {"get": [0, 1, 2]})


@pytest.mark.parametrize("number", [12, 1 << 40])
def test_addresses_outside_of_the_tensor(number: int) -> None:
    g = sg.Graph()
    tensor, a = g.tensor("m", (6, 8), sg.int8), g.input("a", sg.address[1, 1], ("N",))
    g.output(a.random_offchip_load(tensor, tile=(2, 2), name="fetch"), "y")
    with pytest.raises(
        sg.StepError, match=f"fetch .* tile {number} of tensor m, which has 12 tiles"
    ):
        execute(g, {"m": MATRIX, "a": [3, number]})
    g = sg.Graph()
    tensor, a = g.tensor("m", (6, 8), sg.int8), g.input("a", sg.address[1, 1], ("N",))
    x = g.input("x", sg.int8[2, 2], ("N",))
    g.output(a.random_offchip_store(x, tensor, tile=(2, 2), name="put"), "y")
    with pytest.raises(sg.StepError, match=f"put .* tile {number} of tensor m, which has 12 tiles"):
        execute(g, {"m": MATRIX, "a": [number], "x": np.zeros((1, 2, 2))})


@few
@given(st.data())
def test_rows_of_a_buffer(data: st.DataObject) -> None:
    """An empty tile or group takes a row; what is within an empty group takes none."""
    extents = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    known = [data.draw(st.booleans()) for _ in range(len(extents) + 1)]
    rows = data.draw(st.integers(0, 2))

    def dim(n: int, extent: int) -> Any:
        return extent if known[n] else sg.dynamic(f"D{n}", bound=extent)

    def content(left: list[int], rows: int) -> Any:
        if not left:
            return np.zeros((rows, 2), np.int8)
        return [content(left[1:], rows) for _ in range(left[0])]

    def takes(item: Any) -> int:
        if isinstance(item, np.ndarray):
            return max(1, len(item))
        return sum(map(takes, item)) or 1

    dims = [dim(n, extent) for n, extent in enumerate(extents)]
    tile = sg.Tile(dim(len(extents), rows), 2, sg.int8)
    buffer = sg.Buffer(tile, tuple(map(as_dim, dims)))
    full = content(extents, rows)
    assert buffer.most_rows == takes(full)

    g = sg.Graph()
    x = g.input("x", tile, (1, *dims))
    g.output(x.bufferize(rank=len(dims), most=buffer.most_rows).streamify(), "y")
    assert plain(execute(g, {"x": [full]}).nested("y")) == plain([full])

    fewest = [n * is_known for n, is_known in zip([*extents, rows], known, strict=True)]
    least = content(fewest[:-1], fewest[-1])
    assert buffer.fewest_rows == takes(least)
    if buffer.fewest_rows > 1:
        with pytest.raises(sg.StepError, match=f"has at least {buffer.fewest_rows}"):
            x.bufferize(rank=len(dims), most=buffer.fewest_rows - 1)


@few
@given(st.data())
def test_buffers_read_once_give_the_stream_back(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 2))
    content = data.draw(scalars(rank))
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape(rank)).bufferize(rank=1).streamify(), "y")
    assert numbers_of(execute(g, {"x": content}), "y") == content


@few
@given(st.data())
def test_buffers_of_two_dims_read_by_a_count(data: st.DataObject) -> None:
    content = data.draw(
        st.lists(st.lists(scalars(0, 2).map(lambda x: (x * 2 + [0, 0])[:2]), max_size=3))
    )
    g = sg.Graph()
    x = g.input("x", SCALAR, (*shape(1), 2))
    count = data.draw(st.integers(1, 3))
    g.output(x.bufferize(rank=2).streamify(count=count), "y")
    assert numbers_of(execute(g, {"x": content}), "y") == [[group] * count for group in content]


@few
@given(st.data())
def test_buffers_read_by_reference(data: st.DataObject) -> None:
    """Buffers and references may both be empty, at any level."""
    outer, inner = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 2))
    ref = data.draw(scalars(outer + inner))
    chunks = models.on_groups(ref, outer + inner, inner, lambda _: data.draw(scalars(0)))
    dims = shape(outer + inner, "R")
    g = sg.Graph()
    x = g.input("x", SCALAR, (*dims[: outer + 1], sg.ragged("B")))
    y = x.bufferize(rank=1).streamify(g.input("ref", SCALAR, dims))
    g.output(y, "y")
    queue = iter(list(models.groups(chunks, outer, 0)))

    def fill(group: Any) -> Any:
        chunk = next(queue)
        return models.on_groups(group, inner - 1, 0, lambda _: chunk) if inner else chunk

    expected = models.on_groups(ref, outer + inner, inner, fill)
    assert numbers_of(execute(g, {"x": chunks, "ref": ref}), "y") == expected


@few
@given(st.data())
def test_affine_reading(data: st.DataObject) -> None:
    content = data.draw(st.lists(st.lists(st.integers(-5, 5), min_size=6, max_size=6), max_size=3))
    dims, strides = data.draw(
        st.sampled_from([([3, 2], [1, 3]), ([2, 2], [0, 1]), ([6], [1]), ([1, 1, 2], [0, 0, 5])])
    )

    def read(buffer: Any, dims: Any, strides: Any, first: int = 0) -> Any:
        if not dims:
            return buffer[first]
        return [read(buffer, dims[1:], strides[1:], first + i * strides[0]) for i in range(dims[0])]

    g = sg.Graph()
    x = g.input("x", SCALAR, ("N", 6))
    g.output(x.bufferize(rank=1).streamify(shape=dims, stride=strides), "y")
    y = numbers_of(execute(g, {"x": content}), "y")
    assert y == [read(buffer, dims, strides) for buffer in content]


@few
@given(st.data())
def test_references_can_be_routed_multicast_and_merged(data: st.DataObject) -> None:
    content = data.draw(scalars(1))
    chosen = [data.draw(st.sets(st.integers(0, 1))) for _ in content]
    sel = [[i in bits for i in range(2)] for bits in chosen]
    g = sg.Graph()
    route = g.input("sel", sg.Selector(2), ("N",))
    buffers = g.input("x", SCALAR, ("N", sg.ragged("B"))).bufferize(rank=1)
    parts = sg.partition(buffers, route, rank=0)
    for i, part in enumerate(parts):
        g.output(part.streamify(count=2), f"y{i}")
    g.output(sg.reassemble(parts, route, rank=0).streamify(), "back")
    result = execute(g, {"x": content, "sel": sel})
    for i in range(2):
        expected = [[c, c] for c, bits in zip(content, chosen, strict=True) if i in bits]
        assert numbers_of(result, f"y{i}") == expected
    back = [[c] * len(bits) for c, bits in zip(content, chosen, strict=True)]
    assert numbers_of(result, "back") == back


@pytest.mark.usefixtures("unmatched")
def test_references_that_do_not_match_the_buffers() -> None:
    g = sg.Graph()
    x = g.input("x", SCALAR, ("N", 2)).bufferize(rank=1)
    x.streamify(g.input("ref", SCALAR, ("N", sg.ragged("R"))), name="again")
    with pytest.raises(sg.StepError, match=r"again .*bufferize_0\.0 gives the end .*ref\.0"):
        execute(g, {"x": [[1, 2]], "ref": [[1], [2]]})


@pytest.mark.parametrize("tile", [(2, 2), (3, 4), (1, 8)])
def test_packed_elements_are_widened(tile: tuple[int, int]) -> None:
    g = sg.Graph()
    m, count = g.tensor("m", (6, 8), sg.int4), 48 // (tile[0] * tile[1])
    matrix = np.arange(48).reshape(6, 8) * 7 % 16 - 8
    assert m.bytes == 24
    load = sg.linear_offchip_load(m, tile=tile, shape=(count,), stride=(1,))
    assert load.tile == sg.Tile(*tile, sg.int8)
    assert sg.metrics(g).traffic == 24
    g.output(load, "y")
    tiles = np.array(execute(g, {"m": matrix}).nested("y"))
    image = to_image(matrix.astype(np.int8), None if tile[1] == 8 else tile)
    assert tiles.ravel().tolist() == image.tolist()
    twos = [low & 15 | (high & 15) << 4 for low, high in image.reshape(-1, 2).tolist()]
    data = as_bytes(image, sg.int4)
    assert data.tolist() == twos
    assert from_bytes(data, sg.int4).tolist() == image.tolist()


@pytest.mark.parametrize("number", [8, -9, 100])
def test_numbers_of_more_than_four_bits(number: int) -> None:
    g = sg.Graph()
    m = g.tensor("m", (2, 2), sg.int4)
    g.output(sg.linear_offchip_load(m, tile=(2, 2), shape=(1,), stride=(1,)), "y")
    with pytest.raises(sg.StepError, match=f"tensor m holds {number}, .* not fit into int4"):
        execute(g, {"m": [[0, 1], [number, 2]]})


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({}, "tensor m is read by load but has no contents"),
        ({"m": np.zeros((6, 4))}, r"tensor m has shape \[6, 8\], but its contents have .*\[6, 4\]"),
        ({"m": np.full((6, 8), 200)}, "tensor m holds 200, which does not fit into int8"),
    ],
)
def test_contents_that_do_not_fit(contents: dict[str, Any], message: str) -> None:
    g = sg.Graph()
    read: Any = {"tile": (6, 8), "shape": (1,), "stride": (1,)}
    g.output(sg.linear_offchip_load(g.tensor("m", (6, 8), sg.int8), **read, name="load"), "y")
    with pytest.raises(sg.StepError, match=message):
        execute(g, contents)
