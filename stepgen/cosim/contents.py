"""Contents of the off-chip memory of a run, before it and behind it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.cosim.case import Mask
from stepgen.emit.windows import Windows, windows_of
from stepgen.hw.design.table import Design
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.hw.units.store.params import Store
from stepgen.ir.dtypes import address
from stepgen.ir.graph import Graph
from stepgen.ir.wire import check_numbers
from stepgen.semantics.executor import Result
from stepgen.semantics.memory import as_bytes


@dataclass(frozen=True)
class Contents:
    """The windows of a design's memory, filled from the tensors of its program.

    Parameters
    ----------
    design : Design
    graph : Graph
    """

    design: Design
    graph: Graph

    def image(self, contents: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.uint8] | None:
        """The windows, from each tensor's elements in memory order; None without tensors."""
        regions = self.design.regions
        if not regions:
            return None
        return Windows(windows_of(self.design)).image(
            (region.base, as_bytes(contents[name], self.graph.tensors[name].element))
            for name, region in regions.items()
        )

    def undefined(
        self, given: Container[str], stored: Mapping[str, npt.NDArray[np.bool_]]
    ) -> Mask | None:
        """Bytes of the windows without a value: tensors that are not given, where not stored.

        Parameters
        ----------
        given : container of str
            Names of tensors with contents.
        stored : mapping of str to bool array
            Which elements of the tensors that the program writes are stored, in memory order.
        """
        holes = {}
        for name, tensor in self.graph.tensors.items():
            defined = np.ones(tensor.shape[0] * tensor.shape[1], np.bool_)
            if name in stored and name not in given:
                defined = stored[name]
            holes[name] = (255 * ~defined).astype(np.uint8).repeat(tensor.element.bytes)
        image = self.image(holes)
        return None if image is None else image.astype(np.bool_)

    def check_addresses(self, reference: Result) -> None:
        """Refuse stored addresses that are too large for the wires of their store.

        Raises
        ------
        StepError
        """
        for unit in self.design.units:
            if not isinstance(unit.params, Store | RandomStore):
                continue
            x, name = self.design.channel[unit.inputs["x"]], unit.params.region
            if x.element == address.name:
                numbers = reference.images[name][reference.stored[name]]
                check_numbers(f"tensor {name}", numbers, x.bits)
