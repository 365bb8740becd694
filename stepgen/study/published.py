"""Numbers that the paper's figures plotted, from its text and its public artifact.

Cycles are those of the published simulator, memory and traffic are bytes as it counts them (loads 2
and tiles on chip 4 bytes per element, single-buffered). ``seconds`` is how long a point took there.
"""

from __future__ import annotations

from collections.abc import Mapping

Numbers = Mapping[str, float]

SWIGLU: Mapping[tuple[int, int], Numbers] = {
    (16, 16): {
        "traffic": 8454144, "memory_allocated": 100352, "cycles": 33289, "hdl_cycles": 36259,
    },
    (16, 64): {
        "traffic": 6881280, "memory_allocated": 253952, "cycles": 27503, "hdl_cycles": 27859,
    },
    (16, 256): {
        "traffic": 6488064, "memory_allocated": 868352, "cycles": 27509, "hdl_cycles": 25998,
    },
    (64, 64): {
        "traffic": 2162688, "memory_allocated": 425984, "cycles": 9537, "hdl_cycles": 9700,
    },
}  # fmt: skip
"""Figure 8, by rows of a batch tile and columns of an inner tile."""

DYNAMIC = "dynamic"

MOE: Mapping[tuple[str, int, int | str], Numbers] = {
    ("mixtral", 64, 8): {"traffic": 7048003840, "memory_allocated": 15769602, "cycles": 7.42e6},
    ("mixtral", 64, 16): {
        "traffic": 4229431552, "memory_allocated": 18915330, "cycles": 4644999, "seconds": 2719,
    },
    ("mixtral", 64, 64): {
        "traffic": 2820145408, "memory_allocated": 37789698, "cycles": 2813010, "seconds": 1934,
    },
    ("mixtral", 64, DYNAMIC): {
        "traffic": 2820145408, "memory_allocated": 18915330, "cycles": 2782672, "seconds": 2043,
    },
    ("qwen", 64, 16): {
        "traffic": 680264704, "memory_allocated": 151015426, "cycles": 712164, "seconds": 2242,
    },
    ("qwen", 64, 64): {
        "traffic": 567018496, "memory_allocated": 302010370, "cycles": 577007, "seconds": 1911,
    },
    ("qwen", 64, DYNAMIC): {
        "traffic": 567018496, "memory_allocated": 59789314, "cycles": 580999, "seconds": 1942,
    },
    ("mixtral", 1024, 256): {
        "traffic": 3900706816, "memory_allocated": 113287170, "cycles": 14870882, "seconds": 5449,
    },
    ("mixtral", 1024, 1024): {
        "traffic": 2843742208, "memory_allocated": 415277058, "cycles": 29803436, "seconds": 9608,
    },
    ("mixtral", 1024, DYNAMIC): {
        "traffic": 2843742208, "memory_allocated": 113287170, "cycles": 7942058, "seconds": 2960,
    },
    ("qwen", 1024, 256): {
        "traffic": 928006144, "memory_allocated": 905990146, "cycles": 1335125, "seconds": 3806,
    },
    ("qwen", 1024, 1024): {
        "traffic": 795885568, "memory_allocated": 3321909250, "cycles": 1154880, "seconds": 2630,
    },
    ("qwen", 1024, DYNAMIC): {
        "traffic": 795885568, "memory_allocated": 266620930, "cycles": 1051196, "seconds": 3514,
    },
}  # fmt: skip
"""Figures 9, 10, 19 and 20, by model, tokens and rows of a tile: the public tables, made with FIFOs
of depth 2. For Qwen with 1024 tokens they count no memory for the 45 experts without tokens with
static tiles either; the figure counts it, and so does what is here. Figure 10 plots Qwen from runs
with unbounded FIFOs, whose cycles were not published as numbers."""

COUNTS: Mapping[tuple[str, int], tuple[int, ...]] = {
    ("mixtral", 1024): (236, 219, 279, 215, 164, 414, 301, 220),
    ("qwen", 1024): (
        0, 1, 0, 0, 11, 0, 5, 326, 88, 201, 0, 304, 34, 25, 50, 335, 45, 363, 617, 0, 203, 0, 1, 1,
        42, 2, 12, 4, 1, 76, 101, 0, 0, 41, 0, 2, 2, 32, 0, 30, 74, 1, 3, 204, 22, 697, 0, 1, 0, 0,
        37, 42, 9, 4, 0, 175, 0, 66, 9, 0, 40, 0, 1, 0, 0, 100, 1, 0, 0, 0, 1, 0, 17, 406, 0, 201,
        6, 116, 275, 94, 73, 1, 1, 814, 107, 0, 0, 0, 0, 6, 1, 5, 0, 1, 20, 0, 0, 0, 7, 0, 4, 4,
        403, 29, 0, 4, 0, 0, 60, 10, 22, 5, 0, 0, 30, 228, 0, 231, 0, 95, 0, 77, 0, 188, 147, 0, 0,
        62,
    ),
}  # fmt: skip
"""Tokens of each expert in routings that are not at hand, by model and tokens. They decide traffic
and memory, and nearly decide cycles."""

SILU_TOO_OFTEN = 14 * 2048 * 768 + 768, 6 * 2048 * 768 + 9 * 768
"""FLOPs of one row in one expert of Qwen3-30B-A3B, as published and as they are: the published
count charges SiLU once for every column of the model."""

