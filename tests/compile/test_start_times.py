"""Depths by start times: the published numbers, drawn kernels step by step, drawn graphs."""

from __future__ import annotations

import random
from itertools import pairwise, product

import pytest

import stepgen as sg
from stepgen.compile.start_times import Kernel, depths, effective, peak, start_times


@pytest.mark.parametrize(
    ("kernel", "interval", "delay", "exact", "published"),
    [
        (Kernel(5, 3, 1), 2, 4, 3, 3),
        (Kernel(64, 10, 1), 3, 40, 52, 53),
        (Kernel(64, 10, 4), 1, 50, 10, 10),
        (Kernel(100, 12, 2), 3, 60, 49, 50),
        (Kernel(128, 8, 1), 1, 80, 72, 72),
    ],
)
def test_the_published_peaks(
    kernel: Kernel, interval: int, delay: int, exact: int, published: int
) -> None:
    assert peak(kernel, interval, delay) == exact
    assert peak(kernel, interval, delay, published=True) == published


def counted(kernel: Kernel, interval: int, delay: int) -> int:
    """The most tokens that wait, cycle by cycle."""
    made = [kernel.first + i * kernel.interval for i in range(kernel.tokens)]
    taken, ready = [], delay
    for at in made:
        ready = max(ready, at)
        taken.append(ready)
        ready += interval
    return max(
        sum(at < now for at in made) - sum(at < now for at in taken) for now in range(taken[-1] + 2)
    )


def test_drawn_peaks_are_those_of_a_simulation() -> None:
    rng = random.Random(1)
    for _ in range(400):
        kernel = Kernel(rng.randint(1, 20), rng.randint(0, 12), rng.randint(1, 4))
        interval, delay = rng.randint(1, 4), kernel.first + rng.randint(0, 30)
        exact = counted(kernel, interval, delay)
        assert exact <= peak(kernel, interval, delay) <= exact + 1, (kernel, interval, delay)
        over = peak(kernel, interval, delay, published=True)
        assert peak(kernel, interval, delay) <= over <= peak(kernel, interval, delay) + 1


def total(kernels: dict[str, Kernel], edges: list[tuple[str, str]]) -> int:
    begin = start_times(kernels, edges)
    return sum(begin[t] - begin[s] for s, t in edges)


def test_the_published_schedules() -> None:
    diamond = {"a": Kernel(8, 4), "b": Kernel(8, 10), "c": Kernel(8, 5)}
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    assert start_times(diamond, edges) == {"a": 0, "b": 4, "c": 14}
    assert total(diamond, edges) == 28
    slide = {"k0": Kernel(8, 6), "k1": Kernel(8, 20), "c": Kernel(8, 33), "k2": Kernel(8, 1)}
    assert total(slide, [("k0", "k1"), ("k0", "c"), ("k1", "k2"), ("c", "k2")]) == 78
    first = {"ln1": 8, "qkv": 16, "att": 40, "proj": 16, "add1": 2}
    first |= {"ffn1": 16, "ffn2": 24, "add2": 2}
    layer = {name: Kernel(128, cycles) for name, cycles in first.items()}
    names = list(layer)
    chain = [*pairwise(names)]
    residual = [*chain, ("ln1", "add1"), ("add1", "add2")]
    assert total(layer, residual) == 244
    found = depths(layer, residual)
    assert (found["ln1", "add1"], found["add1", "add2"]) == (72, 40)


def test_a_slow_kernel_slows_its_others() -> None:
    kernels = {"a": Kernel(32, 4, 1), "b": Kernel(32, 4, 3), "c": Kernel(32, 1, 2)}
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    assert effective(kernels, edges) == {"a": 1, "b": 3, "c": 3}
    assert (
        depths(kernels, edges)["a", "c"]
        > depths({**kernels, "b": Kernel(32, 4, 1)}, edges)["a", "c"]
    )


def test_drawn_schedules_against_brute_force() -> None:
    rng = random.Random(2)
    for _ in range(30):
        names = "abcd"
        kernels = {name: Kernel(4, rng.randint(0, 3)) for name in names}
        every = [(s, t) for i, s in enumerate(names) for t in names[i + 1 :]]
        edges = [edge for edge in every if rng.random() < 0.7] or every
        least = min(
            sum(at[t] - at[s] for s, t in edges)
            for starts in product(range(10), repeat=4)
            for at in [dict(zip(names, starts, strict=True))]
            if all(at[t] - at[s] >= kernels[s].first for s, t in edges)
        )
        begin = start_times(kernels, edges)
        assert all(begin[t] - begin[s] >= kernels[s].first for s, t in edges)
        assert sum(begin[t] - begin[s] for s, t in edges) == least


def test_mistakes() -> None:
    kernels = {"a": Kernel(4, 1), "b": Kernel(4, 1)}
    with pytest.raises(sg.StepError, match="the kernels a, b read each other in a cycle"):
        start_times(kernels, [("a", "b"), ("b", "a")])
    with pytest.raises(sg.StepError, match="a FIFO goes from a to z, and the kernels are a, b"):
        depths(kernels, [("a", "z")])
    with pytest.raises(sg.StepError, match=r"at least 1 token, .*, not 0, 1 and 3"):
        Kernel(0, 3)
