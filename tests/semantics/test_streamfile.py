from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.drawn import floats, tile
from semantics.programs import scalars
from stepgen.semantics import numbers
from stepgen.semantics.streamfile import load, save
from stepgen.semantics.tokens import END, Reference, bare, encode, value

few = settings(max_examples=30)


@few
@given(data=st.data())
def test_streams_come_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    element = data.draw(st.sampled_from([*numbers.DTYPES]))
    content = data.draw(scalars(rank))
    rng = np.random.default_rng(0)
    ragged = data.draw(st.booleans())

    def item(n: int) -> Any:
        size = (abs(n) if ragged else 2, 3)
        if element in numbers.MANTISSA:
            return numbers.canonical(floats(rng, size, element))
        return numbers.as_element(rng.integers(0, 2, size), element)

    tokens = encode(models.on_groups(content, rank, 0, item), rank)
    path = tmp_path_factory.mktemp("streams") / "x.npz"
    save(path, tokens, rank)
    assert load(path) == tokens
    assert load(path, rank) == tokens


@few
@given(content=scalars(1))
def test_selectors_and_tuples(tmp_path_factory: pytest.TempPathFactory, content: list[Any]) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("streams") / "x.npz"
    for make in (lambda n: np.arange(3) == n, lambda n: (tile(rng, 1, 2), np.arange(2) == n)):
        tokens = encode(models.on_groups(content, 1, 0, make), 1)
        save(path, tokens, 1)
        assert load(path, 1) == tokens


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    """numpy alone is enough, and what the reader knows can be left out."""
    path = tmp_path / "x.npz"
    np.savez(path, values=np.ones((2, 1, 4), np.int8), stops=[0, 1, 2], empties=[0, 0, 1])
    one = np.ones((1, 4), np.int8)
    assert load(path, 2) == [value(one), value(one, 1), bare(1, 2), END]
    np.savez(path, values=np.ones((1, 1, 4)), stops=[0])
    assert load(path, 0, "bf16") == [value(np.ones((1, 4), numbers.bfloat16)), END]


def test_what_is_written_is_readable_with_numpy(tmp_path: Path) -> None:
    save(tmp_path / "x", encode([[np.array([[1.5]], numbers.bfloat16)], []], 1), 1)
    with np.load(tmp_path / "x") as file:
        assert file["values"].tolist() == [[[1.5]]]
        assert file["stops"].tolist() == [1, 1]
        assert file["empties"].tolist() == [0, 1]
        assert str(file["element"]) == "bf16"
        assert int(file["rank"]) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"values": np.ones((1, 1, 1), np.int8)}, "lacks stops or values"),
        ({"stops": [0]}, "lacks stops or values"),
        ({"values": np.ones((2, 1, 1), np.int8), "stops": [0]}, "2 values for 1 tokens"),
        ({"values": np.ones((1, 1, 1), np.int8), "stops": [3]}, "stop level 3"),
        ({"values": np.ones((1, 1, 1), np.int8), "stops": [0], "rank": 2}, "of rank 2, not 1"),
        ({"values": np.ones((1, 1, 1), np.int8), "stops": [[1]]}, "must have 1 dims, not 2"),
        (
            {"values": np.ones(3, np.int8), "stops": [1], "shapes": [[1, 2]]},
            "do not cut 3 elements",
        ),
        (
            {"values": np.ones((1, 1, 1)), "stops": [1], "element": "f64"},
            "'f64' is not an element type",
        ),
        ({"values": np.ones((1, 1, 1)), "stops": [1], "element": "int3"}, "not an element type"),
        ({"values": np.full((1, 1, 1), 300), "stops": [1], "element": "int8"}, "300"),
    ],
)
def test_files_that_are_no_streams(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, **arrays)
    with pytest.raises(sg.StepError, match=message) as caught:
        load(path, 1)
    assert str(path) in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(sg.StepError, match=r"can't read the stream file .*No such file"):
        load(tmp_path / "none.npz", 0)
    (tmp_path / "text.npz").write_text("no zip")
    with pytest.raises(sg.StepError, match="is not a stream file"):
        load(tmp_path / "text.npz", 0)
    with pytest.raises(sg.StepError, match="can't write the stream file"):
        save(tmp_path / "nowhere" / "x.npz", [END], 0)
    np.savez(tmp_path / "x.npz", values=np.ones((1, 1, 1), np.int8), stops=[0])
    with pytest.raises(sg.StepError, match="has no rank"):
        load(tmp_path / "x.npz")


def test_an_earlier_file_is_unchanged_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save(path, encode([np.ones((1, 1), np.int8)], 0), 0)
    before = path.read_bytes()
    with pytest.raises(sg.StepError, match="exists only on chip"):
        save(path, [value(Reference((), 1)), END], 0)
    assert path.read_bytes() == before
