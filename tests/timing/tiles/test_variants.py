"""Machines with fields changed, and machines from files."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from stepgen.ir.errors import StepError
from stepgen.ir.policy import PUBLISHED
from stepgen.timing.tiles import variants
from stepgen.timing.tiles.dram_timings import DDR4_3200
from stepgen.timing.tiles.machines import SDA, SDA_HBM2


def test_fields_of_all_kinds():
    texts = {
        "memory.channels": "16",
        "memory.rows_apart": "true",
        "compute.of_functions.matmul": "77",
        "compute.fixed.count": "3",
        "policy": "published",
        "policy.buffering": "2",
    }
    machine = variants.changed(SDA, variants.parsed(texts))
    assert machine.memory == dataclasses.replace(SDA.memory, channels=16, rows_apart=True)
    assert machine.compute.of("matmul") == 77
    assert machine.compute.of("mul") == SDA.compute.flops
    assert machine.compute.fixed == SDA.compute.fixed | {"count": 3}
    assert machine.policy == dataclasses.replace(PUBLISHED, buffering=2)
    assert SDA.compute.of("matmul") == SDA.compute.flops
    dram = variants.changed(SDA_HBM2, {"memory.timings.cl": 23, "memory.timings": "DDR4-3200"})
    assert dram.memory.timings == dataclasses.replace(DDR4_3200, cl=23)


def test_fields_that_only_fit_together():
    changes = {"memory.burst_bytes": 192, "memory.request_bytes": 192, "memory.interleave": 768}
    with pytest.raises(StepError, match="does not divide"):
        variants.changed(SDA_HBM2, dict(list(changes.items())[:1]))
    more = {"memory.row_bytes": 3072}
    assert variants.changed(SDA_HBM2, changes | more).memory.burst_bytes == 192


def test_a_file_is_a_machine(tmp_path):
    path = tmp_path / "wide.json"
    path.write_text(json.dumps({"like": "sda", "memory.channels": 64, "compute.flops": 8192}))
    machine = variants.find(str(path))
    assert (machine.name, machine.memory.channels, machine.compute.flops) == ("wide", 64, 8192)
    description = variants.described(path)
    same = variants.variant(description.like, description.changes)
    assert dataclasses.replace(same, name="wide") == machine
    assert variants.find("sda") is SDA
    path.write_text(json.dumps({"like": "sda", "name": "mine"}))
    assert variants.find(str(path)) == dataclasses.replace(SDA, name="mine")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "m.json is not a machine: Expecting .*"),
        ("[]", "m.json is not a machine: it must hold one JSON object"),
        ("{}", 'm.json is not a machine: it lacks "like", .*'),
        ('{"like": 3}', "m.json is not a machine: like must be a name, not 3"),
        ('{"like": "sda", "like": "sda"}', "m.json is not a machine: 'like' is there twice"),
        ('{"like": "moon"}', "m.json: there is no machine 'moon', only sda, .*"),
        ('{"like": "sda", "flops": 1}', "m.json: machine sda has no field 'flops', it has .*"),
        ('{"like": "sda", "fifo_depth": 2.5}', ".*sda.fifo_depth must be a whole .*, not 2.5"),
        ('{"like": "sda", "fifo_depth": 0}', ".*sda.fifo_depth must be .* from 1 to .*, not 0"),
        (
            '{"like": "sda", "fifo_depth": 65537}',
            ".*fifo_depth must be .* to 65536, or unbounded, not 65537",
        ),
        ('{"like": "sda", "fifo_depth": "deep"}', ".* from 1 to 65536, or unbounded, not 'deep'"),
        ('{"like": "sda", "fifo_depth": null}', ".* to 65536, or unbounded, not null"),
        ('{"like": "sda", "onchip_bandwidth": "unbounded"}', ".* to 1073741824, not 'unbounded'"),
        ('{"like": "sda", "fifo_depth": true}', ".*sda.fifo_depth must be .*, not true"),
        ('{"like": "sda", "fifo_depth.a": 1}', ".*sda.fifo_depth is 2 and has no field 'a'"),
        ('{"like": "sda", "loads_add_up": 1}', ".*loads_add_up must be true or false, not 1"),
        ('{"like": "sda", "policy": "cheap"}', ".*policy must be one of paper, published, not .*"),
        ('{"like": "sda", "memory": "dram"}', ".*sda.memory has fields of its own, .*"),
        ('{"like": "sda", "compute.fixed.mull": 1}', ".*there is no function 'mull'"),
        ('{"like": "sda-hbm2", "memory.turn": 3}', "m.json: DRAM: .*"),
        ('{"like": "sda-hbm2", "memory.timings.name": 3}', ".*name must be a name, not 3"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, monkeypatch, text, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(StepError) as caught:
        variants.find("m.json")
    assert re.fullmatch(sentence, str(caught.value))


def test_fifos_may_be_unbounded(tmp_path):
    (tmp_path / "m.json").write_text('{"like": "sda", "fifo_depth": "unbounded"}')
    found = variants.find(str(tmp_path / "m.json"))
    assert found == dataclasses.replace(SDA, name="m", fifo_depth="unbounded")
    texts = variants.parsed({"fifo_depth": "unbounded"})
    assert variants.changed(SDA, texts).fifo_depth == "unbounded"
    assert variants.changed(found, {"fifo_depth": 3}).fifo_depth == 3


def test_a_file_that_is_not_there():
    with pytest.raises(StepError, match=r"can't read the machine nix\.json: No such"):
        variants.find("nix.json")
