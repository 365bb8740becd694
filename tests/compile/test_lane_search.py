"""The search for lanes, on circuits whose cost is known by formula."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from math import inf

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lane_search import Choice, Cost, LaneSearch
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import Lanes, lanes_by_node

FUNCTIONS = ("sums", "products", "roots")
CIRCUITS = 200
"""More than any of these searches may measure."""


def chain() -> sg.Graph:
    """An operator of each of three functions, none of which follows another one's lanes."""
    g = sg.Graph("chain")
    x = g.input("x", sg.f32[4, 16], (3,))
    y = g.input("y", sg.f32[4, 16], (3,))
    added = x.map(sg.fn.add(), y, name="sums")
    product = added.map(sg.fn.mul(), y.fifo(64), name="products")
    g.output(product.map(sg.fn.maximum(), x.fifo(64), name="roots"), "z")
    return g


GRAPH = chain()
GROUPS = {"add": "sums", "mul": "products", "maximum": "roots"}


class Drawn:
    """Drawn work and area of each operator; a run is as long as its slowest one.

    Parameters
    ----------
    seed : int
    link : int
        LUTs between neighbours of different lanes.
    """

    def __init__(self, seed: int, link: int = 0):
        rng = np.random.default_rng(seed)
        self.work = {
            name: int(n) for name, n in zip(FUNCTIONS, rng.integers(1, 900, 3), strict=True)
        }
        self.area = {
            name: int(n) for name, n in zip(FUNCTIONS, rng.integers(1, 900, 3), strict=True)
        }
        self.link, self.measured = link, 0

    def __call__(self, lanes: Lanes, most: float) -> Cost | None:
        self.measured += 1
        assert self.measured <= CIRCUITS
        cost = self.of(lanes_by_node(GRAPH, lanes))
        return cost if cost.cycles <= most else None

    def of(self, lanes: Mapping[str, int]) -> Cost:
        """The cost by lanes of each operator."""
        cycles = max(-(-self.work[name] // lanes[name]) for name in FUNCTIONS)
        links = sum(lanes[a] != lanes[b] for a, b in itertools.pairwise(FUNCTIONS))
        luts = sum(self.area[name] * lanes[name] for name in FUNCTIONS) + self.link * links
        return Cost(cycles, {"lut": luts})

    def all(self) -> list[Cost]:
        """Every circuit that there is with up to 8 lanes."""
        every = itertools.product((1, 2, 4, 8), repeat=3)
        return [self.of(dict(zip(FUNCTIONS, lanes, strict=True))) for lanes in every]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("slower", [0, 10, 100])
def test_the_smallest_that_is_fast_enough(seed: int, slower: float) -> None:
    drawn = Drawn(seed)
    found = LaneSearch(GRAPH, 8, drawn, slower=slower).run()
    limit = min(one.cycles for one in drawn.all()) * (1 + slower / 100)
    assert found.cost.cycles <= limit
    assert found.cost.luts == min(one.luts for one in drawn.all() if one.cycles <= limit)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_the_fastest_that_fits(seed: int, share: float) -> None:
    drawn = Drawn(seed)
    luts = int(share * max(one.luts for one in drawn.all()))
    found = LaneSearch(GRAPH, 8, drawn, limits={"lut": luts}).run()
    fitting = [one for one in drawn.all() if one.luts <= luts]
    assert found.cost.luts <= luts
    assert found.cost.cycles == min(one.cycles for one in fitting)


@pytest.mark.parametrize("seed", range(20))
def test_links_are_paid_for(seed: int) -> None:
    """Other lanes for one operator, or equal lanes for all, cost more LUTs or too many cycles."""
    drawn = Drawn(seed, link=400)
    search = LaneSearch(GRAPH, 8, drawn, slower=20)
    found = search.run()
    lanes = lanes_by_node(GRAPH, found.lanes)
    for name, other in itertools.product(FUNCTIONS, (0.5, 2)):
        if 1 <= lanes[name] * other <= 8:
            beside = drawn.of({**lanes, name: int(lanes[name] * other)})
            assert beside.luts >= found.cost.luts or beside.cycles > search.limit
    for one in search.measured:
        assert one.cost.luts >= found.cost.luts or one.cost.cycles > search.limit


def test_the_text_gives_the_same_lanes_and_has_no_name_too_many() -> None:
    search = LaneSearch(GRAPH, 8, Drawn(0))
    one = Choice({"*": 8, "add": 8, "mul": 2}, Cost(1, {"lut": 1}))
    assert search.text(one) == "8,mul=2"
    assert search.text(Choice({"*": 4}, one.cost)) == "4"


def test_named_operators_keep_their_lanes() -> None:
    search = LaneSearch(GRAPH, {"*": 8, "mul": 4, "roots": 2}, Drawn(1), slower=500)
    found = search.run()
    lanes = lanes_by_node(GRAPH, found.lanes)
    assert (lanes["products"], lanes["roots"]) == (4, 2)
    assert lanes["sums"] < 8
    assert search.text(found).endswith("mul=4,roots=2")


def test_operators_of_one_function_can_have_lanes_of_their_own() -> None:
    g = sg.Graph("two")
    x, y = (g.input(name, sg.f32[4, 16], (3,)) for name in "xy")
    first = x.map(sg.fn.add(), y, name="first")
    g.output(first.map(sg.fn.add(), y.fifo(64), name="second"), "z")

    def measure(lanes: Lanes, most: float) -> Cost:
        of = lanes_by_node(g, lanes)
        return Cost(640 // of["first"], {"lut": 10 * of["first"] + of["second"]})

    assert LaneSearch(g, 8, measure).run().cost.luts == 88
    apart = LaneSearch(g, 8, measure, single=True)
    assert apart.run().cost.luts == 81
    assert apart.text(apart.run()) == "8,second=1"
    held = LaneSearch(g, {"*": 8, "first": 4}, measure)
    assert lanes_by_node(g, held.run().lanes) == {"x": 4, "y": 1, "first": 4, "second": 1, "z": 1}
    assert LaneSearch(g, {"*": 8, "first": 4, "add": 2}, measure).groups == ["*"]


def some(measure: Callable[[Lanes, float], Cost | None], **more: object) -> LaneSearch:
    return LaneSearch(GRAPH, 8, measure, **more)  # type: ignore[arg-type]


def test_circuits_that_do_not_exist_are_passed_over() -> None:
    drawn = Drawn(2)

    def measure(lanes: Lanes, most: float) -> Cost | None:
        return None if lanes_by_node(GRAPH, lanes)["sums"] == 4 else drawn(lanes, most)

    found = some(measure, slower=1000).run()
    assert lanes_by_node(GRAPH, found.lanes)["sums"] != 4
    with pytest.raises(StepError, match="chain has no circuit that runs"):
        some(lambda lanes, most: None).run()


def test_what_fits_nothing_is_said_with_the_smallest() -> None:
    drawn = Drawn(3)
    least = min(one.luts for one in drawn.all())
    search = some(drawn, limits={"lut": least - 1})
    with pytest.raises(StepError) as error:
        search.run()
    assert str(error.value) == (
        f"no circuit of chain was found that fits: with --lanes 1 it takes {least:,} LUT, and "
        f"there are {least - 1:,}"
    )


def test_other_resources_bound_it_too() -> None:
    def measure(lanes: Lanes, most: float) -> Cost:
        cost, of = Drawn(4).of(lanes_by_node(GRAPH, lanes)), lanes_by_node(GRAPH, lanes)
        return Cost(cost.cycles, {**cost.used, "multiplier": of["products"] ** 2})

    found = some(measure, limits={"lut": 10**6, "multiplier": 20}).run()
    assert lanes_by_node(GRAPH, found.lanes)["products"] == 4


def test_an_interrupt_leaves_the_best_until_then() -> None:
    drawn, seen = Drawn(5), []

    def measure(lanes: Lanes, most: float) -> Cost:
        if len(seen) == 6:
            raise KeyboardInterrupt
        seen.append(drawn(lanes, inf))
        return seen[-1]

    search = some(measure, slower=50)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    limit = 1.5 * min(one.cycles for one in seen)
    assert search.found.cost.luts == min(one.luts for one in seen if one.cycles <= limit)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_too_slow_is_measured_once_to_start_from(seed: int) -> None:
    """Smaller circuits are looked for from a quick one, faster ones from the first too slow."""
    search = LaneSearch(GRAPH, 8, Drawn(seed), slower=150)
    search.run()
    *quick, last = [one for one in search.measured if not one.group]
    assert all(map(search.quick, quick))
    assert not search.quick(last)
    for one in search.measured:
        assert search.quick(one) or one.cost.cycles <= last.cost.cycles


def test_a_circuit_that_takes_more_than_was_known_makes_way() -> None:
    drawn = Drawn(6)
    limits = {"lut": max(one.luts for one in drawn.all()) // 2}
    search = some(drawn, limits=limits)
    found = search.run()
    search.correct(found, {"lut": limits["lut"] + 1})
    other = search.run()
    assert other.lanes != found.lanes
    assert other.cost.luts <= limits["lut"]
    fitting = [one for one in drawn.all() if one not in (found.cost,)]
    assert other.cost.cycles == min(one.cycles for one in fitting if one.luts <= limits["lut"])


def test_one_lane_can_not_be_fewer() -> None:
    with pytest.raises(StepError, match="operators with 1 lane can't have fewer: start with 2"):
        LaneSearch(GRAPH, 1, Drawn(0))
