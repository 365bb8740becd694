"""The Python API beside the language: every argument with every hostile value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import hostile
import pytest
from hostile import refused
from programs import example

import stepgen as sg
from stepgen.compile import transforms
from stepgen.compile.lower import lower
from stepgen.cosim.case import Refusals
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus, Channel
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.ir.stalls import Stalls
from stepgen.program import tiles
from stepgen.program.inputs import complete
from stepgen.semantics import executor
from stepgen.timing.tiles import variants
from stepgen.timing.tiles.machines import named

SIZES = {"tokens": 4, "experts": 2, "top": 1, "width": 8, "hidden": 8, "columns": 8}


@pytest.fixture(scope="module")
def w() -> SimpleNamespace:
    """Programs with inputs, and a machine."""
    dynamic, given = example("moe").moe(**SIZES)
    static, _ = example("moe").moe(**SIZES, tiling="static", tile=2)
    g = sg.Graph("rows")
    x = g.input("x", sg.int32[1, 8], (4,))
    g.output(x.map(sg.fn.requantize(shift=1)), "y")
    merge = sg.Graph("merge")
    a, b = (merge.input(n, sg.int8[1, 8], (2,)) for n in "ab")
    for stream, name in zip(sg.eager_merge((a, b), rank=0), ("y", "order"), strict=True):
        merge.output(stream, name)
    return SimpleNamespace(
        dynamic=dynamic,
        static=static,
        given=complete(dynamic, given),
        rows=g,
        merge=merge,
        merged=complete(merge, {}),
        machine=named("sda"),
    )


def result() -> executor.Result:
    """What a run gave."""
    g = sg.Graph("result")
    x = g.input("x", sg.int8[1, 8], (2,))
    g.output(x, "y")
    return executor.run(g, complete(g, {}))


RESULT = result()

DOORS: dict[Callable[..., Any], Callable[[SimpleNamespace], dict[str, Any]]] = {
    transforms.capped_tiling: lambda w: {"program": w.static, "rows": 2},
    transforms.dynamic_tiling: lambda w: {"program": w.static},
    transforms.row_references: lambda w: {"program": w.dynamic, "partition": None},
    transforms.static_tiling: lambda w: {"program": w.dynamic, "tile": 2},
    transforms.insert_forks: lambda w: {"program": w.dynamic},
    transforms.time_multiplex: lambda w: {
        "program": w.dynamic,
        "regions": 1,
        "partition": None,
    },
    transforms.parallelize: lambda w: {
        "program": w.rows,
        "regions": 2,
        "how": "coarse",
        "requests": ["x"],
        "until": (),
        "done": None,
        "per_region": 1,
        "in_flight": 1,
        "routed": False,
    },
    lower: lambda w: {
        "graph": w.dynamic,
        "lanes": 4,
        "loaders": "shared",
        "bus": Bus(),
        "depths": {},
        "fuse": True,
        "onchip": 1000.0,
    },
    executor.run: lambda w: {
        "graph": w.merge,
        "inputs": w.merged,
        "lanes": 4,
        "choices": {"eager_merge_0": [0, 1, 0, 1]},
        "guesses": False,
    },
    tiles.simulate: lambda w: {
        "graph": w.dynamic,
        "inputs": w.given,
        "machine": w.machine,
        "depths": {},
        "limit": 10_000,
    },
    tiles.simulate_with_data: lambda w: {
        "graph": w.dynamic,
        "inputs": w.given,
        "machine": w.machine,
        "depths": {},
        "lanes": 4,
        "limit": 10_000,
    },
    RESULT.nested: lambda w: {"name": "x"},
    RESULT.beats: lambda w: {"name": "x", "lanes": 4},
    variants.variant: lambda w: {"name": "sda", "changes": {"fifo_depth": 4}},
    variants.changed: lambda w: {"machine": w.machine, "changes": {"fifo_depth": 4}},
    Bus: lambda w: {
        "data_bits": 64,
        "address_bits": 32,
        "burst": 16,
        "outstanding": 8,
        "latency": 9,
    },
    Channel: lambda w: {
        "name": "c",
        "lanes": 4,
        "bits": 8,
        "rank": 2,
        "depth": 2,
        "delay": 0,
        "element": "int8",
        "tail": 3,
        "short": True,
        "value_bits": 6,
    },
    SdramTiming: lambda w: {
        "data_bits": 16,
        "column_bits": 9,
        "row_bits": 13,
        "cas": 3,
        "refi": 500,
        **dict.fromkeys(("rcd", "rp", "ras", "rc", "wr", "rfc", "mrd", "wake", "late"), 2),
    },
    MemoryTiming: lambda w: {name: 2 for name in inspect.signature(MemoryTiming).parameters},
    Stalls: lambda w: {"seed": 0, "probability": {"x": 0.5}, "late": {"x": 3}},
    Experiment: lambda w: {
        "graph": w.dynamic,
        "inputs": w.given,
        "lanes": 4,
        "loaders": "shared",
        "bus": Bus(),
        "depths": {},
        "fuse": True,
        "stops": False,
        "counters": "units",
        "onchip": 1000.0,
        "junk": False,
        "memory": MemoryTiming(),
        "stalls": Stalls(),
        "early": (),
        "aborts": (),
        "refusals": Refusals(),
        "max_cycles": 10_000,
        "built": None,
        "sdram": None,
    },
}
INSIDE = {
    tiles.simulate: "depths",
    tiles.simulate_with_data: "depths",
    lower: "depths",
    variants.variant: "changes",
    variants.changed: "changes",
    executor.run: "choices",
    Stalls: "probability",
}
"""Mappings whose values are walked too."""


def test_all_transforms_are_walked() -> None:
    walked = {door.__name__ for door in DOORS}
    assert {n for n in transforms.__all__ if n.islower()} <= walked


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_arguments(door: Callable[..., Any], w: SimpleNamespace) -> None:
    right = DOORS[door](w)
    door(**right)
    assert set(right) == set(inspect.signature(door).parameters)
    cases = [(key, what, value) for key in right for what, value in hostile.values().items()]
    if door in INSIDE:
        key = INSIDE[door]
        for name in right[key] or {"x": 0}:
            cases += [(key, what, {name: value}) for what, value in hostile.values().items()]
    for key, what, value in cases:
        try:
            made = door(**{**right, key: value})
            if door is Experiment:
                assert made.prediction
        except sg.StepError as error:
            refused(error)
        except Exception as error:
            error.add_note(f"with {key} = {what}")
            raise
