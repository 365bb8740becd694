"""The paces that kinds of units declare, checked for each kind alone in drawn model runs."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from drawn import Draw, to_beats
from lone import elements, memory, structure
from lone.case import Case

from stepgen.hw.design.pace import Pace
from stepgen.hw.units import load_all
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.wire import BARE, DONE, Beats
from stepgen.timing import kernel as k
from stepgen.timing.design_layout import DesignLayout, Run
from stepgen.timing.stepping import Stepper

SEEDS, MOST_SEEDS, ENOUGH = 2, 8, 10
WITHOUT_PACE = {"source", "sink", "discard", "store", "memory", "axi", "eager_merge", "loader"}
"""Kinds that no stream passes through, or in an order that time decides."""


CASES: dict[str, tuple[Callable[[Draw], Case], ...]] = {
    "fork": (structure.fork,),
    "pcu": (elements.one_operand, elements.two_operands),
    "promote": (structure.promote,),
    "flatten": (structure.flatten,),
    "group": (structure.group,),
    "cap": (structure.cap,),
    "link": (structure.link,),
    "store_forward": (structure.store_forward,),
    "one_hot": (structure.one_hot,),
    "span": (structure.span,),
    "tile_addresses": (structure.tile_addresses,),
    "count": (structure.count,),
    "as_scalar": (structure.as_scalar,),
    "as_selector": (structure.as_selector,),
    "logic": (structure.logic,),
    "locate": (elements.locate,),
    "decode": (structure.decode,),
    "calculate": (structure.calculate,),
    "as_tile": (structure.as_tile,),
    "running_max": (elements.running_max,),
    "place_row": (elements.place_row,),
    "mask": (elements.mask_cols, elements.mask_rows, elements.mask_causal),
    "reshape": (structure.reshape,),
    "drop": (structure.drop,),
    "partition": (structure.partition, structure.partition_once),
    "reassemble": (structure.reassemble,),
    "expand": (
        structure.expand,
        structure.expand_by_reference,
        structure.expand_single_beats,
        structure.expand_single_beats_by_tiles,
    ),
    "split": (structure.split,),
    "concat": (structure.concat,),
    "pmu": (memory.pmu, memory.pmu_by_reference),
    "matmul": (elements.matmul, elements.matmul_add, elements.matmul_of_any_size),
    "join_lanes": (elements.join_lanes,),
    "split_lanes": (elements.split_lanes,),
    "limit": (elements.limit,),
    "matvec": (
        elements.matvec,
        elements.matvec_transposed,
        elements.matvec_folded,
        elements.matvec_of_any_rows,
        elements.matvec_turned,
    ),
    "turn_slices": (elements.turn_slices,),
    "retile_col": (elements.retile_col, elements.copies_side_by_side),
    "accumulate": (elements.accumulate, elements.copies_added),
    "reduce_rows": (elements.reduce_rows,),
    "shift_cols": (elements.shift_cols,),
    "pack_cols": (elements.pack_cols,),
    "rotate_pairs": (elements.rotate_pairs, elements.pairs_in_two_beats),
    "cut_cols": (elements.cut_cols, elements.rows_spread),
    "cut_tile": (elements.cut_tile,),
    "top_k": (elements.top_k, elements.top_k_scores),
    "load": (memory.load, memory.load_of_few_beats),
    "random_store": (memory.random_store,),
}


HOLDING = (
    structure.promote,
    structure.flatten,
    structure.drop,
    structure.cap,
    elements.pairs_in_two_beats,
)
"""Cases of units with a holding register: a beat leaves when the next one arrives."""


class Bench:
    """Runs a case with one input cut short."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.layout = DesignLayout(case.design)
        self.known: dict[tuple[str, int, bool], dict[str, int]] = {}

    def out(self, name: str, count: int, *, ends: bool = False) -> dict[str, int]:
        """Beats that leave by each output, ``DONE`` not counted, after `count` beats of an input.

        The other inputs are complete. With `ends` the input ends there.
        """
        key = name, count, ends
        if key not in self.known:
            given = {**self.case.inputs, name: self._cut(name, count, ends)}
            if ends and self.case.together:
                given = {other: self._cut(other, count, True) for other in given}
            if ends and name in self.case.by_tile:
                ends_at = [0, *epochs(self.case, name, self.case.by_tile[name])]
                begun = sum(end < count for end in ends_at)
                for other, level in self.case.by_tile.items():
                    if other != name:
                        behind = [0, *epochs(self.case, other, level)][begun]
                        given[other] = self._cut(other, behind, True)
            if ends and name in (self.case.beside[0], self.case.likewise):
                _, level, other = self.case.beside
                closed = int(np.sum(self.case.inputs[name].stop[:count] >= level))
                behind = np.nonzero(self.case.inputs[other].stop >= 2)[0][:closed]
                given[other] = self._cut(other, int(behind[-1]) + 1 if closed else 0, True)
            if ends and self.case.paired and name == self.case.beside[2]:
                first, closed = self.case.beside[0], self.case.inputs[name].stop[:count] >= 2
                given[first] = self._cut(first, int(np.sum(closed)), True)
            self.known[key] = self._run(given)
        return self.known[key]

    def _cut(self, name: str, count: int, ends: bool) -> Beats:
        whole = self.case.inputs[name]
        kept = np.arange(len(whole)) < count
        if ends or count >= len(whole) - 1:
            kept[-1] = True
        return Beats(*(p[kept] for p in (whole.kind, whole.stop, whole.low, whole.data)))

    def _run(self, given: Mapping[str, Beats]) -> dict[str, int]:
        ports = {f"s_{name}": beats for name, beats in given.items()}
        for unit in self.case.design.units:
            if unit.params.decides:
                ports[unit.name] = to_beats([np.ones(1, np.bool_)] * len(given["x"]), 0, bool)
        layout = self.layout.of_run(Run(ports, memory=MemoryTiming(read_latency=3)))
        M, stepper = layout.build(), Stepper(layout)
        why = k.PAUSED
        while why == k.PAUSED:
            why = stepper.advance(M, 1 << 16)
        assert why in (k.QUIET, k.FINISHED)
        found = {}
        for name in self.case.outputs:
            c = layout.channel(name)
            n = int(M[c + k.PUSHED])
            last = int(M[k.slot(M, c, n - 1) + 2]) if n else 0
            found[name] = n - (n > 0 and last & k.KIND_MASK == DONE)
        return found


