"""Functions and types check what they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import stepgen as sg

fn = sg.fn


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: fn.top_k(0), "top_k: k must be at least 1, not 0"),
        (lambda: fn.requantize(0, 3), "requantize: multiplier must be within 1..32767, not 0"),
        (lambda: fn.requantize(shift=99), "requantize: shift must be within 0..31, not 99"),
        (lambda: fn.compare("<"), "compare: op must be one of lt, le, eq, ne, ge, gt, not '<'"),
        (
            lambda: fn.convert("int4"),
            "convert: to must be an element type or one of int8, int16, int32, bf16, f32, "
            "address, not 'int4'",
        ),
        (lambda: fn.requantize(to=sg.int32), "requantize: it makes int8, int16, not int32"),
        (
            lambda: fn.requantize_by("int32"),
            "requantize_by: to must be an element type or one of int8",
        ),
        (
            lambda: fn.convert(sg.bool_),
            "convert: it makes int8, int16, int32, bf16, f32, address, not bool",
        ),
        (
            lambda: fn.retile_streamify("tile"),
            "retile_streamify: axis must be one of row, col, not 'tile'",
        ),
        (lambda: fn.cut_cols(0), "cut_cols: c must be at least 1, not 0"),
        (lambda: fn.tile_addresses(0), "tile_addresses: count must be at least 1, not 0"),
        (lambda: fn.shift_cols(0), "shift_cols: by must be at least 1, not 0"),
        (
            lambda: fn.mask_cols("x"),
            "mask_cols: value must be a number, not 'x'",
        ),
        (lambda: fn.row_broadcast(0), "row_broadcast: cols must be at least 1, not 0"),
        (lambda: fn.matmul(True, 2, 3), "matmul: too many positional arguments"),
        (
            lambda: fn.matmul(depth=2),
            "matmul: got an unexpected keyword argument 'depth'",
        ),
        (lambda: fn.scale(), "scale: missing a required argument: 'c'"),
        (lambda: sg.Selector(0), "a selector: it must have 1 to 16384 consumers, not 0"),
        (lambda: sg.Selector(2, hot=3), "a selector: of 2 consumers it can't choose 3"),
        (
            lambda: sg.int8[-1, 4],
            "a dim must be an integer of at least 0, not -1",
        ),
    ],
)
def test_parameters_are_checked_when_an_object_is_made(
    make: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(sg.StepError) as caught:
        make()
    said, lines = re.subn(r" at test_parameters.py:\d+", "", str(caught.value))
    assert said.startswith(sentence)
    assert lines == 1
