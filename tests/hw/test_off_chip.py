import numpy as np
import pytest
from drawn import Draw
from off_chip import OffChip

from stepgen.compile.design import Bus, Channel


def drawn_bus(draw: Draw) -> Bus:
    return Bus(draw.one((32, 64, 128)), 32, draw.one((1, 2, 4, 16)), draw.one((1, 2, 8)))


def drawn_ref(draw: Draw):
    """A nested reference of tiles or of flags; returns it with its element level and wire rank."""
    outer = draw.one((0, 1, 2))
    dims = [(0, 1, 2, 3), (0, 1, 2, 2), (0, 1, 2)][: outer + 1]
    if draw.one((True, False)):
        return draw.nested(dims, lambda: draw.tile(draw.one((0, 1, 3)), 2)), 2, 2 + outer
    return draw.nested(dims, draw.beat), 0, outer


def drawn_load(draw: Draw, design: OffChip, name: str):
    if draw.one((True, False)):
        return design.load(name)
    return design.load(name, *drawn_ref(draw), ahead=draw.one((2, 8)))


@pytest.mark.parametrize("seed", range(16))
def test_load(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    _, nested, dtype = drawn_load(draw, design, "y")
    design.sink("y", nested, dtype)
    design.verify(design.timing(), design.stalls())


@pytest.mark.parametrize("seed", range(16))
def test_store(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    dtype = draw.one((np.int8, np.int32))
    lanes, bits = draw.one((2, 4, 8)), np.dtype(dtype).itemsize * 8

    def beat():
        return draw.rng.integers(-128, 128, lanes).astype(dtype)

    slices = draw.one((1, 2, 3))

    def tile():
        return [[beat() for _ in range(slices)] for _ in range(draw.one((0, 1, 2, 5)))]

    outer = draw.one((0, 1))
    nested = draw.nested([(0, 1, 3, 6)] + [(0, 1, 2)] * outer, tile)
    channel = Channel("x", lanes, bits, 2 + outer, draw.one((2, 3, 70)))
    design.source("x", channel, nested, dtype)
    design.store("t", channel, nested, dtype, spare=draw.one((0, 0, 4)))
    design.verify(design.timing(), design.stalls())


@pytest.mark.parametrize("seed", range(12))
def test_several(seed):
    draw = Draw(seed)
    design = OffChip(draw, drawn_bus(draw))
    for k in range(draw.one((1, 2, 3))):
        channel, nested, dtype = drawn_load(draw, design, f"y{k}")
        if draw.one((True, False)):
            design.store(f"t{k}", channel, nested, dtype)
        else:
            design.sink(f"y{k}", nested, dtype)
    design.verify(design.timing(), design.stalls())
