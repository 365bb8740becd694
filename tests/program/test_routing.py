import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stepgen.ir.errors import StepError
from stepgen.program import program, routing

CHOSEN = np.array([[0, 3], [2, 1], [7, 0]])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, content):
    if path.suffix == ".csv":
        path.write_text(content)
    elif path.suffix == ".npy":
        np.save(path, content)
    else:
        np.savez(path, **content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.npy", CHOSEN),
        ("r.npy", CHOSEN.astype(np.uint8)),
        ("r.npy", CHOSEN.astype(np.float32)),
        ("r.npz", {"data": CHOSEN, "other": np.zeros(3)}),
        ("r.npz", {"experts": CHOSEN}),
        ("r.csv", "0,3\n2,1\n7,0\n"),
        ("r.csv", "first,second\n0, 3\n2, 1\n\n7, 0"),
        ("r.csv", "# expert1, expert2\n0,3\n2,1\n7,0 # the last\n"),
    ],
)
def test_files(here, name, content):
    read = routing.read(write(here / name, content))
    assert read.dtype == np.int64
    assert np.array_equal(read, CHOSEN)


SPREADSHEETS = [
    (encoding, delimiter, names, end, quote, rest)
    for encoding in ("utf-8", "utf-8-sig", "utf-16")
    for delimiter in (",", ";", "\t")
    for names in ("", "expert 1{0}expert 2\n", "Länge{0}ß\n")
    for end in ("\n", "\r\n")
    for quote in ("", '"')
    for rest in ("", "{0}{0}", "\n{0}\n")
]


def test_spreadsheets(here):
    """Byte order mark, separators, names, ends of lines, quotes, empty columns and rows."""
    for encoding, delimiter, names, end, quote, rest in SPREADSHEETS:
        empty = rest.format(delimiter)
        lines = [delimiter.join(f"{quote}{n}{quote}" for n in row) + empty for row in CHOSEN]
        text = (names.format(delimiter) + "\n".join([*lines, ""])).replace("\n", end)
        path = here / "r.csv"
        path.write_bytes(text.encode(encoding))
        assert np.array_equal(routing.read(path), CHOSEN), (encoding, text)
        path.write_bytes(text.replace("7", "seven").encode(encoding))
        with pytest.raises(
            StepError, match=r"line \d+, column 1 holds 'seven', which is not a number"
        ):
            routing.read(path)


def test_one_expert_per_token(here):
    assert routing.read(write(here / "r.csv", "3\n1\n")).tolist() == [[3], [1]]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("r.txt", None, "a routing is a file that ends in .npz, .npy or .csv, not r.txt"),
        ("r.csv", None, "can't read the routing r.csv: No such file or directory"),
        ("r.npy", b"abc", "r.npy is not a routing: it holds no table of numbers"),
        ("r.npz", b"abc", "r.npz is not a routing: it holds no table of numbers"),
        ("r.csv", "", "r.csv is not a routing: it holds no numbers"),
        ("r.csv", "first,second\n", "r.csv is not a routing: it holds no numbers"),
        ("r.csv", "1,2\n\n3\n", "r.csv is not a routing: line 3 has 1 column, but line 1 has 2"),
        (
            "r.csv",
            "1,2\n3,x\n",
            "r.csv is not a routing: line 2, column 2 holds 'x', which is not a number",
        ),
        ("r.csv", "1,2\n,3\n", "r.csv is not a routing: line 2, column 1 holds no number"),
        (
            "r.csv",
            "a,b\n1,2\na,b\n",
            "r.csv is not a routing: line 3, column 1 holds 'a', which is not a number",
        ),
        (
            "r.csv",
            "1 2\n3 4\n",
            "r.csv is not a routing: line 1, column 1 holds '1 2', which is not a number",
        ),
        (
            "r.npy",
            np.arange(4),
            "r.npy is not a routing: it must have the shape [tokens, experts per token], not [4]",
        ),
        (
            "r.npz",
            {"a": CHOSEN, "b": CHOSEN},
            "r.npz is not a routing: it needs an array called data, it has a, b",
        ),
        (
            "r.npy",
            CHOSEN + 0.5,
            "r.npy is not a routing: it must hold expert numbers, not 0.5 in row 1, column 1",
        ),
        ("r.csv", "0,1\n2,-1\n", "r.csv is not a routing: it sends token 1 to expert -1"),
        ("r.csv", "0,1\n2,2\n", "r.csv is not a routing: it sends token 1 to expert 2 twice"),
    ],
)
def test_mistakes(here, name, content, sentence):
    if isinstance(content, bytes):
        (here / name).write_bytes(content)
    elif content is not None:
        write(here / name, content)
    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        routing.read(here.joinpath(name).relative_to(here))


def layers() -> Iterator[Any]:
    for name in ("moe", "moe_swiglu", "decoder"):
        yield pytest.param(program.find(name), id=name)


@pytest.mark.parametrize("layer", [*layers()])
@pytest.mark.parametrize(
    ("routing", "sizes", "sentence"),
    [
        ([[0, 1], [2, 2]], {}, r"can't take the routing: it sends token 1 to expert 2 twice, of"),
        ([[0, 1], [0, 4]], {}, "it sends token 1 to expert 4, of the experts 0 to 3"),
        ([[0, 1], [0, -1]], {}, "it sends token 1 to expert -1, of the experts 0 to 3"),
        ([[0, 1]], {}, r"needs a routing of 2 tokens to 2 experts each, not of shape \[1, 2\]"),
        ([[0, 1], [0, 0.5]], {}, "needs a routing of expert numbers, not 0.5 in row 2, column 2"),
        (None, {"top": 5}, "5"),
        (None, {"top": 0}, "0"),
        (None, {"tokens": 0}, "0"),
        (None, {"tokens": -1}, "-1"),
    ],
)
def test_programs_check_routings_as_files_are(layer, routing, sizes, sentence) -> None:
    """An expert that was named twice shifted the rows of the others."""
    decodes = layer.__name__ == "decoder"
    given = {"tokens": 2, "experts": 4, "top": 2, **sizes}
    if decodes:
        given["batch"] = given.pop("tokens")
        given |= {"stdev": 1, "lengths": [3, 3]} if given["batch"] == 2 else {}
    given["routing"] = None if routing is None else np.array(routing)
    with pytest.raises(StepError, match=sentence):
        layer(**given)
