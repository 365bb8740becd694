"""What a netlist takes of a part, and which part of a circuit takes it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stepgen.synth.toolchain import RESOURCES

Used = dict[str, int]
"""Numbers by resource, see `RESOURCES`."""


@dataclass(frozen=True)
class Netlist:
    """Cells of a flat netlist.

    Attributes
    ----------
    cells : dict of str to dict of str to int
        What each takes, by its name: that of the net that it drives, behind the instances in which
        it lies, as yosys gives it.
    """

    cells: Mapping[str, Mapping[str, int]]

    @classmethod
    def read(cls, path: Path, top: str, kinds: Mapping[str, Mapping[str, int]]) -> Netlist:
        """Read what yosys has written.

        Parameters
        ----------
        path : Path
        top : str
            Name of the module.
        kinds : mapping
            What cells of each type take.
        """
        cells = json.loads(path.read_text(encoding="utf-8"))["modules"][top]["cells"]
        return cls({n: kinds[c["type"]] for n, c in cells.items() if c["type"] in kinds})

    @property
    def used(self) -> Used:
        """All together."""
        return _sum(self.cells.values())

    def by_group(self, groups: Groups) -> dict[str, Used]:
        """What each group of instances takes."""
        members: dict[str, list[Mapping[str, int]]] = {}
        for name, takes in self.cells.items():
            members.setdefault(groups.of(name), []).append(takes)
        return {group: _sum(found) for group, found in members.items()}


@dataclass(frozen=True)
class Groups:
    """Names for parts of a circuit.

    Attributes
    ----------
    paths : dict of str to str
        Name by the path of an instance, whose parts stand between dots; what is in an instance
        within it belongs to the same, unless that has a name of its own. A path may end with what
        stands before two underscores in names of nets.
    rest : str
        Of all else.
    """

    paths: Mapping[str, str]
    rest: str

    def of(self, name: str) -> str:
        """The group of a cell or net."""
        # Of "a.b.x__r__valid" those are "a.b.x__r", "a.b.x", "a.b" and "a".
        ends = [found.start() for found in re.finditer(r"\.|(?<=[^_.])__", name)]
        groups = (self.paths.get(name[:end]) for end in reversed(ends))
        return next((group for group in groups if group is not None), self.rest)


def _sum(several: Iterable[Mapping[str, int]]) -> Used:
    total: Counter[str] = Counter(dict.fromkeys(RESOURCES, 0))
    for takes in several:
        total.update(takes)
    return dict(total)
