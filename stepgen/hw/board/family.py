"""The interface of a family of FPGAs, as far as a board's top uses it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from stepgen.hw.design.block_rams import Blocks
from stepgen.ir.errors import StepError
from stepgen.ir.registry import classes

__all__ = ["Family", "Pll", "family"]


@dataclass(frozen=True)
class Pll:
    """How a clock is made of another one.

    Parameters
    ----------
    source, hz : Fraction
        Of the clock that comes in, and of the one that is made.
    vco : Fraction
        Of the oscillator.
    settings : dict of str to int
        Dividers, as the family calls them.
    """

    source: Fraction
    hz: Fraction
    vco: Fraction
    settings: dict[str, int] = field(hash=False)


class Family(ABC):
    """Hard blocks: those between pins and the module `BoardTop`, and block RAM.

    Attributes
    ----------
    name : str
        As parts call it.
    blocks : Blocks
        What a block of RAM holds.
    """

    name: str
    blocks = Blocks()

    @abstractmethod
    def plls(self, source: int, most_hz: int) -> Iterator[Pll]:
        """Clocks that a PLL makes of one of `source` Hz, within all limits of the block.

        All whose whole Hz are `most_hz` or fewer, or the fastest of these of each oscillator.
        """

    @abstractmethod
    def steps(self, pll: Pll) -> int:
        """In how many equal steps the phase of a second clock can be chosen."""

    @abstractmethod
    def clock(self, m, pad, pll: Pll, step: int | None = None):
        """Put a PLL in.

        Parameters
        ----------
        m : Module
        pad : IOPort
            The clock that comes in.
        pll : Pll
            From `pll`.
        step : int, optional
            How many of `steps` a second clock comes after the first; none is made without it.

        Returns
        -------
        clock, second, locked : Signal
            The last is not synchronous to the first; `second` is None if there is no second one.
        """

    @abstractmethod
    def input(self, m, pad, signal) -> None:
        """Connect a pin that is read."""

    @abstractmethod
    def output(self, m, pad, signal) -> None:
        """Connect a pin that is driven."""

    @abstractmethod
    def bidirectional(self, m, pad, o, oe, i) -> None:
        """Connect a pin that is driven with `o` while `oe` is high, and read as `i`."""

    @abstractmethod
    def forwarded(self, m, pad, clock) -> None:
        """Put a clock on a pin, for a memory chip."""

    def pll(self, source: int, hz: int) -> Pll:
        """A PLL whose clock, in whole Hz, is the fastest that is not above `hz`.

        Parameters
        ----------
        source, hz : int
            Hz.

        Raises
        ------
        StepError
            If there is none.
        """
        return _fastest(self, source, hz)


@cache
def _fastest(family: Family, source: int, hz: int) -> Pll:
    """See `Family.pll`; there are many to choose from."""
    found = max(family.plls(source, hz), key=lambda pll: (pll.hz, pll.vco), default=None)
    if found is None:
        raise StepError(
            f"no PLL of the family {family.name} makes a clock of at most {hz / 1e6:g} MHz "
            f"of {source / 1e6:g} MHz"
        )
    return found


@cache
def family(name: str) -> Family:
    """An FPGA family, from the package `families`.

    Raises
    ------
    StepError
        If boards with parts of this family can't be built.
    """
    known = classes(f"{__package__}.families", Family)
    if name not in known:
        raise StepError(f"there is no family of parts {name!r}, only {', '.join(known)}")
    return known[name]()
