"""The memory of the drivers follows docs/memory-timing.md to the cycle."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from bus_cases import WORD, draw_requests
from bus_model import CHANNELS, Requests, predict

from stepgen.drivers.memory_timing import Burst, OpenBursts
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls, stalled


def moved(
    requests: Requests, timing: MemoryTiming, stalls: Stalls, limit: int
) -> dict[str, list[int]]:
    """Cycles of all handshakes of five streams with the memory of the drivers."""
    memory = OpenBursts(timing, WORD)
    waiting = {name: deque(getattr(requests, of)) for name, of in SOURCES.items()}
    held = dict.fromkeys(SOURCES, False)
    cycles: dict[str, list[int]] = {name: [] for name in CHANNELS}
    for now in range(limit):

        def stalls_now(name: str, t: int = now) -> bool:
            return stalled(*stalls.of(name), t)

        active = memory.active(now, lambda name: stalls_now(f"mem.{name}"))
        for name in CHANNELS:
            if name in SOURCES:
                held[name] |= bool(waiting[name]) and not stalls_now(name)
            if not active[name] or not (held[name] if name in SOURCES else not stalls_now(name)):
                continue
            cycles[name].append(now)
            if name in SOURCES:
                first, length = waiting[name].popleft()
                held[name] = False
            match name:
                case "ar":
                    memory.read_requested(now, Burst(first, length))
                case "aw":
                    memory.write_requested(Burst(first, length))
                case "r":
                    memory.word_read(now)
                case "w":
                    memory.word_written(now)
                case "b":
                    memory.answered()
    return cycles


SOURCES = {"ar": "reads", "aw": "writes", "w": "words"}


def test_every_handshake_by_the_rules() -> None:
    rng, words = np.random.default_rng(4), 0
    for _ in range(20):
        requests, timing, stalls = draw_requests(rng)
        seen = predict(requests, timing, stalls, 100_000).cycles
        end = max((times[-1] for times in seen.values() if times), default=0)
        assert moved(requests, timing, stalls, end + 1) == seen
        words += len(seen["r"])
    assert words > 300


@pytest.mark.parametrize(
    "setting",
    ["read_latency", "read_interval", "write_latency", "write_interval", "read_outstanding"],
)
def test_a_wrong_setting_is_seen(setting: str) -> None:
    timing = MemoryTiming(read_latency=9, read_outstanding=2)
    requests = Requests([(0, 2)] * 9, [(0, 2)] * 3, [(bytes(WORD), 255)] * 6, bytearray(4096), WORD)
    seen = predict(requests, timing, Stalls(), 1000).cycles
    end = max(times[-1] for times in seen.values())
    wrong = replace(timing, **{setting: getattr(timing, setting) + 1})
    assert moved(requests, timing, Stalls(), end + 1) == seen
    assert moved(requests, wrong, Stalls(), end + 1) != seen
