"""Points are plain data, and their key depends on all that decides the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgen.ir.errors import StepError
from stepgen.study.attention import row
from stepgen.study.evaluate import evaluate
from stepgen.study.point import PUBLISHED, Point, Trace, Transform
from stepgen.timing.tiles.machines import SDA
from stepgen.timing.tiles.variants import variant

ROUTING = Trace.of("r", "drawn", np.array([[0, 1], [1, 2]]))
POINT = Point(
    "moe_swiglu",
    {"tokens": 2, "tiling": "static"},
    {"routing": ROUTING},
    (Transform("time_multiplex", {"regions": 2}),),
    changes={"compute.flops": 1024},
)


def with_(**changes):
    return Point(**{**{f: getattr(POINT, f) for f in POINT.__dataclass_fields__}, **changes})


def test_a_point_survives_its_text():
    again = Point.parse(POINT.text)
    assert again.text == POINT.text
    assert again == POINT
    assert again.traces["routing"].array.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {"tokens": 2, "tiling": "dynamic"}},
        {"traces": {"routing": Trace.of("r", "drawn", np.array([[0, 1], [1, 3]]))}},
        {"transforms": ()},
        {"changes": {}},
        {"machine": "sda-published"},
    ],
)
def test_the_key_changes_with_what_decides_the_result(changes):
    assert with_(**changes).key != POINT.key


def test_the_key_does_not_depend_on_what_people_call_things():
    renamed = {"routing": Trace("other", "published", ROUTING.values)}
    assert with_(view="published", traces=renamed).key == POINT.key
    assert with_(options={"tiling": "static", "tokens": 2}).key == POINT.key


def test_the_origin_is_the_least_faithful_one():
    traces = {"a": Trace("a", "published", (1,)), "b": Trace("b", "drawn", (1,))}
    assert with_(traces=traces).origin == "drawn"
    assert with_(traces={}).origin == "published"


def test_a_variant_changes_the_named_fields_only():
    changed = variant("sda", {"compute.flops": 77, "memory.channels": 8, "fifo_depth": 1})
    assert (changed.compute.flops, changed.memory.channels, changed.fifo_depth) == (77, 8, 1)
    assert changed.compute.fixed == SDA.compute.fixed
    assert variant("sda", {}) == SDA


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("tpu", {}, "there is no machine 'tpu', only .*sda.*"),
        ("sda", {"flops": 1}, "machine sda has no field 'flops', it has .*"),
        ("sda", {"memory.banks_": 1}, "machine sda.memory has no field 'banks_', it has .*"),
    ],
)
def test_what_a_machine_lacks_is_named(name, changes, sentence):
    with pytest.raises(StepError, match=sentence):
        variant(name, changes)


@pytest.mark.parametrize(
    ("changes", "cycles"),
    [
        ({}, 11_811),
        ({"memory.interval": 1}, 11_790),
        ({"memory.triangular": False}, 11_790),
        ({"memory.latency": 19}, 11_931),
    ],
)
def test_attention_of_equal_lengths_hardly_waits_for_channels(changes, cycles):
    """The numbers in ``docs/machines.md``."""
    trace = Trace("equal", "drawn", (1024,) * 16)
    point = row(PUBLISHED, trace, "dynamic", {}).point
    assert evaluate(replace(point, changes={**point.changes, **changes}))["cycles"] == cycles
