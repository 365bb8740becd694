"""Schemes with scales, and which operation has which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from stepgen.frontend.model import Op
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError


@dataclass(frozen=True)
class Setting:
    """Of an operation.

    Attributes
    ----------
    bits : {8, 4}
        Of its weights.
    values : bool
        Whether what it reads becomes int8.
    """

    bits: int
    values: bool


SCHEMES: Final = {
    "w8": Setting(8, values=False),
    "w4": Setting(4, values=False),
    "w8a8": Setting(8, values=True),
    "w4a8": Setting(4, values=True),
}
"""By name: bits of weights, and of values if they have steps."""

NONE: Final = "none"
"""Of operations that stay as they are."""


@dataclass(frozen=True)
class Schemes:
    """The scheme of each operation.

    Parameters
    ----------
    scheme : str
        Of all that no pattern names.
    override : mapping of str to str
        Schemes, or ``none``, by patterns of names with ``*``; of several that fit the last counts.

    Raises
    ------
    StepError
        If there is no such scheme.
    """

    scheme: str
    override: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for pattern, scheme in self.override.items():
            if scheme not in (*SCHEMES, NONE):
                known = ", ".join((*SCHEMES, NONE))
                raise StepError(
                    f"override {shown(pattern)}: there is no scheme {shown(scheme)}, those are "
                    f"{known}"
                )

    def of(self, op: Op) -> Setting | None:
        """The setting of an operation; None if it stays as it is."""
        fit = [own for pattern, own in self.override.items() if fnmatchcase(op.name, pattern)]
        return SCHEMES.get(fit[-1] if fit else self.scheme)

    @property
    def needing(self) -> str:
        """The first scheme that needs a calibration set, for the steps of values; else empty."""
        named = (self.scheme, *self.override.values())
        return next((name for name in named if name in SCHEMES and SCHEMES[name].values), "")

    def check(self, names: Iterable[str]) -> None:
        """Check that each pattern fits an operation.

        Raises
        ------
        StepError
            If one fits none.
        """
        names = [*names]
        for pattern in self.override:
            if not any(fnmatchcase(name, pattern) for name in names):
                known = ", ".join(names)
                raise StepError(
                    f"override {shown(pattern)} fits no linear and no experts; those are {known}"
                )
