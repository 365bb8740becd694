"""The beats that units send in the cycle model: their kinds and levels, of which only cycles last.

What follows a unit in a design need not look at them, so a model with wrong levels can be right in
every cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Design
from stepgen.hw.units.reshape.params import Reshape
from stepgen.ir.wire import BARE, KIND_MASK, Beats
from stepgen.timing import kernel as k
from stepgen.timing.activity import Cycles
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.drive import drive
from stepgen.timing.layout import structure


@dataclass
class Keeping(DesignLayout):
    """A design whose channels keep all the beats of a run, at most `most`.

    Attributes
    ----------
    most : int
    """

    most: int = 1

    def new_channel(
        self,
        name: str,
        depth: int,
        latency: int,
        index: int,
        *,
        capacity: int = 1,
        restop: int = 0,
        more: Sequence[int] = (),
    ) -> int:
        """As in any layout, with room for more."""
        kept = capacity if index < 0 else max(capacity, self.most)
        return super().new_channel(
            name, depth, latency, index, capacity=kept, restop=restop, more=more
        )

    def sent(self, limit: int) -> dict[str, Cycles]:
        """Kind, stop and low of all beats of each channel, as words of the kernel.

        Parameters
        ----------
        limit : int
            Cycles of the run, at most.
        """
        M = drive(self, limit=limit).M
        found = {}
        for name, c in self._channels.items():
            slots = M[c + k.RING] + k.SLOT * np.arange(M[c + k.PUSHED])
            found[name] = meaningful(M[slots + 2])
        return found


def meaningful(words: Cycles) -> Cycles:
    """Words of the kernel without what means nothing: aux, and low of all but empty tokens."""
    fields = (1 << np.where(words & KIND_MASK == BARE, k.AUX_SHIFT, k.LOW_SHIFT)) - 1
    return words & fields


def sent(experiment: Experiment) -> dict[str, Cycles]:
    """The beats of an experiment's run in the cycle model, by channel; see `Keeping.sent`."""
    most = max((len(cycles) for cycles in experiment.prediction.pushes.values()), default=1)
    layout = Keeping(experiment.design, most=most).of_run(experiment.run_of(experiment.known))
    return layout.sent(experiment.max_cycles)


def wanted(beats: Beats) -> Cycles:
    """Beats of the reference, as `sent` has them."""
    return meaningful(structure(beats))


def shown(word: int) -> str:
    """A word of `sent` in its fields."""
    kind = ("VALUE", "BARE", "DONE")[k.kind_of(word)]
    low = f" low {k.low_of(word)}" if kind == "BARE" else ""
    return f"{kind} stop {k.stop_of(word)}{low}"


def prompt(design: Design) -> set[str]:
    """Channels whose levels mean nothing: prompt units do not wait for them, nobody reads them."""
    found: set[str] = set()
    size = -1
    while len(found) != size:
        size = len(found)
        for unit in design.units:
            said = getattr(unit.params, "prompt", False)
            if isinstance(unit.params, Reshape):
                found |= {unit.outputs["padding"]} if said and unit.params.flagged else set()
            elif said or next(iter(unit.inputs.values()), None) in found:
                found |= set(unit.outputs.values())
    return found
