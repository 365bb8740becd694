"""Cap alone: circuit, cycle model and golden chunks on drawn streams."""

import numpy as np
import pytest
from drawn import LANES, Draw, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.units.cap.params import Cap


def cut(items, depth, chunk):
    """Lists nested `depth` deep, their innermost ones in chunks."""
    if depth > 1:
        return [cut(item, depth - 1, chunk) for item in items]
    return [items[n : n + chunk] for n in range(0, len(items), chunk)]


@pytest.mark.parametrize("seed", some_slow(range(40), 8))
def test_chunks(seed):
    draw = Draw(seed)
    outer, base, chunk = draw.one((0, 0, 1, 2)), draw.one((0, 2)), draw.one((1, 2, 3, 5))
    dims = [(0, 1, 3)] * outer + [(0, 1, 2, 3, 4, 5, 6, 10)]

    def element():
        return draw.tile(draw.one((0, 1, 2)), 2) if base else draw.flags(3, 0.5)

    items, dtype = draw.nested(dims, element), np.int8 if base else bool
    lanes, bits = (LANES, 8) if base else (3, 1)
    rank = outer + base
    x = draw.channel("x", rank, lanes=lanes, bits=bits)
    y = draw.channel("y", rank + 1, lanes=lanes, bits=bits)
    design = lone(Cap(base, chunk, outer == 0), [x], [y])
    verify(
        design,
        {"s_x": to_beats(items, rank, dtype)},
        {"d_y": to_beats(cut(items, outer + 1, chunk), rank + 1, dtype)},
        draw.stalls(design),
    )
