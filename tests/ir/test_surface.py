"""What users see of operators and functions: in type checkers, editors, help and notebooks."""

from __future__ import annotations

import inspect
import os
import pydoc
import re
import subprocess
import sys
import typing
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import stepgen as sg
from stepgen.compile import transforms
from stepgen.ir.function import function_types
from stepgen.ir.methods import Methods
from stepgen.ir.operator import as_method, functions
from stepgen.pages.stubs import stubs

ROOT = Path(sg.__file__).parents[1]

PROGRAM = """
import stepgen as sg
from stepgen.compile.transforms import parallelize
from stepgen.functions import Unary


class Own(Unary):
    def compute(self, at, x):
        return x


def program(g: sg.Graph, route: sg.Stream, other: sg.Stream) -> None:
    x = g.input("x", sg.int8[1, 4], (4, 2))
    sg.partition(x, route, rank=1)
    sg.partitoin(x, route, rank=1)  # attr-defined
    x.partition(route, rank=1)
    x.partitoin(route, rank=1)  # attr-defined
    sg.partition(x, route, rnk=1)  # call-arg
    x.partition(route, rnk=1)  # call-arg
    x.partition(rank=1)  # call-arg
    x.partition(route, rank="1")  # arg-type
    x.map(sg.fn.requantize(3, shift=2))
    x.map(sg.fn.requantise(3, shift=2))  # attr-defined
    x.map(sg.fn.requantize(3, shft=2))  # call-arg
    x.map(sg.fn.square)  # arg-type
    x.map(Own())
    x.map(sg.fn.compare("lt"), x).map(sg.fn.convert("int8"))
    x.map(sg.fn.compare("<"), x)  # arg-type
    x.map(sg.fn.convert("int4"))  # arg-type
    x.flat_map(sg.fn.retile_streamify("rows"), rank=0)  # arg-type
    g.tensor("w", (4, 4), "int8")
    g.tensor("w", (4, 4), "int24")  # arg-type
    sg.reassemble([x, x], route, rank=1, order="random")  # arg-type
    parallelize(g, regions=2, how="random")  # arg-type
    x.accum(sg.fn.add(), other, rank=1)
    x.accum(fn=sg.fn.add(), rank=1)
    x.accum(rank=1)  # call-arg
    x.flat_map(sg.fn.retile_streamify("row"), rank=0).promote().fifo(4)
    padded, flags = x.reshape(chunk=2)
    padded.zip(flags)
    x.reshape(dim=1, chunk=2).flatten(0, 1)
    x.reshape(chunk=2).flatten(0, 1)  # attr-defined
    sg.reassemble([x, x], route, rank=1).sculpt()  # attr-defined
    x.eager_merge(rank=1)  # attr-defined
    x.tile.cols.static
    x.dtype.cols  # attr-defined
"""


