"""Kernels in groups that fit on chip: StreamTensor's kernel fusion, and an exact search.

Within a group kernels are joined by streams, and converters where orders differ; between groups a
tensor is written to off-chip memory and read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from stepgen.ir.errors import StepError
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class KernelEdge:
    """A tensor that one kernel makes and another one reads.

    Parameters
    ----------
    source, target : str
        The kernels.
    converter : int
        On-chip memory of the converter, if both are in one group; 0 where a FIFO joins them.
    size : int
        Of the tensor, which is written and read if they are not.
    tensor : str
        Its name, if several kernels read it: it is written once for all of them.
    """

    source: str
    target: str
    converter: int = 0
    size: int = 1
    tensor: str = ""


@dataclass(frozen=True)
class Grouping:
    """Kernels by the group that they are in.

    Attributes
    ----------
    groups : tuple of tuple of str
        In the order in which they run.
    memory : tuple of int
        On-chip memory of each.
    traffic : int
        What is written and read between them.
    """

    groups: tuple[tuple[str, ...], ...]
    memory: tuple[int, ...]
    traffic: int


def greedy(kernels: Mapping[str, int], uses: Sequence[KernelEdge], budget: int) -> Grouping:
    """The published rule: a kernel joins the group of its youngest predecessor if it still fits.

    Parameters
    ----------
    kernels : mapping of str to int
        On-chip memory of each, in an order in which they can run.
    uses : sequence of Use
    budget : int
        Most on-chip memory of a group.

    Raises
    ------
    StepError
        If a kernel does not fit alone, or reads one that comes later.

    Notes
    -----
    StreamTensor, section 5.2.
    """
    into = _into(kernels, uses, budget)
    group: dict[str, int] = {}
    memory: list[int] = []
    for name, own in kernels.items():
        nearest = max((group[use.source] for use in into[name]), default=None)
        if nearest is not None:
            more = own + sum(u.converter for u in into[name] if group[u.source] == nearest)
            if memory[nearest] + more <= budget:
                group[name] = nearest
                memory[nearest] += more
                continue
        group[name] = len(memory)
        memory.append(own)
    return _grouping(group, memory, uses)


def least_traffic(kernels: Mapping[str, int], uses: Sequence[KernelEdge], budget: int) -> Grouping:
    """The groups between which least is written and read, by branch and bound.

    It starts from what the published rule finds, and is meant for some tens of kernels.

    Parameters
    ----------
    kernels, uses, budget
        As of `greedy`.

    Raises
    ------
    StepError
        As `greedy`.
    """
    into = _into(kernels, uses, budget)
    names = list(kernels)
    best = greedy(kernels, uses, budget)
    group: dict[str, int] = {}
    memory: list[int] = []
    between: list[tuple[int, int]] = []  # groups of which the second reads what the first makes
    cut: list[KernelEdge] = []

    def search(place: int, paid: int) -> None:
        nonlocal best
        if paid >= best.traffic:
            return
        if place == len(names):
            best = _grouping(group, memory, uses)
            return
        name = names[place]
        before = {group[use.source] for use in into[name]}
        for number in range(len(memory), -1, -1):
            inside = [u for u in into[name] if group[u.source] == number]
            more = kernels[name] + sum(use.converter for use in inside)
            new = number == len(memory)
            if (0 if new else memory[number]) + more > budget:
                continue
            if not new and _after(number, between) & before - {number}:
                continue  # it would have to run before itself
            if new:
                memory.append(0)
            memory[number] += more
            group[name] = number
            added = [(source, number) for source in before - {number}]
            between.extend(added)
            outside = [u for u in into[name] if group[u.source] != number]
            cut.extend(outside)
            search(place + 1, _moved(cut))
            del cut[len(cut) - len(outside) :]
            del between[len(between) - len(added) :], group[name]
            memory[number] -= more
            if new:
                memory.pop()

    search(0, 0)
    return best


def _after(number: int, between: Sequence[tuple[int, int]]) -> set[int]:
    """The groups that run behind one."""
    found, ahead = {number}, [number]
    while ahead:
        one = ahead.pop()
        ahead += [t for s, t in between if s == one and t not in found]
        found.update(ahead)
    return found


def _into(
    kernels: Mapping[str, int], uses: Sequence[KernelEdge], budget: float = inf
) -> dict[str, list[KernelEdge]]:
    """What each kernel reads.

    Raises
    ------
    StepError
        If it is not made before, or the kernel does not fit alone.
    """
    place = {name: number for number, name in enumerate(kernels)}
    for use in uses:
        if place.get(use.source, len(place)) >= place.get(use.target, -1):
            raise StepError(
                f"grouping at {user_line()}: {use.target} reads what {use.source} makes, so "
                f"{use.source} must come before it among {', '.join(kernels)}"
            )
    for name, own in kernels.items():
        if own > budget:
            raise StepError(
                f"grouping at {user_line()}: {name} alone takes {own}, more than the {budget} of "
                f"the budget; give it smaller tiles"
            )
    return {name: [use for use in uses if use.target == name] for name in kernels}


def _grouping(
    group: Mapping[str, int], memory: Sequence[int], uses: Sequence[KernelEdge]
) -> Grouping:
    """Groups in an order in which they can run."""
    cut = [use for use in uses if group[use.source] != group[use.target]]
    left, order = set(range(len(memory))), list[int]()
    while left:
        waiting = {group[use.target] for use in cut if group[use.source] in left}
        order.append(min(left - waiting))
        left.discard(order[-1])
    groups = tuple(tuple(name for name, own in group.items() if own == n) for n in order)
    return Grouping(groups, tuple(memory[n] for n in order), _moved(cut))


def _moved(cut: Sequence[KernelEdge]) -> int:
    """What is written, each tensor once, and read."""
    named = {use.tensor: use.size for use in cut if use.tensor}
    return sum(use.size * (1 if use.tensor else 2) for use in cut) + sum(named.values())
