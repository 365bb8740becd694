import re

import ml_dtypes
import numpy as np
import pytest

import stepgen as sg
from stepgen.ir.errors import StepError
from stepgen.program import inputs
from stepgen.semantics import executor
from stepgen.semantics.tokens import encode

EXTENTS = {"rows": 2, "N": 5, "R": 0, "M": 1}


def graph():
    g = sg.Graph("p")
    x = g.tensor("x", (4, 8), sg.int8)
    y = g.tensor("y", (8, 8), sg.int8)
    g.tensor("unused", (2, 2), sg.int8)
    route = g.input("route", sg.Selector(3, hot=2), (4,))
    loaded = sg.linear_offchip_load(x, tile=(1, 8), shape=(4, 1), stride=(1, 0))
    outs = sg.partition(loaded, route, rank=1)
    sg.linear_offchip_store(sg.reassemble(outs, route, rank=1), y)
    return g


def ragged():
    g = sg.Graph("q")
    a = g.input("a", sg.bf16[1, 2], ("N", sg.ragged("R")))
    g.output(a.map(sg.fn.square()), "b")
    return g


def test_names():
    assert list(inputs.names(graph())) == ["route", "x", "y", "unused"]


def test_what_is_missing_is_drawn_once_and_for_all():
    g = graph()
    drawn = inputs.complete(g, {}, seed=1)
    assert set(drawn) == {"route", "x"}
    assert drawn["x"].shape == (4, 8)
    assert drawn["x"].dtype == np.int8
    assert (drawn["route"].sum(axis=1) == 2).all()
    again = inputs.complete(g, {"route": drawn["route"]}, seed=1)
    assert np.array_equal(again["x"], drawn["x"])
    assert not np.array_equal(inputs.complete(g, {}, seed=2)["x"], drawn["x"])
    executor.run(g, drawn)


@pytest.mark.parametrize("element", [sg.int8, sg.int32, sg.bf16, sg.f32, sg.bool_])
def test_every_element_type_is_drawn(element):
    g = sg.Graph()
    g.output(g.input("a", element[2, 3], (4,)).flatten(0, 0), "b")
    drawn = inputs.complete(g, {})["a"]
    assert drawn.shape == (4, 2, 3)
    assert len(np.unique(drawn)) > 1
    executor.run(g, {"a": drawn})


def test_selectors_of_any_number():
    g = sg.Graph()
    g.output(g.input("s", sg.Selector(4), (200,)), "t")
    assert set(inputs.complete(g, {})["s"].sum(axis=1)) == {0, 1, 2, 3, 4}


def test_a_dynamic_stream_is_not_drawn():
    sentence = (
        "the input a is Stream[bf16 1x2; N, R], which can't be drawn: say how large it is with "
        "--dim N=... --dim R=..., return it from the program, or give it in a file with --inputs"
    )
    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        inputs.complete(ragged(), {})


def test_dynamic_streams_of_given_extents_are_drawn():
    rows, groups = sg.dynamic("rows", bound=3), sg.dynamic("N", positive=True)
    shapes = [(groups,), (groups, 2), (3, sg.ragged("R", bound=4)), (groups, "M")]
    kinds = [sg.int8[1, 2], sg.int8[rows, 2], sg.bool_[1, 1], sg.Selector(3)]
    for shape in shapes:
        for kind in kinds:
            g = sg.Graph("p")
            x = g.input("x", kind, shape)
            g.output(x.promote(), "y")
            named = {s.name for d in (*x.shape, *kind.dims) for s in d.expr.free_symbols}
            texts = {name: str(n) for name, n in EXTENTS.items() if name in named}
            for n in texts:
                others = {name: EXTENTS[name] for name in texts if name != n}
                with pytest.raises(inputs.NotDrawn, match=f"with --dim {n}=..., return"):
                    inputs.complete(g, {}, dims=others)
            drawn = inputs.complete(g, {}, dims=inputs.extents(g, texts, ()))
            own = [EXTENTS.get(str(d), d.static) for d in (*x.shape, *kind.dims)]
            assert list(drawn["x"].shape) == own + [3] * isinstance(kind, sg.Selector)
            executor.run(g, drawn)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("M", "1", "--dim M: inputs of q have no such dim, only N, R"),
        ("N", "-1", "--dim N takes an integer of at least 0, not '-1'"),
        ("N", "1.5", "--dim N takes an integer of at least 0, not '1.5'"),
        ("N", "9" * 25, f"--dim N takes an integer of at least 0, not '{'9' * 25}'"),
    ],
)
def test_wrong_extents(name, text, sentence):
    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        inputs.extents(ragged(), {name: text}, ())


def test_extents_that_dims_cannot_have():
    g = sg.Graph("p")
    g.input("x", sg.int8[1, 2], (sg.dynamic("n", bound=4, positive=True),))
    for text in "05":
        with pytest.raises(
            StepError, match=rf"^--dim n takes an integer within 1\.\.4, not '{text}'$"
        ):
            inputs.extents(g, {"n": text}, ())
    with pytest.raises(StepError, match=r"^--dim n is for drawn inputs, and x is given$"):
        inputs.extents(g, {"n": "2"}, {"x"})
    with pytest.raises(StepError, match=r"^--dim n: inputs of s have no such dim, none at all$"):
        inputs.extents(sg.Graph("s"), {"n": "2"}, ())