@pytest.mark.slow
def test_mistakes_are_errors_for_a_type_checker(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    examples = sorted(str(p) for p in (ROOT / "examples").glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--no-error-summary", "--allow-untyped-defs", str(program), *examples]
    # This stepgen, even if another is installed; its own files are checked as a whole elsewhere.
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert not done.stderr
    expected = {
        (number, found[1])
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if (found := re.search(r"# ([a-z-]+)$", line))
    }
    errors = [
        line
        for line in done.stdout.splitlines()
        if ": error: " in line and not line.startswith("stepgen/")
    ]
    found = [re.fullmatch(r".*program\.py:(\d+): error: .*\[([a-z-]+)\]", e) for e in errors]
    assert {(int(f[1]), f[2]) if f else e for f, e in zip(found, errors, strict=True)} == expected


FREE = {
    *("name", "path", "partition", "done"),  # names of the user's own
    "itensor",  # a type as it is written
    "mask",  # an array, which numpy makes of texts too
    "policy",  # others can be registered
    "Graph.add",  # takes what operators and their parameters are called as data
}
"""Of strings: those of which no list of words exists."""


def free_texts(name: str, thing: Callable[..., Any]) -> list[str]:
    """The parameters that any text is accepted for, although it may be one of few words."""
    hints = typing.get_type_hints(inspect.unwrap(thing))
    return [
        f"{name}({key}=)"
        for key in inspect.signature(thing).parameters
        if str in (hints.get(key), *typing.get_args(hints.get(key))) and not {name, key} & FREE
    ]


def public() -> dict[str, Callable[..., Any]]:
    """Whatever users call: operators, functions, transforms, and methods of graphs and types."""
    found: dict[str, Callable[..., Any]] = {f"fn.{n}": k for n, k in function_types().items()}
    found |= {name: getattr(transforms, name) for name in transforms.__all__}
    for name in {*functions(), *sg.__all__} - {"fn"}:
        thing = getattr(sg, name)
        if inspect.isfunction(thing):
            found[name] = thing
        elif inspect.isclass(thing):
            methods = vars(thing).items() if thing in (sg.Graph, sg.Stream) else ()
            found |= {f"{name}.{k}": m for k, m in methods if hasattr(m, "__wrapped__")}
    return found


def test_what_is_one_of_few_words_is_a_literal() -> None:
    assert [text for name, thing in public().items() for text in free_texts(name, thing)] == []
    assert {"fn.compare", "reassemble", "Graph.tensor", "parallelize"} <= set(public())


@pytest.mark.parametrize("path", stubs(), ids=lambda path: path.name)
def test_what_is_generated_is_new(path: Path) -> None:
    said = f"{path.name} is older than the code, run: python -m stepgen.pages.stubs"
    assert path.read_text() == stubs()[path], said


def test_the_signature_of_a_method() -> None:
    assert str(inspect.signature(sg.Stream.partition)).replace("'", "") == (
        "(self, sel: Stream, *, rank: int, num_consumers: int | None = None, "
        "name: str | None = None) -> tuple[Stream, ...]"
    )
    assert [*inspect.signature(sg.Stream.accum).parameters][:3] == ["self", "fn", "xs"]
    assert [*inspect.signature(sg.Stream.flat_map).parameters][:3] == ["self", "fn", "rank"]
    bound = inspect.signature(sg.Graph().input("x", sg.int8[1, 4], (2,)).partition)
    assert [*bound.parameters][:2] == ["sel", "rank"]


def test_operators_of_one_stream_are_methods() -> None:
    alone = {"concat", "eager_merge", "linear_offchip_load", "reassemble"}
    assert {n for n in functions() if hasattr(Methods, n)} == set(functions()) - alone
    for name, function in functions().items():
        assert getattr(sg, name) is function
        if name not in alone:
            assert vars(Methods)[name].__qualname__ == f"Stream.{name}"


@pytest.mark.parametrize("name", [n for n in functions() if hasattr(Methods, n)])
def test_help_shows_signature_and_docstring(name: str) -> None:
    x = sg.Graph().input("x", sg.int8[1, 4], (2,))
    for thing in (getattr(sg, name), getattr(sg.Stream, name), getattr(x, name)):
        text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
        summary, signature = inspect.getdoc(thing).splitlines()[0], str(inspect.signature(thing))
        assert f"{name}{signature}" in text
        assert summary in text
        assert "Raises" in text


def test_help_shows_the_parameters_of_functions() -> None:
    text = pydoc.render_doc(sg.fn.requantize, renderer=pydoc.plaintext)
    assert "requantize(multiplier: int = 1, shift: int = 0, to: " in text
    assert "1 to 32767" in text
    assert set(function_types()) <= set(dir(sg.fn))


def test_help_lists_the_functions() -> None:
    text = pydoc.render_doc(sg.fn, renderer=pydoc.plaintext)
    lines = [line.strip() for line in text.splitlines()]
    for name, kind in function_types().items():
        summary = inspect.getdoc(kind).splitlines()[0]
        assert [line for line in lines if line.startswith(f"{name} ") and line.endswith(summary)]


REFUSED: dict[str, Callable[[sg.Stream], object]] = {
    "accum at .*: missing a required argument: 'fn'": lambda x: x.accum(rank=1),
    "accum at .*: missing a required argument: 'rank'": lambda x: x.accum(sg.fn.add()),
    "unzip at .*: too many positional arguments": lambda x: x.unzip(x),
    "zip at .*: self must be a stream, not 5": lambda x: sg.Stream.zip(5, x),
    "flat_map at .*: got an unexpected keyword argument 'x'": lambda x: x.flat_map(
        sg.fn.span(), x=x, rank=0
    ),
    "partition at .*: rank must be an integer, not '1'": lambda x: x.partition(x, rank="1"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_methods_are_guarded_like_functions(message: str) -> None:
    x = sg.Graph().input("x", sg.int8[1, 4], (2, 2))
    line = re.escape(f"{Path(__file__).name}:")
    with pytest.raises(sg.StepError, match=message.replace("at .*", rf"at {line}\d+")):
        REFUSED[message](x)


@pytest.mark.parametrize(
    ("hints", "left"),
    [
        ([sg.Stream, int], ["self", "p1"]),
        (["Stream", "int"], ["self", "p1"]),
        ([sg.Function, sg.Stream, sg.Stream], ["self", "p0", "p2"]),
        ([Sequence[sg.Stream], sg.Stream], ["self", "p0", "p1"]),
        ([sg.Stream | None, sg.Stream], ["self", "p0", "p1"]),
        (["Sequence[Stream]", "Stream"], ["self", "p0", "p1"]),
        ([int], ["self", "p0"]),
    ],
)
def test_which_stream_a_method_belongs_to(hints: list[Any], left: list[str]) -> None:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(f"p{i}", kind, annotation=h) for i, h in enumerate(hints)]
    assert [*as_method(inspect.Signature(parameters)).parameters] == left


def test_a_method_takes_its_function_by_name() -> None:
    x = sg.Graph().input("x", sg.int8[1, 4], (2, 2))
    assert x.accum(fn=sg.fn.add(), rank=1).shape == (2,)
    assert x.map(sg.fn.add(), x).shape == x.flat_map(rank=0, fn=_rows()).shape == (2, 2)


def _rows() -> sg.Function:
    return sg.fn.retile_streamify("row")


def test_numbers_of_types() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8["R", 4], (2,))
    assert int(x.tile.cols) == 4
    with pytest.raises(sg.StepError, match=r"int at test_surface.py:\d+: the dim R is known only"):
        int(x.tile.rows)
    route = g.input("route", sg.Selector(2), (2,))
    with pytest.raises(sg.StepError, match=r"tile at test_surface.py:\d+: route.0 carries no til"):
        route.tile  # noqa: B018


def test_importing_stepgen_is_light() -> None:
    code = (
        "import sys, stepgen; roots = {name.split('.')[0] for name in sys.modules};"
        "print(roots & {'networkx', 'numba', 'amaranth', 'matplotlib', 'ml_dtypes', 'cocotb'});"
        "print({name for name in sys.modules if name.startswith('stepgen.')"
        " and name.split('.')[1] != 'ir'} - {'stepgen.tools', 'stepgen.tools.starting'},"
        "'stepgen.ir.show' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["set()", "set()", "False"]


def test_a_typed_program_loads_no_hardware() -> None:
    code = (
        "import sys, stepgen as sg; g = sg.Graph();"
        # Streams have all operators as methods before any operator is used.
        "g.feedback(sg.int8[1, 8], (3,), 'b').promote(); x = g.input('x', sg.int8[1, 8], (3,));"
        "x.promote().bufferize(rank=1).streamify();"
        "print({name for name in sys.modules if name.split('.')[:2] in ("
        "['stepgen', 'hw'], ['stepgen', 'timing'], ['stepgen', 'functions'], ['networkx'])})"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def cells(html: str) -> list[list[str | None]]:
    return [[cell.text for cell in row] for row in ET.fromstring(html).iter("tr")]


def program() -> sg.Graph:
    g = sg.Graph("layer")
    g.tensor("w", (8, 4), "int8")
    x = g.input("x", sg.int8[1, 4], ("N", 2))
    route = g.input("route", sg.Selector(2), ("N",))
    first, _ = x.fifo(4).partition(route, rank=1)
    g.output(first, "y")
    g.feedback(sg.int8[1, 4], (2,), "back")
    return g


def test_a_graph_shows_itself_in_a_notebook() -> None:
    html = program()._repr_html_()
    assert "<caption>graph layer</caption>" in html
    made = "partition(x.fifo(4), route, rank=1, num_consumers=2)"
    assert cells(html) == [
        ["node", "type", "made by"],
        ["tensor w", "int8 8x4", None],
        ["x", "Stream[int8 1x4; N, 2]", "source()"],
        ["route", "Stream[selector 2; N]", "source()"],
        ["partition_0.0", "Stream[int8 1x4; E0, 2]", made],
        ["partition_0.1", "Stream[int8 1x4; E1, 2]", None],
        ["y", None, "output(partition_0.0)"],
        ["feedback back", "Stream[int8 1x4; 2]", "from nothing yet"],
    ]


def test_a_stream_shows_itself_in_a_notebook() -> None:
    g = program()
    stream = g.node("partition_0").outputs[0]
    html = stream.fifo(9)._repr_html_()
    assert "<caption>stream partition_0.0</caption>" in html
    rows = dict(cells(html))
    assert rows.pop("made by").startswith("partition(x.fifo(4), route, rank=1, num_consumers=2) at")
    assert rows == {
        "shape": "[E0, 2]",
        "rank": "1",
        "element type": "int8 1x4",
        "number of elements": "2*E0",
        "FIFO": "at least 9 beats",
    }
    assert "FIFO" not in stream._repr_html_()


def test_what_is_shown_is_escaped() -> None:
    namespace: dict[str, object] = {"sg": sg}
    exec(compile("x = sg.Graph().input('x', sg.int8[1, 4], (2,))", "<a & b>", "exec"), namespace)
    html = namespace["x"]._repr_html_()  # type: ignore[attr-defined]
    assert dict(cells(html))["made by"] == "source() at <a & b>:1"
