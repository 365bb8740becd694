"""Iterative tensor types as texts."""

from __future__ import annotations

import re
from typing import NoReturn

from stepgen.ir.arguments import shown
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.errors import StepError
from stepgen.ir.itensor import Itensor, Trips
from stepgen.ir.where import user_line

_WHOLE = re.compile(
    r"itensor\s*<\s*(?P<tile>[\w\s]+?)\s*,\s*iter_space\s*:?\s*\[(?P<trips>[^\]]*)\]\s*\*\s*"
    r"\[(?P<steps>[^\]]*)\]\s*,\s*iter_map\s*:?\s*\((?P<names>[^)]*)\)\s*(?P<symbols>\[[^\]]*\])?"
    r"\s*->\s*\((?P<walks>[^)]*)\)\s*>"
)
_NUMBER = re.compile(r"[0-9]{1,18}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DIM = re.compile(r"[\w*+() -]*[A-Za-z_][\w*+() -]*")
_SHORT = {"i8": "int8", "i16": "int16", "i32": "int32", "i1": "bool"}
"""Names of element types as MLIR has them."""

LONGEST = 4000
"""Most characters of a type."""


def parse(text: str) -> Itensor:
    """The type that a text says: `Itensor.parse`."""
    found = _WHOLE.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if found is None:
        raise StepError(
            f"itensor at {user_line()}: {shown(text)} is not written as {Itensor.EXAMPLE}"
        )
    reader = _Reader(text.strip())
    tile, element = reader.tile(found["tile"])
    names = reader.items(found["names"])
    if found["symbols"] is not None:
        reader.refuse(f"its map has the symbols {found['symbols']}, and only loops may be in one")
    trips = [reader.trips(item) for item in reader.items(found["trips"])]
    steps = [reader.number(item, "a step") for item in reader.items(found["steps"])]
    if not len(trips) == len(steps) == len(names):
        reader.refuse(
            f"it has {len(trips)} numbers of trips, {len(steps)} steps and {len(names)} loops in "
            f"its map, but they must be equally many"
        )
    if len(set(names)) < len(names):
        reader.refuse("its map names two loops alike")
    walks = [reader.walk(item, names) for item in reader.items(found["walks"])]
    return Itensor(tile, element, list(zip(trips, steps, strict=True)), walks)  # type: ignore[arg-type]


class _Reader:
    """The parts of one text, with its errors."""

    def __init__(self, text: str) -> None:
        self.text = text

    def refuse(self, message: str) -> NoReturn:
        raise StepError(f"itensor at {user_line()}: {message} in {self.text}")

    def items(self, text: str) -> list[str]:
        return [item.strip() for item in text.split(",")] if text.strip() else []

    def number(self, text: str, what: str) -> int:
        if not _NUMBER.fullmatch(text):
            self.refuse(f"{what} must be a number, not {text!r}")
        return int(text)

    def trips(self, text: str) -> Trips:
        if _DIM.fullmatch(text):
            return text
        return self.number(text, "trips or the name of a dim")

    def tile(self, text: str) -> tuple[list[int], str]:
        *extents, element = (part.strip() for part in text.split("x"))
        element = _SHORT.get(element, element)
        if element not in ELEMENTS:
            self.refuse(f"{element!r} is not an element type, those are {', '.join(ELEMENTS)}")
        return [self.number(extent, "an extent of a tile") for extent in extents], element

    def walk(self, text: str, names: list[str]) -> list[int]:
        """The loops of one dim: 0, a loop, or a sum of loops."""
        if text == "0":
            return []
        used = []
        for part in (part.strip() for part in text.split("+")):
            if part in names:
                used.append(names.index(part))
                continue
            if _NAME.fullmatch(part):
                self.refuse(f"its map uses the symbol {part}, and the loops are {', '.join(names)}")
            self.refuse(
                f"its map has {text!r} for a dim, which must be 0, a loop or a sum of loops: "
                f"factors belong to the steps"
            )
        return sorted(used)