def test_wrong_names_and_shapes():
    with pytest.raises(StepError, match=r"^the program p has no input 'z', it takes route, x, y,"):
        inputs.check(graph(), {"z": 1})
    sentence = "tensor x has shape [4, 8], but its contents have shape [8, 4]"
    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        inputs.check(graph(), {"x": np.zeros((8, 4))})


def test_saved_inputs_come_back(tmp_path):
    g = ragged()
    one = np.array([[1, -2.5]], ml_dtypes.bfloat16)
    tokens = encode([[one, one], [], [one]], 1)
    inputs.save(tmp_path / "in.npz", {"a": (tokens, 1)}, {})
    loaded = inputs.load(tmp_path / "in.npz", g)
    assert loaded == {"a": tokens}


@pytest.mark.parametrize("element", [sg.bf16, sg.int4])
def test_elements_that_files_of_numpy_lack(element, tmp_path):
    g = sg.Graph("wide")
    w = g.tensor("w", (2, 4), element)
    g.output(sg.linear_offchip_load(w, tile=(2, 4), shape=(1,), stride=(1,)), "y")
    made = np.array([[1, -2, 7, -8], [0, 3, -1, 5]])
    dtype = ml_dtypes.bfloat16 if element == sg.bf16 else ml_dtypes.int4
    np.savez(tmp_path / "w.npz", w=made.astype(dtype))
    assert np.load(tmp_path / "w.npz")["w"].dtype.kind == "V"
    inputs.check(g, loaded := inputs.load(tmp_path / "w.npz", g))
    assert loaded["w"].astype(float).tolist() == made.tolist()


def test_matrices_and_dense_streams(tmp_path):
    g = graph()
    drawn = inputs.complete(g, {})
    np.savez(tmp_path / "in.npz", **drawn)
    loaded = inputs.load(tmp_path / "in.npz", g)
    assert {k: v.tolist() for k, v in loaded.items()} == {k: v.tolist() for k, v in drawn.items()}


def test_a_lone_stream_file_is_the_only_stream(tmp_path):
    g = graph()
    route = np.array([[1, 1, 0]] * 4, bool)
    np.savez(tmp_path / "route.npz", stops=np.zeros(4, np.uint8), values=route)
    assert inputs.load(tmp_path / "route.npz", g)["route"] == encode(route, 0)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (None, "can't read the inputs in.npz: No such file or directory"),
        (b"text", "in.npz holds no inputs: it is no .npz file of plain arrays"),
        ({"x": np.zeros((4, 4))}, "tensor x has shape [4, 8], but its contents have shape [4, 4]"),
        ({"z": np.zeros(3)}, "the program p has no input 'z', it takes route, x, y, unused"),
        (
            {"x/stops": np.zeros(3)},
            "in.npz: the program p has no input stream 'x', its streams are route",
        ),
        (
            {"route/stops": np.zeros(3)},
            "in.npz: route is not a stream file: it lacks stops or values",
        ),
        (
            {"route/stops": np.zeros(4), "route/values": np.zeros((3, 3))},
            "in.npz: route: 3 values for 4 tokens with values",
        ),
        ({"x": np.array([[None]])}, "in.npz holds no inputs: it is no .npz file of plain arrays"),
    ],
)
def test_mistakes_in_files(tmp_path, monkeypatch, arrays, sentence):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "in.npz"
    if isinstance(arrays, bytes):
        path.write_bytes(arrays)
    elif arrays is not None:
        np.savez(path, **arrays)
    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        inputs.load(path.relative_to(tmp_path), graph())


def test_tensors_need_not_be_drawn():
    g = sg.Graph("loads")
    x = g.input("x", sg.int8[1, 4], (3,))
    a = g.tensor("a", (4, 4), sg.int8)
    places = g.tensor("places", (3, 1), sg.address)
    for tensor in (a, places):
        sg.linear_offchip_load(tensor, tile=(1, 1), shape=(1,), stride=(1,), ref=x)
    assert set(inputs.complete(g, {})) == {"x", "a", "places"}
    assert set(inputs.complete(g, {}, tensors=False)) == {"x", "places"}


@pytest.mark.parametrize("value", [np.ones((2, 4), complex), [[1], [1, 2]], np.full((2, 4), 0.5)])
def test_contents_of_a_tensor_are_checked_also_where_they_are_not_used(value):
    g = sg.Graph("g")
    g.tensor("w", (2, 4), sg.int8)
    with pytest.raises(sg.StepError, match="tensor w"):
        inputs.check(g, {"w": value})


@pytest.mark.parametrize("element", [sg.int8, sg.int32], ids=str)
def test_drawn_integers_reach_the_ends_of_their_type(element) -> None:
    g = sg.Graph("wide")
    g.output(g.input("x", element[8, 8], (16,)), "y")
    drawn = inputs.complete(g, {})["x"]
    low, high = element.limits
    assert {low, low + 1, high - 1, high} <= set(drawn.flat)
    assert (abs(drawn.astype(int)) <= 1000).mean() > 0.5
