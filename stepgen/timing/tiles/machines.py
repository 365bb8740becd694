"""Descriptions of machines on which programs are timed (paper, section 5.1).

A machine is data only. Deviations of the published simulator, which the view *as published*
reproduces, are named fields, off by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.policy import PAPER, PUBLISHED, Policy
from stepgen.timing.tiles import positive
from stepgen.timing.tiles.depths import UNBOUNDED, Depth
from stepgen.timing.tiles.dram import DDR4, HBM2, Dram
from stepgen.timing.tiles.simple import SimpleMemory


@dataclass(frozen=True)
class Compute:
    """Compute resources of one higher-order operator.

    Parameters
    ----------
    flops : int
        FLOPs per cycle of every Map, Accum and Scan.
    of_functions : dict of str to int
        The same for operators that apply these functions.
    fixed : dict of str to int
        Cycles per element of functions that take a fixed time, for any tile.
    multipliers : int, optional
        Those of all operators that multiply matrices together, instead of FLOPs of each: they are
        divided by the root of the work that each has in a run, with which the sum of their times is
        least.

    Raises
    ------
    StepError
        If a number is not positive.
    """

    flops: int = 4096
    of_functions: dict[str, int] = field(default_factory=dict)
    fixed: dict[str, int] = field(default_factory=dict)
    multipliers: int | None = None

    def __post_init__(self) -> None:
        positive.check("compute", positive.integers(self))
        positive.check("compute.of_functions", self.of_functions)
        positive.check("compute.fixed", self.fixed)
        if self.multipliers is not None:
            positive.check("compute", {"multipliers": self.multipliers})

    def of(self, function: str) -> int:
        """FLOPs per cycle of an operator that applies `function`."""
        return self.of_functions.get(function, self.flops)


@dataclass(frozen=True)
class Machine:
    """Description of a machine for the timing engine on tiles.

    Parameters
    ----------
    name : str
        Name of the machine.
    memory : SimpleMemory or Dram
        Off-chip memory.
    compute : Compute
        Compute resources.
    onchip_bandwidth : int
        Bytes per cycle of each on-chip memory unit.
    fifo_depth : int or "unbounded"
        Elements that a FIFO holds where the program does not set a depth. If unbounded, FIFOs are
        never full, also where the program sets a depth: that is a minimum.
    tiles_in_flight : int
        Tiles that a load may have requested and not yet delivered.
    stream_elements : int
        Elements of a tile that move through a FIFO in one cycle. A consumer sees a tile with its
        first elements, another follows its last, and rows of a result are sent as they are
        computed. 0: a tile moves in one cycle, as in the paper.
    policy : Policy
        The accounting model: how bytes of tiles are counted, on chip and in stores.
    loads_add_up : bool
        Whether an operator reads its operands from on-chip memory one after the other. The
        published simulator does; by the paper's text every operand has its own memory unit.
    crossbars_read : bool
        Whether a Partition reads tiles that are in on-chip memory one after the other before it
        sends them. The published simulator does.
    first_accumulator_is_stored : bool
        Whether the cost of an Accum counts the write of its initial value instead of its result.
        The published simulator does, so that writing a dynamic result costs nothing.

    Raises
    ------
    StepError
        If a number is not positive; `stream_elements` may be 0, `fifo_depth` unbounded.
    """

    name: str
    memory: SimpleMemory | Dram
    compute: Compute = Compute()
    onchip_bandwidth: int = 64
    fifo_depth: Depth = 2
    tiles_in_flight: int = 2
    stream_elements: int = 0
    policy: Policy = PAPER
    loads_add_up: bool = False
    crossbars_read: bool = False
    first_accumulator_is_stored: bool = False

    def __post_init__(self) -> None:
        numbers = positive.integers(self)
        moved = {"stream_elements": numbers.pop("stream_elements")}
        positive.check(f"machine {self.name}", numbers)
        positive.check(f"machine {self.name}", moved, least=0)
        if self.fifo_depth != UNBOUNDED:
            positive.check(f"machine {self.name}", {"fifo_depth": self.fifo_depth})


FIXED = dict.fromkeys(("place_row", "place_rows", "mask_cols", "mask_rows", "span_end", "count"), 1)
"""Functions on addresses or rows: one cycle per element."""

SDA_MEMORY = SimpleMemory(
    channels=32, request_bytes=64, interval=2, latency=18, requests_per_cycle=16
)

SDA = Machine(
    "sda",
    SDA_MEMORY,
    Compute(4096, fixed=FIXED),
)
"""The paper's machine: 16x16 bf16 compute tiles, 64 B/cycle on-chip memory units, HBM2 with
1024 B/cycle (section 5.1), and loads that keep two tiles in flight."""

SDA_PUBLISHED = replace(
    SDA,
    name="sda-published",
    memory=replace(SDA_MEMORY, requests_per_cycle=1, rows_apart=True, triangular=True),
    tiles_in_flight=1,
    policy=PUBLISHED,
    loads_add_up=True,
    crossbars_read=True,
    first_accumulator_is_stored=True,
)
"""As in the published simulator: loads wait for a complete tile before they request the next, and
issue one request per cycle."""

SDA_HBM2 = replace(SDA, name="sda-hbm2", memory=HBM2)
"""The paper's machine with its HBM2 modelled as DRAM: at most 1024 B/cycle."""

SDA_DDR4 = replace(SDA, name="sda-ddr4", memory=DDR4)
"""The same machine with two channels of DDR4-3200."""

U55C = Machine(
    "u55c",
    SimpleMemory(channels=29, request_bytes=64, interval=1, latency=40, requests_per_cycle=29),
    Compute(4096, of_functions=dict.fromkeys(("matmul", "matmul_add"), 2 * 902), fixed=FIXED),
    onchip_bandwidth=2048,
    fifo_depth=8,
    tiles_in_flight=16,
)
"""An AMD Alveo U55C: HBM that moves 29 x 64 bytes a cycle, and 9,024 multipliers, of which each of
some ten matrix operators of a language model has 902. Loads with known addresses read ahead."""

MACHINES = {m.name: m for m in (SDA, SDA_PUBLISHED, SDA_HBM2, SDA_DDR4, U55C)}
"""Machines by name."""


def named(name: str) -> Machine:
    """The machine of that name.

    Raises
    ------
    StepError
        If there is none.
    """
    if not isinstance(name, str) or name not in MACHINES:
        raise StepError(f"there is no machine {shown(name)}, only {', '.join(MACHINES)}")
    return MACHINES[name]
