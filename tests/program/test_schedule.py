"""Transforms by name."""

from __future__ import annotations

import pytest

from stepgen.compile import transforms
from stepgen.ir import text
from stepgen.ir.errors import StepError
from stepgen.program import program, schedule

MOE = {"tokens": "6"}


def test_all_transforms_have_a_name():
    assert set(schedule.names()) == set(transforms.__all__) - {"Transformed"}


def test_nothing_to_do():
    moe = program.load("moe_swiglu", MOE, tensors=False)
    assert schedule.transformed(moe, []) is moe


def test_as_the_functions_do_it():
    moe = program.load("moe_swiglu", MOE, tensors=False)
    new = schedule.transformed(
        moe, ["time_multiplex:regions=2,partition=partition_0", "insert_forks"]
    )
    same = transforms.insert_forks(
        transforms.time_multiplex(moe.graph, regions=2, partition="partition_0")
    )
    assert text.dumps(new.graph) == text.dumps(same.graph)
    assert new.inputs.keys() == same.inputs(moe.inputs).keys()
    assert new.name == moe.name


def test_a_list_has_commas():
    attention = program.load("attention", {"batch": "4"}, tensors=False)
    names = [n.name for n in attention.graph.nodes if n.op == "source"]
    loads = [n.name for n in attention.graph.nodes if n.op == "linear_offchip_load"]
    listed = ",".join(names + loads)
    new = schedule.transformed(attention, [f"parallelize:requests={listed},regions=2,how=coarse"])
    same = transforms.parallelize(attention.graph, regions=2, how="coarse", requests=names + loads)
    assert text.dumps(new.graph) == text.dumps(same.graph)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["nix"], "there is no transform 'nix', only capped_tiling"),
        (["Transformed"], "there is no transform 'Transformed'"),
        (["time_multiplex:8"], "--transform time_multiplex takes name=value, not '8'"),
        (["time_multiplex:regions=2,regions=3"], "--transform time_multiplex regions is given"),
        (["insert_forks:program=3"], "insert_forks has no parameter 'program', it has none"),
        (["parallelize:regions=2,done=nix"], "nix"),
    ],
)
def test_what_does_not_fit(texts, sentence):
    moe = program.load("moe_swiglu", MOE, tensors=False)
    with pytest.raises(StepError, match=sentence):
        schedule.transformed(moe, texts)
