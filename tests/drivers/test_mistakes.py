"""A stimulus that does not fit is refused, and not converted."""

from __future__ import annotations

import numpy as np
import pytest

from stepgen.drivers.beats import Port, bits_of
from stepgen.drivers.files import renew
from stepgen.drivers.tensors import Tensor


@pytest.mark.parametrize(
    ("element", "bits", "values"),
    [
        ("int8", 8, [1.5]),
        ("int8", 8, [128]),
        ("int8", 8, [-129]),
        ("int8", 8, [float("nan")]),
        ("int32", 32, [1 << 31]),
        ("bool", 1, [2]),
        ("bool", 1, [-1]),
    ],
)
def test_numbers_beyond_a_type_are_reported(element, bits, values):
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=f"{element} are whole"):
        bits_of(np.array(values), element, bits)


def test_numbers_of_another_type_that_fit_are_taken():
    assert bits_of(np.array([-128.0, 127.0]), "int8", 8).tolist() == [128, 127]
    assert bits_of(np.array([0, 1]), "bool", 1).tolist() == [0, 1]


@pytest.mark.parametrize(("rows", "said"), [(2, "fewer values"), (4, "more values")])
def test_values_and_stops_go_together(rows, said):
    port = Port("x", "x", "int8", 4, 8, 2, 32)
    stream = {"values": np.zeros((rows, 1, 4), np.int8), "stops": np.array([0, 0, 1])}
    with pytest.raises(ValueError, match=f"x has {said} than stops"):
        port.beats(stream)


def test_a_matrix_has_its_shape():
    with pytest.raises(ValueError, match=r"w is a matrix of 4 x 2, not \(2, 4\)"):
        Tensor("w", "int8", 0, 4, 2, (2, 2)).pack(np.zeros((2, 4), np.int8))


def test_a_golden_script_that_does_not_apply_says_so(tmp_path):
    np.savez(tmp_path / "stimulus.npz", x=np.zeros(3))
    with pytest.raises(SystemExit, match="does not compute this stimulus"):
        renew(tmp_path, lambda stimulus: None)
