"""The output of ``stepgen simulate``."""

from __future__ import annotations

import json
import re

import pytest

from stepgen.cli.app import execute

MOE = "moe_swiglu --set tokens=12"


def test_a_program_for_people(stepgen, here):
    said = stepgen("simulate swiglu --timeline t.png --perfetto t.json")
    assert said.code == 0
    assert re.search(r"^ +accum_0 +accum matmul +9\d\.\d % ", said.out, re.MULTILINE)
    assert re.search(r"^[\d,]+ cycles on sda$", said.out, re.MULTILINE)
    assert "off-chip 3,473,408 bytes, as by formula (accounting model paper)" in said.out
    assert "written to t.png" in said.out
    steps = [line for line in said.err.splitlines() if not line.endswith("so far")]
    assert steps == ["building the program", "simulating"]
    assert (here / "t.png").read_bytes()[:4] == b"\x89PNG"
    events = json.loads((here / "t.json").read_text())["traceEvents"]
    names = [e["args"]["name"] for e in events if e["ph"] == "M"]
    assert names[0] == "swiglu on sda"
    assert "accum_0 matmul" in names


def test_a_program_for_machines(stepgen):
    data = stepgen(f"simulate {MOE} --json").json
    assert data["machine"] == "sda"
    moved = data["off_chip_bytes"]
    assert moved["moved"] == moved["symbolic"] > 0
    assert data["on_chip_bytes"]["peak"] > 0
    assert data["flops"]["useful"] > 0 == data["flops"]["padding"]
    assert set(data["choices"]) == {"reassemble_0"}
    operators = {o["operator"]: o for o in data["operators"]}
    for o in operators.values():
        assert o["busy"] + o["starved"] + o["full"] == data["cycles"]
    assert sum(o["off_chip_bytes"] for o in operators.values()) == moved["moved"]
    assert sum(o["on_chip_bytes"] for o in operators.values()) == data["on_chip_bytes"]["given"]
    shares = [o["busy_share"] for o in data["operators"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < data["bandwidth_utilization"] < 1
    given = data["flops_per_cycle"] * data["cycles"]
    assert data["compute_utilization"] == data["flops"]["useful"] / given


def test_many_operators_are_shown_by_kind(stepgen):
    few = stepgen(f"simulate {MOE}").out
    assert "Kinds of operators" in few
    assert len(re.findall(r"map matmul", few)) == 1
    every = stepgen(f"simulate {MOE} --all").out
    assert len(re.findall(r"map matmul", every)) == 8
    assert "left out" not in every
    top = stepgen(f"simulate {MOE} --top 3").out
    assert re.search(r"Operators, \d+ less busy ones left out", top)
    assert len(re.findall(r" %  ", top)) <= 3 * 3


def test_machines_and_changes_matter(stepgen, here):
    (here / "slow.json").write_text('{"like": "sda", "memory.latency": 500}')

    def cycles(options: str) -> int:
        return stepgen(f"simulate swiglu --json {options}").json["cycles"]

    base = cycles("--set tile_batch=64")
    assert cycles("--set tile_batch=64 --machine slow.json") > base
    assert cycles("--set tile_batch=64 --machine sda-published") > base
    assert cycles("--set tile_batch=64 --change compute.flops=1024") > base
    few = "--set tile_batch=64 --change memory.channels=2"
    assert cycles(few) > base
    assert cycles(f"{few} --change memory.interval=1") < cycles(few)
    data = stepgen("simulate swiglu --machine slow.json --change fifo_depth=3 --json").json
    assert data["machine"] == "slow with fifo_depth=3"


def test_transforms_are_applied_in_order(stepgen):
    static = f"simulate {MOE} --json --set tiling=static --set tile=4"
    both = "--transform dynamic_tiling --transform time_multiplex:regions=2"
    base = stepgen(static).json
    new = stepgen(f"{static} {both}").json
    loads = [o["kind"] for o in new["operators"] if o["kind"].endswith("offchip_load")]
    assert loads.count("random_offchip_load") == 6
    assert base["flops"]["padding"] > new["flops"]["padding"] == 0
    assert base["off_chip_bytes"]["moved"] > new["off_chip_bytes"]["moved"]


def test_dims_decided_while_it_runs_are_counted(stepgen):
    said = stepgen("simulate attention --set batch=4 --transform parallelize:regions=2 --json").json
    assert said["off_chip_bytes"]["symbolic"] == said["off_chip_bytes"]["moved"]
    assert set(said["choices"]) >= {"regions_done"}


def test_routing_lengths_and_inputs(stepgen, here):
    (here / "n.csv").write_text("40\n3\n")
    few = stepgen("simulate attention --lengths n.csv --json").json
    (here / "n.csv").write_text("40\n90\n")
    more = stepgen("simulate attention --lengths n.csv --json").json
    assert more["off_chip_bytes"]["moved"] > few["off_chip_bytes"]["moved"]
    # Streams of a program that returns none are drawn; tensors are not needed.
    assert stepgen("simulate p.py:layer --json").json["off_chip_bytes"]["moved"] == 32 + 3 * 4


def test_routing_that_is_computed_is_timed(stepgen):
    """The router's weights are drawn, and the depth that a deadlock names frees the run."""
    line = "simulate moe_swiglu --set gate=top_k --json"
    found = re.search(r"; a depth of (\d+) for each of ", stepgen(line).json["error"])
    assert found
    said = stepgen(f"{line} --change fifo_depth={found[1]}")
    assert said.code == 0, said.err
    assert said.json["off_chip_bytes"]["symbolic"] == said.json["off_chip_bytes"]["moved"]
    chosen = said.json["choices"]["reassemble_0"]
    assert len(chosen) == 2 * 64
    assert set(chosen) == {0, 1, 2, 3}


def test_a_policy_of_ones_own_has_no_formula(stepgen):
    said = stepgen("simulate swiglu --change policy.buffering=3")
    assert "bytes; there is no formula for the machine's accounting model" in said.out


def test_unbounded_fifos(stepgen):
    def peak(options):
        return stepgen(f"simulate swiglu --json {options}").json["on_chip_bytes"]["peak"]

    shallow, all_, one = map(peak, ("", "--change fifo_depth=unbounded", "--depth x.0=unbounded"))
    assert shallow < one < all_
    said = stepgen("simulate swiglu --change fifo_depth=unbounded")
    assert "cycles on sda with fifo_depth=unbounded" in said.out


def test_a_machine_file_is_shown(stepgen, here):
    (here / "wide.json").write_text('{"like": "sda", "memory.channels": 64}')
    data = stepgen("machine wide.json --json").json
    assert data["machine"]["name"] == "wide"
    assert data["machine"]["memory"]["channels"] == 64
    assert data["peak"] == 2048


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("swiglu --machine moon", "there is no machine 'moon', only sda, .*"),
        ("swiglu --machine nix.json", "can't read the machine nix.json: No such .*"),
        ("swiglu --machine p.py", "there is no machine 'p.py', only .*"),
        ("swiglu --change flops=1", "machine sda has no field 'flops', it has .*"),
        ("swiglu --change fifo_depth", "--change takes name=value, not 'fifo_depth'"),
        ("swiglu --change fifo_depth=many", "machine sda.fifo_depth must be .*, not 'many'"),
        ("swiglu --depth nix=3", "program swiglu has no FIFO 'nix', but .*"),
        ("swiglu --depth x=3.5", "--depth x takes a number of elements or unbounded, .*"),
        ("swiglu --depth map_0.0=0", "the FIFO map_0.0 must hold at least 1 element, not 0"),
        ("swiglu --depth map_0.0=9000000000000000", "there is not enough memory to time swiglu .*"),
        ("swiglu --top 0", "Invalid value for '--top': .*"),
        ("swiglu --timeline t.doc", "--timeline is a file that ends in .*, not t.doc"),
        ("swiglu --transform bake", "there is no transform 'bake', only capped_tiling, .*"),
        ("swiglu --transform static_tiling:tile=x", "static_tiling needs tile to be .*, not 'x'"),
        (
            "swiglu --transform time_multiplex",
            "time_multiplex needs a value for regions: add --transform time_multiplex:regions=...",
        ),
        (
            "swiglu --transform parallelize:region=2",
            "parallelize has no parameter 'region', it has regions, how, .*",
        ),
        ("swiglu --transform time_multiplex:regions=2", "time_multiplex finds no branches .*"),
    ],
)
def test_mistakes(stepgen, here, line, sentence):
    said = stepgen(f"simulate {line}")
    assert (said.code, said.out) == (2, "")
    *progress, last = said.err.splitlines()
    assert re.fullmatch(f"stepgen: {sentence}", last)
    assert len(progress) <= 2
    assert [p.name for p in here.iterdir() if p.suffix != ".py" and p.is_file()] == []


def test_a_deadlock_is_explained(here, capsys):
    """With the depth that the message names the program runs to its end."""

    def depth(number: int) -> int:
        fifo = f"route.0 to reassemble_0={number}"
        return execute(["simulate", *MOE.split(), "--json", "--depth", fifo])

    assert depth(2) == 2
    last = json.loads(capsys.readouterr().out)["error"]
    assert "moe_swiglu_dynamic on sda deadlocks in cycle " in last
    assert last.endswith("; a depth of 12 for route.0 to reassemble_0 frees it")
    assert (depth(11), depth(12)) == (2, 0)
