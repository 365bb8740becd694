"""Memory allocation: what each memory gets of a budget of on-chip memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stepgen.compile.budget import Budget, budget_of
from stepgen.compile.memories import LoweredRows, SizeChoice, Stored, designed
from stepgen.compile.needs import TooLarge
from stepgen.hw.design.table import Design, DesignError
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.errors import StepError
from stepgen.ir.garbage import no_searches

Lowered = Callable[[Stored], LoweredRows]

NOTHING = 1e-6
"""Of a budget: what a memory takes that is larger at no cost."""


def allocated(
    rows: Lowered,
    depths: Mapping[str, int],
    *,
    fuse: bool = True,
    onchip: float | Budget | None = None,
) -> Design:
    """The design of a program whose memories fit into a budget.

    Without a budget, and where one suffices, all memories and FIFOs are large enough for full rate.
    Else each has the least with which every run ends at first. What is left goes to FIFOs, then to
    the memories through which the most beats go in a run for each bit that they take more, or for
    what else the budget counts: what is written and read at the same time saves at most a cycle per
    beat.

    Parameters
    ----------
    rows : function of Stored
        Lowers the program.
    depths, fuse
        As for `stepgen.compile.lower.lower`.
    onchip : float or Budget, optional
        The budget, a number in KiB.

    Raises
    ------
    StepError
        If the program has no design, or none within the budget: with the largest needs.
    """
    with no_searches():
        return _allocated(rows, depths, fuse, onchip)


def _allocated(
    rows: Lowered, depths: Mapping[str, int], fuse: bool, onchip: float | Budget | None
) -> Design:
    """See `allocated`."""
    graph, stored, design = designed(rows, depths, fuse=fuse)
    if onchip is None:
        return design
    budget = budget_of(onchip)
    if budget.holds(design):
        return design
    search = _Search(rows, depths, fuse, stored.choices, budget)
    lean = search.least()
    if search.takes(lean, paced=False) > budget.most:
        raise TooLarge(search.design(lean, paced=False), graph, budget)
    return search.raised(lean)


@dataclass
class _Search:
    """Chooses which memories of a program are the least.

    Parameters
    ----------
    lower : function of Stored
    depths, fuse
        As for `allocated`.
    choices : mapping of str to Choice
        The memories that have several sizes.
    budget : Budget
    """

    lower: Lowered
    depths: Mapping[str, int]
    fuse: bool
    choices: Mapping[str, SizeChoice]
    budget: Budget
    _made: dict[tuple[frozenset[str], bool], Design | StepError] = field(default_factory=dict)

    def design(self, lean: frozenset[str], *, paced: bool) -> Design:
        """The design in which these memories are as small as can be.

        Raises
        ------
        StepError
            If it may wait for ever, whatever its FIFOs.
        """
        key = lean, paced
        if key not in self._made:
            try:
                *_, self._made[key] = designed(
                    self.lower, self.depths, fuse=self.fuse, lean=lean, paced=paced
                )
            except DesignError:
                raise
            except StepError as error:
                self._made[key] = error
        made = self._made[key]
        if isinstance(made, StepError):
            raise made
        return made

    def takes(self, lean: frozenset[str], *, paced: bool) -> float:
        """What that design takes of the budget; infinite if there is none."""
        try:
            design = self.design(lean, paced=paced)
        except DesignError:
            raise
        except StepError:
            return math.inf
        return self.budget.design(design)

    def least(self) -> frozenset[str]:
        """The memories that are the least where a design takes the least of the budget.

        Where less memory in one place takes more in FIFOs, or can't do, it has its full size. Those
        that are alike are decided together.
        """
        alike: dict[tuple[str, str, float], set[str]] = {}
        for name, choice in self.choices.items():
            kind = repr(choice.full), repr(choice.lean), choice.beats
            alike.setdefault(kind, set()).add(name)
        lean = frozenset(self.choices)
        if math.isinf(self.takes(lean, paced=False)):
            lean = frozenset()
            for names in alike.values():
                if not math.isinf(self.takes(lean | names, paced=False)):
                    lean |= names
        for names in alike.values():
            if names <= lean and self.takes(lean - names, paced=False) < self.takes(
                lean, paced=False
            ):
                lean -= names
        return lean

    def raised(self, lean: frozenset[str]) -> Design:
        """The design whose memories are large again as far as the budget reaches."""
        most = self.budget.most
        paced = self.takes(lean, paced=True) <= most
        takes = self.takes(lean, paced=paced)
        design = self.design(lean, paced=paced)
        more = {name: self._more(self.choices[name], design) for name in sorted(lean)}
        order = sorted(more, key=lambda name: -self.choices[name].beats / more[name])
        large: list[str] = []
        for name in order:
            if takes + more[name] <= most:
                large.append(name)
                takes += more[name]
        while self.takes(lean.difference(large), paced=paced) > most:
            large.pop()
        return self.design(lean.difference(large), paced=paced)

    def _more(self, choice: SizeChoice, design: Design) -> float:
        """What the larger memory takes more; next to nothing where that is not more."""
        taken = self.budget.unit
        both = [
            taken(replace(u, params=full), design) - taken(u, design)
            for u in design.units
            for full, lean in ((choice.full, choice.lean), _telling(choice))
            if u.origin == choice.origin and u.params == lean
        ]
        return max([NOTHING, *both])


def _telling(choice: SizeChoice) -> tuple[Any, Any]:
    """Both sizes of a memory whose unit reports to a loader what it has used up."""
    if not isinstance(choice.full, Matmul):
        return choice.full, None
    return replace(choice.full, credits=True), replace(choice.lean, credits=True)
