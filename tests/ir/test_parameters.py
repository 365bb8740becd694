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
        (lambda: fn.requantize(0, 3), "requantize needs a multiplier of 1 to 32767, not 0"),
        (lambda: fn.requantize(shift=99), "requantize needs a shift of 0 to 31, not 99"),
        (lambda: fn.compare("<"), "compare needs one of lt, le, eq, ne, ge, gt, not '<'"),
        (lambda: fn.convert("int4"), "'int4' is no element type, those are int8, int32, bf16, f32"),
        (lambda: fn.convert(sg.bool_), "convert makes int8, int32, bf16, f32, not bool"),
        (
            lambda: fn.retile_streamify("tile"),
            'retile_streamify needs the axis "row" or "col", not',
        ),
        (lambda: fn.tile_addresses(0), "tile_addresses needs a count of at least 1, not 0"),
        (lambda: fn.shift_cols(0), "shift_cols needs to shift by at least 1, not 0"),
        (
            lambda: fn.mask_cols("x"),
            "mask_cols: value must be a number, not 'x'",
        ),
        (lambda: fn.row_broadcast(0), "row_broadcast needs at least 1 column, not 0"),
        (lambda: fn.matmul(1, 2), "matmul: too many positional arguments"),
        (
            lambda: fn.matmul(depth=2),
            "matmul: got an unexpected keyword argument 'depth'",
        ),
        (lambda: fn.scale(), "scale: missing a required argument: 'c'"),
        (lambda: sg.Selector(0), "a selector needs at least 1 consumer, not 0"),
        (lambda: sg.Selector(2, hot=3), "a selector over 2 consumers can't have 3 bits set"),
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
    assert re.sub(r" at test_parameters.py:\d+", "", str(caught.value)).startswith(sentence)
