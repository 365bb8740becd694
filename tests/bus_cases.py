"""Drawn requests for the design ``bus_pass``, whose raw streams are the channels of the bus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bus_model import CHANNELS, Requests, predict

from stepgen.cosim.case import Case
from stepgen.cosim.payload import Rows
from stepgen.emit.interface import Interface, MemoryPort, StreamPort
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls

DESIGN = Path(__file__).parent / "designs" / "bus_pass.sv"
WORD, WORDS = 8, 512
WIDTHS = {"ar": 40, "r": 67, "aw": 40, "w": 73, "b": 2}
INTERFACE = Interface(
    "bus_pass",
    tuple(
        StreamPort(name, "out" if name in ("r", "b") else "in", 1, width, 0, width, raw=True)
        for name, width in WIDTHS.items()
    ),
    memory=MemoryPort(8 * WORD, 32, ((0, 1 << 16),)),
    control=False,
)


def rows(name: str, payloads: list[int]) -> Rows:
    """Payloads of a port from integers."""
    size = (WIDTHS[name] + 7) // 8
    data = b"".join(p.to_bytes(size, "little") for p in payloads)
    return np.frombuffer(data, np.uint8).reshape(-1, size)


def sources(requests: Requests) -> dict[str, Rows]:
    """The contents of the three source streams."""
    lasts = [i == n - 1 for _, n in requests.writes for i in range(n)]
    return {
        "ar": rows("ar", [(n - 1) << 32 | a for a, n in requests.reads]),
        "aw": rows("aw", [(n - 1) << 32 | a for a, n in requests.writes]),
        "w": rows(
            "w",
            [
                last << 72 | strobe << 64 | int.from_bytes(data, "little")
                for (data, strobe), last in zip(requests.words, lasts, strict=True)
            ],
        ),
    }


def draw_requests(rng: np.random.Generator) -> tuple[Requests, MemoryTiming, Stalls]:
    """Drawn requests, timing and stalls."""

    def pick(*values: float) -> float:
        return float(rng.choice(values))

    def bursts(count: int) -> list[tuple[int, int]]:
        lengths = rng.choice([1, 2, 3, 8, 16, 64], count)
        return [(WORD * int(rng.integers(0, WORDS - n + 1)), int(n)) for n in lengths]

    # no address crosses 4 KiB: the whole image is one such page
    reads, writes = bursts(int(rng.integers(0, 25))), bursts(int(rng.integers(0, 25)))
    words = [
        (rng.bytes(WORD), int(pick(255, 255, int(rng.integers(256)))))
        for _ in range(sum(n for _, n in writes))
    ]
    image = rng.integers(0, 256, WORD * WORDS, dtype=np.uint8)
    requests = Requests(reads, writes, words, bytearray(image.tobytes()), WORD)
    timing = MemoryTiming(
        read_latency=int(pick(1, 2, 3, 7, 40)),
        read_interval=int(pick(1, 1, 2, 5)),
        read_outstanding=int(pick(1, 2, 3, 64)),
        write_latency=int(pick(1, 2, 3, 9)),
        write_interval=int(pick(1, 1, 2, 5)),
        write_outstanding=int(pick(1, 2, 3, 64)),
    )
    stalls = Stalls(
        int(rng.integers(2**32)),
        {channel: pick(0, 0, 0.1, 0.5, 0.9) for channel in (*CHANNELS, *MEMORY_CHANNELS)},
    )
    return requests, timing, stalls


def draw(rng: np.random.Generator, name: str) -> Case:
    """A case with drawn requests, timing and stalls, and its results by the rules."""
    requests, timing, stalls = draw_requests(rng)
    image = np.frombuffer(bytes(requests.image), np.uint8)
    seen = predict(requests, timing, stalls, 100_000)
    cycles = {c: np.array(seen.cycles[c], np.int64) for c in CHANNELS}
    return Case(
        name,
        sources(requests),
        {
            "r": rows("r", [last << 66 | int.from_bytes(d, "little") for d, last in seen.read]),
            "b": rows("b", [0] * len(requests.writes)),
        },
        image,
        np.frombuffer(bytes(requests.image), np.uint8),
        timing,
        stalls,
        {f"port:{c}": cycles[c] for c in CHANNELS} | {f"mem.{c}": cycles[c] for c in CHANNELS},
        cycles=max((int(c[-1]) for c in cycles.values() if len(c)), default=-1) + 1,
        limit=100_000,
    )
