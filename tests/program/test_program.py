import re
import textwrap

import numpy as np
import pytest
from programs import shipped_programs

import stepgen as sg
from stepgen.ir import text
from stepgen.ir.errors import StepError
from stepgen.program import program

GOOD = """
import stepgen as sg

def double(n: int = 4):
    g = sg.Graph("double")
    x = g.input("x", sg.int8[1, 4], (n,))
    g.output(x.map(sg.fn.add(), x), "y")
    return g

def with_inputs(n: int = 2, seed: int = 0):
    print("chatter")
    return double(n), {"x": [[[seed] * 4]] * n}

def routed(routing=None):
    return double(len(routing))

def nothing():
    pass

def crash():
    return 1 // 0

def leave():
    raise SystemExit(3)

def wrong():
    g = sg.Graph()
    return g.input("x", sg.int8[1, 4], (3,)).flatten(0, 7)

def incomplete():
    g = sg.Graph("empty")
    g.input("x", sg.int8[1, 4], (3,))
    return g

_hidden = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(textwrap.dedent(GOOD))
    return tmp_path


def test_a_function_of_a_file(here, capsys):
    loaded = program.load("p.py:double", {"n": "3"})
    assert loaded.name == "p.py:double"
    assert loaded.inputs["x"].shape == (3, 1, 4)
    assert loaded.given == frozenset()
    loaded = program.load(str(here / "p.py:with_inputs"), seed=5)
    assert loaded.inputs == {"x": [[[5] * 4]] * 2}
    assert loaded.given == {"x"}
    assert capsys.readouterr().out == ""
    assert program.load("p.py:with_inputs", {"seed": "6"}, seed=5).inputs["x"][0][0][0] == 6
    assert program.load("p.py:double", draw=False).inputs == {}


def test_routing_is_handed_on(here):
    loaded = program.load("p.py:routed", routing=np.zeros((5, 1), np.int64))
    assert len(loaded.inputs["x"]) == 5


def test_inputs_of_a_file_go_before_those_of_the_function(here):
    np.savez("in.npz", x=np.full((2, 1, 4), 9))
    loaded = program.load("p.py:with_inputs", inputs=here / "in.npz")
    assert loaded.inputs["x"].tolist() == [[[9] * 4]] * 2


def test_a_saved_graph(here):
    graph = program.load("p.py:double").graph
    text.save(graph, "g.json")
    assert program.load("g.json").graph == graph
    with pytest.raises(StepError, match=r"^g.json is a finished graph and takes no parameters$"):
        program.load("g.json", {"n": "1"})


def test_neighbours_and_the_latest_text(here):
    (here / "q.py").write_text("from p import double\n\ndef f():\n    return double(7)\n")
    assert program.load("q.py:f").inputs["x"].shape[0] == 7
    (here / "p.py").write_text(GOOD.replace("n: int = 4", "n: int = 6"))
    assert program.load("p.py:double").inputs["x"].shape[0] == 6


def test_every_example_is_a_program():
    assert {"moe", "recipes:relu"} <= set(shipped_programs())
    for name in shipped_programs():
        assert program.load(name).graph.nodes


@pytest.mark.parametrize(
    ("spec", "settings", "sentence"),
    [
        ("nix.py:f", {}, "there is no file nix.py"),
        ("p.py", {}, "p.py needs the name of a function, as in p.py:double"),
        (
            "p.py:f",
            {},
            "p.py has no function 'f', it has double, with_inputs, routed, nothing, crash, leave, "
            "wrong, incomplete",
        ),
        ("p.py:_hidden", {}, "p.py has no function '_hidden', it has double, .*"),
        (
            "moo",
            {},
            "there is no program 'moo': give path.py:function, a design folder, or one of the "
            "examples .*",
        ),
        ("p.py:double", {"m": "1"}, "p.py:double has no parameter 'm', it has n"),
        (
            "p.py:nothing",
            {},
            "p.py:nothing must return a Graph, a Graph and a dict of its inputs, or a model, not "
            "NoneType",
        ),
        (
            "p.py:crash",
            {},
            "p.py:crash can't be built: ZeroDivisionError at p.py:21: integer .*by zero",
        ),
        ("p.py:leave", {}, "p.py:leave can't be built: SystemExit at p.py:24: 3"),
        ("p.py:wrong", {}, "flatten at p.py:28: .*"),
        ("p.py:incomplete", {}, "the graph empty has no output .*"),
        ("nix.json", {}, "nix.json can't be read as a program: .*"),
        ("p.py:routed", {}, "p.py:routed can't be built: TypeError at p.py:15: .*"),
    ],
)
def test_mistakes(here, spec, settings, sentence):
    with pytest.raises(StepError) as caught:
        program.load(spec, settings)
    assert re.fullmatch(sentence, str(caught.value))


def test_mistakes_in_the_file(here):
    (here / "bad.py").write_text("import stepgen\n\ndef f(:\n")
    with pytest.raises(StepError, match=r"^bad.py:3 can't be read as Python: invalid syntax$"):
        program.load("bad.py:f")
    (here / "bad.py").write_text("import stepgen\nraise KeyError('k')\n")
    with pytest.raises(StepError, match=r"^bad.py can't be imported: KeyError at bad.py:2: 'k'$"):
        program.load("bad.py:f")
    with pytest.raises(StepError, match=r"^p.py:double takes no routing: it has no parameter of"):
        program.load("p.py:double", routing=np.zeros((5, 1), np.int64))
    with pytest.raises(StepError, match=r"^p.py:routed is given routing twice, by --routing and b"):
        program.load("p.py:routed", {"routing": "1"}, routing=np.zeros((5, 1), np.int64))


def test_data_is_left_out_where_it_is_not_used():
    loaded = program.load("swiglu", tensors=False)
    assert loaded.inputs == {}
    small = {"batch": "4", "tile_batch": "4", "width": "16", "inner": "64"}
    assert set(program.load("swiglu", small).inputs) == {"x", "gate", "up", "down"}
    assert set(program.load("swiglu", {**small, "data": "yes"}, tensors=False).inputs) == {
        "x", "gate", "up", "down"
    }  # fmt: skip


def test_shipped_examples_are_functions() -> None:
    graph, inputs = sg.example("moe")(tokens=2)
    assert (graph.name, {*inputs} >= {"x", "route"}) == ("moe_dynamic", True)
    assert sg.example("moe:moe").__name__ == "moe"
    with pytest.raises(StepError, match="there is no example 'attentoin', there is attention"):
        sg.example("attentoin")
    with pytest.raises(StepError, match=r"moe.py has no function 'mo', it has "):
        sg.example("moe:mo")
