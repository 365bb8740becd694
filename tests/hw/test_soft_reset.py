"""After an aborted run no burst is in flight, and the design is as after a reset."""

import pytest
from drawn import Draw
from off_chip import OffChip
from seeds import some_slow

from stepgen.hw.design.table import Bus
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_slow([1, 0, *range(2, 12)], 1))
def test_at_drawn_moments(seed):
    """Several in a row, with bursts in flight and a stalled bus; then two runs to the cycle."""
    draw = Draw(seed)
    made = OffChip(draw, Bus(draw.one((32, 64)), 32, draw.one((2, 4, 16)), draw.one((1, 2, 8))))
    for k in range(draw.one((1, 2))):
        made.store(f"t{k}", *made.load(f"y{k}"))
    ref = draw.nested([(1, 2, 3), (0, 1, 2)], lambda: draw.tile(1, 2))
    made.sink("z", *made.load("z", ref, 2, 3)[1:])
    shares = {name: draw.one((0.0, 0.5, 0.9)) for name in (*MEMORY_CHANNELS, "s_z_ref")}
    timing = MemoryTiming(*(draw.one((1, 3, 9)) for _ in range(6)))
    made.verify(timing, Stalls(seed, shares), aborts=5)