_REGIONS: Mapping[tuple[str, int], tuple[int, int, int, float, int]] = {
    ("static", 128): (789895, 787456, 82595842, 6.91, 2391),
    ("static", 64): (715519, 459776, 66998274, 13.07, 1941),
    ("static", 32): (796725, 295936, 44716034, 18.23, 1314),
    ("static", 16): (839090, 214016, 32460802, 23.94, 790),
    ("static", 8): (1004877, 173056, 24662018, 24.72, 508),
    ("static", 4): (1888072, 152576, 20205570, 14.92, 678),
    ("dynamic", 128): (713539, 786432, 47992834, 2.01, 2445),
    ("dynamic", 64): (704732, 459776, 0, 3.48, 1962),
    ("dynamic", 32): (754098, 295936, 0, 5.05, 1382),
    ("dynamic", 16): (769760, 214016, 0, 6.84, 918),
    ("dynamic", 8): (796622, 173056, 0, 8.18, 464),
    ("dynamic", 4): (1280865, 152576, 0, 5.77, 542),
    ("dynamic", 2): (2189778, 142336, 0, 3.62, 791),
}
"""Cycles, FLOPs per cycle, bytes on chip (0: not published), utilization in %, seconds."""


def time_multiplexing(tiling: str, regions: int) -> Numbers:
    """Figures 12 and 13: Qwen3-30B-A3B, 64 tokens, static tiles of 32 rows or dynamic ones.

    ``memory_used`` is what the artifact's tables have, without experts and regions that get no
    token. ``compute_occupancy`` is the published utilization, which counts padding as work, without
    the FLOPs of SiLU that were charged too often, as a share.
    """
    if (tiling, regions) not in _REGIONS:
        return {}
    cycles, compute, memory, percent, seconds = _REGIONS[tiling, regions]
    charged, real = SILU_TOO_OFTEN
    known = {
        "cycles": cycles,
        "compute_allocated": compute,
        "compute_occupancy": percent / 100 * real / charged,
        "traffic": 576455680 if tiling == "static" else 567018496,
        "seconds": seconds,
    }
    return known | ({"memory_used": memory} if memory else {})


SCHEDULES = ("coarse", "interleaved", "dynamic")

ATTENTION: Mapping[tuple[int, int, int], tuple[int, int, int]] = {
    (16, 1456, 2805): (74622, 32424, 26043),
    (16, 1455, 821): (56500, 27325, 15218),
    (16, 1454, 985): (54450, 25687, 14752),
    (16, 987, 3349): (52236, 20361, 17494),
    (16, 987, 3275): (56008, 23227, 18398),
    (16, 986, 3181): (60026, 25042, 16433),
    (16, 480, 3799): (42970, 15361, 11641),
    (16, 479, 2477): (41084, 12416, 13482),
    (16, 479, 1063): (31900, 10105, 9455),
    (64, 1457, 961): (95860, 101499, 64554),
    (64, 1374, 3239): (64548, 98375, 67025),
    (64, 1370, 1727): (75526, 107580, 68970),
    (64, 996, 4007): (70210, 64362, 49094),
    (64, 995, 3123): (66610, 79782, 57669),
    (64, 995, 733): (52164, 66244, 42671),
    (64, 508, 2019): (56188, 54448, 46770),
    (64, 484, 4185): (48710, 48789, 42624),
    (64, 477, 271): (43392, 50172, 39962),
    (80, 1413, 981): (146206, 128165, 82225),
    (80, 1334, 3227): (107668, 119544, 77995),
    (80, 1310, 815): (136864, 120230, 75468),
    (80, 987, 4687): (96273, 95869, 65553),
    (80, 986, 3989): (130217, 86011, 64900),
    (80, 987, 1891): (113488, 113420, 72531),
    (80, 562, 4181): (88483, 70379, 54984),
    (80, 531, 135): (75528, 63086, 50743),
    (80, 529, 2025): (83397, 70126, 58433),
}
"""Figures 14, 15 and 21: cycles of the three `SCHEDULES`, by batch, standard deviation of the
lengths, and number of the first request. Three batches each of high, medium and low variation."""

VARIATIONS = ("high", "med", "low")


def batches(size: int) -> list[tuple[str, int, int]]:
    """Variation, standard deviation and first request of the nine batches of a size."""
    found = [(stdev, first) for batch, stdev, first in ATTENTION if batch == size]
    return [(VARIATIONS[i // 3], *which) for i, which in enumerate(found)]


STREAMTENSOR: Mapping[tuple[str, int], Numbers] = {
    ("gpt2", 32): {"latency_ms": 194.99, "first_ms": 34.59, "tokens_per_second": 199.51},
    ("gpt2", 256): {"latency_ms": 1387.76, "first_ms": 272.85, "tokens_per_second": 229.61},
}
"""GPT-2 medium, W4A8, measured on a U55C (StreamTensor, MICRO 2025), by the tokens of
the prompt, as many as follow: milliseconds in all, until the first token, and tokens a second."""

ACTIVATIONS = (14.8, 16.8)
"""Percent of the activation memory that is left after fusion, least and most of four models
(StreamTensor, MICRO 2025)."""

COMPILE_SECONDS = (27, 63)
"""Seconds from a model to what the vendor's tools take, least and most of four models
(StreamTensor, MICRO 2025)."""
