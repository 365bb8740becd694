"""Cases of units with a memory, on chip or off."""

from collections.abc import Mapping

from drawn import LANES, Draw, blank_lanes, to_beats
from harness import row
from lone.case import DEEP, OUTER, ROWS, Case, between, extents, tiles
from off_chip import OffChip

from stepgen.hw.design.pace import Extent, Extents
from stepgen.hw.design.table import Bus, Channel
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.pmu.params import Pmu, Reading
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.ir.wire import Beats


def pmu(draw: Draw) -> Case:
    """Chunks of up to 3 tiles, each of which is read a number of times."""
    count = draw.one((1, 2, 3))
    beats, dims = tiles(draw, OUTER, OUTER, slices=1)
    params = Pmu(3, (Reading(count, True),), draw.one((6, 9)), 2, False, 9, 8)
    y = [*dims[:3], Extent(count, False, "count"), dims[3]]
    return stored(params, {"x": (beats, dims)}, y)


def pmu_by_reference(draw: Draw) -> Case:
    """One chunk per group of a reference, also of an empty one."""
    chosen = draw.nested([OUTER, OUTER], lambda: draw.flags(1, 0.5))
    x = [draw.nested([OUTER], lambda: draw.tile(draw.one(ROWS), 1)) for _ in chosen]
    ref = to_beats(chosen, 1, bool), extents(0, OUTER, OUTER)
    beats = to_beats(x, 3), extents(1, OUTER, OUTER, ROWS)
    params = Pmu(3, (Reading(None, inner=1),), draw.one((6, 9)), 2, False, 9, 8)
    return stored(params, {"x": beats, "ref": ref}, [*beats[1][:3], *ref[1]])


def stored(params: Pmu, xs: Mapping[str, tuple[Beats, Extents]], y: Extents) -> Case:
    """A case of a PMU whose references come back at once."""
    _, dims = xs["x"]
    refs = dims[params.level :]
    channels = [
        Channel("x", LANES, 8, len(dims) - 1),
        Channel("refs", 1, params.page_bits, len(refs) - 1),
        Channel("y", LANES, 8, len(y) - 1, DEEP, params.delay(LANES)),
        *[Channel("ref", 1, 1, len(d) - 1) for n, (_, d) in xs.items() if n == "ref"],
    ]
    unit = row("dut", params, ["x", "refs", *[n for n in xs if n == "ref"]], ["refs", "y"])
    inputs = {name: blank_lanes(b, b.data.shape[1]) for name, (b, _) in xs.items()}
    known = {name: d for name, (_, d) in xs.items()}
    return Case(between([unit], channels, inputs), inputs, {**known, "refs": refs, "y": y}, ["y"])


def load(draw: Draw, most: int = 4) -> Case:
    made = OffChip(draw, Bus(32, 32, 4, 2))
    ref, ref_dims = tiles(draw, OUTER, OUTER)
    nested = draw.nested([OUTER, OUTER], lambda: draw.tile(draw.one(ROWS), 2))
    ref = to_beats(nested, 3)
    _, result, dtype = made.load("y", nested, 2, 3, prompt=draw.one((True, False)), most=most)
    made.sink("y", result, dtype)
    design = made.design().with_depths({"y": DEEP})
    params = next(u.params for u in design.of_kind(Load))
    inner = [params.slices, params.rows, *reversed(params.shape)]
    y = [Extent(n, False, str(n)) for n in inner] + list(ref_dims[2:])
    lanes = design.channel["y_ref"].lanes
    return Case(design, {"y_ref": blank_lanes(ref, lanes)}, {"y_ref": ref_dims, "y": y}, ["y"])


def load_of_few_beats(draw: Draw) -> Case:
    return load(draw, 1)


def random_store(draw: Draw) -> Case:
    made = OffChip(draw, Bus(32, 32, 4, 2))
    rank = draw.one((0, 1))
    made.scatter("y", rank, ahead=draw.one((2, 8)), counts=(1, 2, 3))
    design = made.design().with_depths({"y": DEEP})
    params = next(u.params for u in design.of_kind(RandomStore))
    x = design.channel["y_x"]
    slices = -(-params.row_bytes * 8 // (x.lanes * x.bits))
    dims = extents(0, *[(1, 2, 3)] * (rank + 1))
    tile = [Extent(slices, False, "slices"), Extent(params.rows, False, "rows")]
    inputs = {name: made.inputs[f"s_{name}"] for name in ("y_at", "y_x")}
    known = {"y_at": dims, "y_x": [*tile, *dims], "y": dims}
    return Case(design, inputs, known, ["y"], ("y_at", 0, "y_x"), paired=True)
