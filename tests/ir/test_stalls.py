from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest

from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls, stalled
from stepgen.timing import compiled
from stepgen.timing.kernel import Memory, step

WORD = ctypes.c_int64


def stall_mask(key: int, threshold: int, start: int, count: int) -> npt.NDArray[np.bool_]:
    """Whether a channel stalls, for each of some cycles."""
    mask = stalled(key, threshold, np.arange(start, start + count, dtype=np.uint64))
    return np.asarray(mask)


@step
def stalls(M: Memory, a: int, t: int) -> int:
    return int(stalled(M[a], M[a + 1], t))


def test_scalar_vector_and_compiled_agree() -> None:
    code = ctypes.CFUNCTYPE(WORD, ctypes.c_void_p, WORD, WORD)(compiled.step(stalls))
    both = Stalls(7, {"x": 0.3, "y": 0.9})
    for name in ("x", "y"):
        key, threshold = both.of(name)
        for start in (0, 1 << 31, (1 << 32) - 100):
            mask = stall_mask(key, threshold, start, 200)
            assert mask.tolist() == [stalled(key, threshold, start + i) for i in range(200)]
            M = np.array([key, threshold])
            assert mask.tolist() == [code(M.ctypes.data, 0, start + i) for i in range(200)]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.97])
def test_share_of_stalled_cycles(share: float) -> None:
    mask = stall_mask(*Stalls(3, {"x": share}).of("x"), 0, 100_000)
    assert abs(mask.mean() - share) < 0.01
    # neighbours are independent: both stalled in share**2 of the cycles
    assert abs((mask[1:] & mask[:-1]).mean() - share**2) < 0.01


def test_names_and_seeds_stall_apart() -> None:
    masks = [
        stall_mask(*Stalls(seed, {"x": 0.5, "y": 0.5}).of(name), 0, 4096)
        for seed in (0, 1, 2**31)
        for name in ("x", "y")
    ]
    for i, a in enumerate(masks):
        for b in masks[:i]:
            assert abs((a ^ b).mean() - 0.5) < 0.05


def test_a_channel_that_always_stalls_is_refused() -> None:
    with pytest.raises(StepError, match=r"stalls: x must stall in a share of \[0, 1\) .* not 1"):
        Stalls(0, {"x": 1.0})


def test_memory_timing_names_the_setting() -> None:
    with pytest.raises(StepError, match="read_outstanding must be 1 to 64, not 65"):
        MemoryTiming(read_outstanding=65)
    with pytest.raises(StepError, match=r"write_interval must be 1 to .*, not 0"):
        MemoryTiming(write_interval=0)