def declared(case: Case, name: str, level: int) -> dict[str, Pace]:
    """The paces of all channels that follow an input, by the levels of its clock."""
    paces = {name: Pace(level, opened=True, prompt=level == 0).normal(case.extents[name])}
    for unit in case.design.units:
        if unit.name not in ("dut", "next", "y"):
            continue
        for part in unit.params.parts(unit, case.extents):
            known = {n: replace(paces[n], closed="") for n in part.inputs if n in paces}
            for out, pace in part.follow(known).items() if known else ():
                queue = part.queues.get(out)
                paces[out] = pace.normal(queue.extents if queue else case.extents[out])
    return paces


def epochs(case: Case, name: str, level: int) -> list[int]:
    """How many beats of an input there are up to the end of each epoch."""
    beats = case.inputs[name]
    ends = (beats.stop >= level) & (beats.kind != DONE)
    return [int(n) + 1 for n in np.nonzero(ends)[0]]


Question = tuple[Case, Bench, str, int, str, Pace, bool, list[int], list[int]]


def questions(make: Callable[[Draw], Case]) -> Iterator[Question]:
    """Every clock of every drawn case, with each pace and the beats due in each epoch.

    More cases are drawn of kinds that have few epochs, or hold beats back now and then.
    """
    asked = 0
    for seed in range(MOST_SEEDS):
        if seed >= SEEDS and asked > ENOUGH and make not in HOLDING:
            return
        case = make(Draw(seed))
        bench = Bench(case)
        for name in case.inputs:
            for level in range(len(case.extents[name])):
                paces = declared(case, name, level)
                closed = any(p.closed for p in paces.values())
                ends = epochs(case, name, level)
                for out in case.outputs:
                    due = [bench.out(name, end, ends=True)[out] for end in ends]
                    if out in paces and paces[out].aligned:
                        asked += len(ends)
                        yield case, bench, name, level, out, paces[out], closed, ends, due


def test_every_kind_says_how_it_passes_streams_on():
    assert set(CASES) == set(load_all()) - WITHOUT_PACE


@pytest.mark.parametrize(
    "make", [m for makes in CASES.values() for m in makes], ids=lambda m: m.__name__
)
def test_units_keep_what_they_declare(make):
    found: Counter[str] = Counter()
    for case, bench, name, level, out, pace, closed, ends, due in questions(make):
        pads = make is structure.reshape and level <= 2
        for e, (end, all_due) in enumerate(zip(ends, due, strict=True)):
            before, begin = (due[e - 1], ends[e - 1]) if e else (0, 0)
            where = f"{name} level {level}, {out}, epoch {e}, {pace}"
            found["epochs"] += 1
            if pads:  # the end that was put there is filled up
                continue
            assert all_due - before <= pace.room(case.extents[out]), where
            assert pace.sparse or all_due > before, where
            found["late"] += bench.out(name, end)[out] < all_due
            if pace.lag < math.inf:
                last = e + int(pace.lag)
                seen = ends[last] if last < len(ends) else len(case.inputs[name])
                assert bench.out(name, seen)[out] >= all_due, where
            if pace.opened and all_due > before:
                assert bench.out(name, begin + 1)[out] > before, where
            if pace.prompt:
                assert bench.out(name, begin + 1)[out] >= all_due, where
                found["prompt"] += end > begin + 1 and all_due > before
            if closed and end > begin + 1 and case.inputs[name].kind[end - 1] != BARE:
                assert bench.out(name, end - 1)[out] <= before, where
                found["closed"] += 1
    assert found["epochs"] > 10
    assert bool(found["late"]) == (make in HOLDING), found
    waits = (
        elements.accumulate,
        elements.matmul,
        elements.matmul_add,
        elements.matmul_of_any_size,
        elements.cut_tile,
        elements.copies_side_by_side,
        elements.copies_added,
    )
    assert bool(found["closed"]) == (make in waits), found
    assert not found["prompt"] or make in (
        memory.load,
        memory.load_of_few_beats,
        structure.reshape,
    ), found
