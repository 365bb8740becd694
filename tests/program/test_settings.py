import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import pytest

from stepgen.ir.errors import StepError
from stepgen.program.settings import bind, pairs


def program(
    n: int,
    share: float = 0.5,
    deep: bool = False,
    name: str = "a",
    kind: Literal["x", "y"] = "x",
    shape: tuple[int, ...] = (1,),
    sizes: list[float] | None = None,
    top: int | None = None,
    free=3,
    loose=None,
    table: dict[str, int] | None = None,
    *rest: Any,
):
    pass


def convert(key: str, text: str) -> Any:
    return bind(program, {"n": "1", key: text}, {}, "program")[key]


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("n", "-7", -7),
        ("share", "1e-3", 1e-3),
        ("share", "2", 2.0),
        ("deep", "yes", True),
        ("deep", "False", False),
        ("name", "1", "1"),
        ("name", "", ""),
        ("kind", "y", "y"),
        ("shape", "4, 5", (4, 5)),
        ("shape", "", ()),
        ("sizes", "1,2.5", [1.0, 2.5]),
        ("sizes", "none", None),
        ("top", "none", None),
        ("top", "2", 2),
        ("free", "4", 4),
        ("loose", "[1, 2]", [1, 2]),
        ("loose", "text", "text"),
    ],
)
def test_texts_become_values(key, text, value):
    got = convert(key, text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("n", "x", "program needs n to be an integer, not 'x'"),
        ("n", "1.5", "program needs n to be an integer, not '1.5'"),
        ("share", "half", "program needs share to be a number, not 'half'"),
        ("deep", "maybe", "program needs deep to be true or false, not 'maybe'"),
        ("kind", "z", "program needs kind to be one of x, y, not 'z'"),
        (
            "shape",
            "1,a",
            "program needs shape to be a list with commas, each item an integer, not '1,a'",
        ),
        ("top", "x", "program needs top to be an integer, not 'x'"),
        ("free", "x", "program needs free to be an integer, not 'x'"),
        (
            "table",
            "{}",
            "program needs table to be set in Python, since the command line has no form for it, "
            "not '{}'",
        ),
        (
            "rest",
            "1",
            "program has no parameter 'rest', it has n, share, deep, name, kind, shape, sizes, "
            "top, free, loose, table",
        ),
    ],
)
def test_mistakes(key, text, sentence):
    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        convert(key, text)


def test_missing_and_given():
    with pytest.raises(StepError, match=r"^p needs a value for n: add --set n=\.\.\.$"):
        bind(program, {}, {"top": 3}, "p")
    assert bind(program, {"n": "1"}, {"n": 2, "top": 3}, "p") == {"n": 1, "top": 3}
    with pytest.raises(StepError, match=r"^p has no parameter 'a', it has none$"):
        bind(lambda: None, {"a": "1"}, {}, "p")


def test_pairs():
    assert pairs(["a=1", "b=x=y", "c="], "--set") == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(StepError, match=r"^--set takes name=value, not 'a'$"):
        pairs(["a"], "--set")
    with pytest.raises(StepError, match=r"^--set takes name=value, not '=1'$"):
        pairs(["=1"], "--set")
    with pytest.raises(StepError, match=r"^--set a is given twice, '1' and '2'$"):
        pairs(["a=1", "a=2"], "--set")


def test_a_function_with_some_arguments_already():
    def transform(program: str, *, regions: int, names: Sequence[str | float] | None = None):
        pass

    rest = partial(transform, "p")
    found = bind(rest, {"regions": "3", "names": "a,b"}, {}, "t")
    assert found == {"regions": 3, "names": ["a", "b"]}
    with pytest.raises(StepError, match=r"t needs a value for regions: add --do t:regions=\.\.\."):
        bind(rest, {}, {}, "t", option="--do t:{}=...")


def test_lists_of_lists_have_no_form():
    def graph(neighbours: Sequence[Sequence[int]] | None = None):
        pass

    with pytest.raises(StepError, match="set in Python"):
        bind(graph, {"neighbours": "1,2"}, {}, "graph")


def test_what_has_a_form_reports_what_is_wrong():
    def program(lengths: list[int] | dict[str, int] | None = None):
        pass

    with pytest.raises(StepError, match="lengths to be a list with commas, each item an integer"):
        bind(program, {"lengths": "3,x"}, {}, "program")
