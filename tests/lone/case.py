"""One unit alone between ports, with drawn streams: cases for what all kinds of units must keep."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drawn import LANES, Draw, to_beats
from harness import row, sink, source

from stepgen.hw.design.pace import Extent, Extents
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.ir.wire import Beats

DEEP = 1 << 12


@dataclass
class Case:
    """One unit, or several in a row, between ports."""

    design: Design
    inputs: dict[str, Beats]
    extents: dict[str, Extents]
    outputs: list[str]
    beside: tuple[str, int, str] = ("", 0, "")
    """An input, the level of its elements, and another of which each belongs to a tile."""
    likewise: str = ""
    """One more input with such elements."""
    paired: bool = False
    """Whether tiles without such elements are invalid too; then each element is one beat."""
    together: bool = False
    """Whether the inputs have the same beats, so that they end together."""
    by_tile: Mapping[str, int] = field(default_factory=dict)
    """Inputs that have as many elements as others, and end with them, by the level of these."""


def extents(slices: int, *dims: tuple[int, ...]) -> list[Extent]:
    """Of dims drawn from these numbers, outermost first, above rows of `slices` beats."""
    made = [Extent(max(d), 0 in d, f"D{n}") for n, d in enumerate(reversed(dims))]
    return [Extent(slices, False, "slices"), *made] if slices else made


def between(
    units: list[Unit], channels: list[Channel], inputs: Mapping[str, Beats], lanes: int = LANES
) -> Design:
    """A design of units between ports."""
    read = {name for u in units for name in u.inputs.values()}
    made = {name for u in units for name in u.outputs.values()}
    ports = [source(c.name) for c in channels if c.name in inputs]
    ports += [sink(name) for name in made - read]
    return Design("alone", lanes, Bus(), (*units, *ports), tuple(channels))


def alone(
    params: UnitParams,
    xs: Mapping[str, tuple[Beats, Extents]],
    ys: Mapping[str, Extents],
    wide: str = "",
    width: int = 0,
    formats: Mapping[str, tuple[int, int]] | None = None,
    lanes: int = LANES,
) -> Case:
    """A case of one unit; lanes have 1 bit for selectors and flags, 32 for `wide`, else 8.

    With `width` the unit works on selectors of so many bits. `formats` has lanes and bits of
    channels that have others.
    """
    dims = {**{name: d for name, (_, d) in xs.items()}, **ys}
    rank = {name: len(d) - 1 for name, d in dims.items()}
    given = {name: width or beats.data.shape[1] for name, (beats, _) in xs.items()}
    bits = {
        name: 1 if width or name in ("sel", "flags") else 32 if name == wide else 8 for name in dims
    }
    channels = [Channel(n, given[n], bits[n], rank[n]) for n in xs]
    delay = params.delay(lanes)
    channels += [
        Channel(n, 1 if n == "flags" else width or lanes, bits[n], rank[n], DEEP, delay) for n in ys
    ]
    for n, channel in enumerate(channels):
        own = (formats or {}).get(channel.name, (channel.lanes, channel.bits))
        channels[n] = replace(channel, lanes=own[0], bits=own[1])
    unit = row("dut", params, tuple(xs), tuple(ys))
    inputs = {name: beats for name, (beats, _) in xs.items()}
    return Case(between([unit], channels, inputs, lanes), inputs, dims, list(ys))


ROWS = (0, 1, 2, 3)
OUTER = (0, 1, 2, 3)


def tiles(draw: Draw, *dims: tuple[int, ...], rows: tuple[int, ...] = ROWS, slices: int = 0):
    """Beats of drawn tiles with their extents."""
    slices = slices or draw.one((1, 2))
    nested = draw.nested(dims, lambda: draw.tile(draw.one(rows), slices))
    return to_beats(nested, len(dims) + 1), extents(slices, *dims, rows)


def bits(draw: Draw, *dims: tuple[int, ...], width: int = 1):
    """Beats of drawn flags or selectors with their extents."""
    nested = draw.nested(dims, lambda: draw.flags(width, 0.5))
    return to_beats(nested, len(dims) - 1, bool), extents(0, *dims)
