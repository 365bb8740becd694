"""Groups of kernels: the published rule, the exact search, drawn graphs against brute force."""

from __future__ import annotations

import random
from itertools import product

import pytest

import stepgen as sg
from stepgen.compile.grouping import KernelEdge, greedy, least_traffic

KERNELS = {"k0": 10, "k1": 12, "k2": 14, "k3": 11, "k4": 9}
USES = [
    KernelEdge("k0", "k1"),
    KernelEdge("k0", "k2", 20),
    KernelEdge("k1", "k2"),
    KernelEdge("k2", "k3", 6),
    KernelEdge("k1", "k4", 3),
    KernelEdge("k3", "k4"),
]


def test_all_fit_into_one_group() -> None:
    for search in (greedy, least_traffic):
        found = search(KERNELS, USES, 1000)
        assert found.groups == (tuple(KERNELS),)
        assert (found.memory, found.traffic) == ((56 + 29,), 0)


def test_what_does_not_fit_opens_a_group() -> None:
    found = greedy(KERNELS, USES, 60)
    assert found.groups == (("k0", "k1", "k2"), ("k3", "k4"))
    assert found.memory == (36 + 20, 20)
    assert found.traffic == 2 * 2
    assert greedy(KERNELS, USES, 14).groups == tuple((name,) for name in KERNELS)


def drawn(rng: random.Random, count: int) -> tuple[dict[str, int], list[KernelEdge]]:
    names = [f"n{i}" for i in range(count)]
    uses = [
        KernelEdge(names[i], names[j], rng.choice([0, 0, 8, 20]), rng.randint(1, 9))
        for i in range(count)
        for j in range(i + 1, min(count, i + 4))
        if rng.random() < 0.5
    ]
    return {name: rng.randint(5, 20) for name in names}, uses


def by_brute_force(kernels: dict[str, int], uses: list[KernelEdge], budget: int) -> int:
    """Least traffic over all ways to number the groups that kernels are in."""
    best = sum(2 * use.size for use in uses)
    for numbers in product(range(len(kernels)), repeat=len(kernels)):
        group = dict(zip(kernels, numbers, strict=True))
        if any(group[u.source] > group[u.target] for u in uses):
            continue
        memory = dict.fromkeys(numbers, 0)
        for name, own in kernels.items():
            memory[group[name]] += own
        for use in uses:
            if group[use.source] == group[use.target]:
                memory[group[use.source]] += use.converter
        if max(memory.values()) <= budget:
            apart = (u for u in uses if group[u.source] != group[u.target])
            best = min(best, sum(2 * use.size for use in apart))
    return best


def test_drawn_graphs_against_brute_force() -> None:
    rng = random.Random(1)
    for _ in range(25):
        kernels, uses = drawn(rng, 5)
        budget = rng.choice([20, 30, 45, 60])
        found = least_traffic(kernels, uses, budget)
        assert found.traffic == by_brute_force(kernels, uses, budget)
        assert max(found.memory) <= budget


def test_the_search_is_never_worse_than_the_published_rule() -> None:
    rng, better = random.Random(2), 0
    for _ in range(60):
        kernels, uses = drawn(rng, 9)
        rule, search = greedy(kernels, uses, 60), least_traffic(kernels, uses, 60)
        assert search.traffic <= rule.traffic
        assert sorted(name for g in search.groups for name in g) == sorted(kernels)
        better += search.traffic < rule.traffic
    assert better > 30


def test_mistakes() -> None:
    with pytest.raises(
        sg.StepError, match="k2 alone takes 14, more than the 13 of the budget; give"
    ):
        greedy(KERNELS, USES, 13)
    with pytest.raises(
        sg.StepError, match="k0 reads what k1 makes, so k1 must come before it among"
    ):
        least_traffic(KERNELS, [KernelEdge("k1", "k0")], 60)
