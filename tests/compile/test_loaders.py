"""Loads of weights that share loaders."""

import pytest
from programs import example

from stepgen.compile.cost import hardware
from stepgen.compile.loaders import unshared_in
from stepgen.compile.lower import lower
from stepgen.emit.windows import windows_of
from stepgen.hw.design.sharing import OWN, SHARED
from stepgen.hw.design.table import Bus, Design
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph

SIZES = {"tokens": 4, "top": 1, "width": 8, "hidden": 16, "columns": 8}


def layer(experts: int) -> Graph:
    graph, _ = example("moe").moe(experts=experts, **SIZES)
    return graph


def readers(design: Design) -> dict[str, tuple[str, ...]]:
    return {unit.name: loader.regions for unit, loader in design.rows_of(Loader)}


@pytest.mark.parametrize(
    ("experts", "bits", "found"),
    [
        (2, 64, {}),
        (2, 32, {"w0_loader": ("w0", "w1")}),
        (3, 64, {"w0_loader": ("w0", "w2")}),
        (4, 64, {"w0_loader": ("w0", "w2"), "w1_loader": ("w1", "w3")}),
        (
            6,
            64,
            {
                "w0_loader": ("w0", "w3"),
                "w1_loader": ("w1", "w4"),
                "w2_loader": ("w2", "w5"),
            },
        ),
    ],
)
def test_loads_are_dealt_out(experts, bits, found):
    """To as many loaders as a word has beats, and one more where each has two loads then."""
    design = lower(layer(experts), bus=Bus(bits), loaders=SHARED)
    assert readers(design) == found
    loads = {unit.name for unit in design.of_kind(Load)}
    shared = {name for names in found.values() for name in names}
    assert loads == {"x", *(f"w{n}" for n in range(experts))} - shared
    assert {design.fused[name] for name in shared} == {*found}
    crediting = {unit.name for unit, unit_ in design.rows_of(Matmul) if unit_.credits}
    assert len(crediting) == len(shared)


def test_each_has_its_own_unit_unless_asked_for():
    assert readers(lower(layer(4))) == readers(lower(layer(4), loaders=OWN)) == {}


def test_a_load_whose_depth_is_asked_for_stays():
    design = lower(layer(4), loaders=SHARED, depths={"w0_data": 8})
    assert readers(design) == {"w1_loader": ("w1", "w3")}
    assert design.channel["w0_data"].depth == 8


@pytest.mark.parametrize("experts", range(2, 9))
def test_depths_of_all_channels_may_be_asked_for(experts):
    """Also of those of a load that has its own unit, beside loaders of others of its shape."""
    design = lower(layer(experts), loaders=SHARED)
    depths = {channel.name: channel.depth for channel in design.channels}
    assert lower(layer(experts), loaders=SHARED, depths=depths) == design


@pytest.mark.parametrize(
    ("change", "lanes", "why"),
    [
        ({}, 2, "its 3 loads of tiles of one shape would get 4 loaders, one for each beat of a"),
        ({"columns": 4, "width": 3}, 4, "a load of w0 shares a loader only if a tile of 12 bytes"),
        ({"experts": 1}, 4, "it has no two loads that read tiles of one shape, each for a matrix"),
    ],
)
def test_a_choice_that_changes_nothing_is_explained(change, lanes, why):
    graph, _ = example("moe").moe(**{"experts": 3, **SIZES, **change})
    design = lower(graph, lanes=lanes, loaders=SHARED)
    assert readers(design) == {}
    assert unshared_in(design).startswith(why)


def test_depths_that_leave_no_loads_to_share_are_named():
    design = lower(layer(3), loaders=SHARED, depths={"w0_data": 8})
    assert readers(design) == {}
    assert unshared_in(design).startswith("loads of which --depth names a channel have their own")


def test_what_is_read_stays_the_same():
    graph = layer(4)
    own, shared = (lower(graph, loaders=how) for how in (OWN, SHARED))
    assert windows_of(own) == windows_of(shared)
    before, after = (hardware(graph, design).nodes for design in (own, shared))
    assert all(before[name].traffic == after[name].traffic for name in before if name in after)
    assert Design.from_json(shared.to_json()) == shared


def test_a_wrong_choice_is_reported():
    with pytest.raises(StepError, match="loaders must be shared or own, not 'none'"):
        lower(layer(2), loaders="none")
