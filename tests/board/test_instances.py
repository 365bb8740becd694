"""Which part of a circuit a cell or net belongs to."""

from __future__ import annotations

import pytest

import stepgen as sg
from stepgen.board.instances import CHIP, CONTROL, LINK, groups
from stepgen.compile.lower import lower

SYSTEM = "board.system"
INNER = f"{SYSTEM}.accelerator"


@pytest.fixture(scope="module")
def design():
    """Sums whose stops are rewritten and which are scaled where they are made."""
    g = sg.Graph("scaled")
    x, w = g.input("x", sg.int8[4, 8], ("N", 1)), g.input("w", sg.int8[8, 4], ("N", 1))
    g.output(x.map(sg.fn.matmul(), w).flatten(0, 1).map(sg.fn.requantize(shift=4)), "y")
    return lower(g)


@pytest.mark.parametrize(
    ("name", "group"),
    [
        (f"{INNER}.map_0.rows.places.0.1_DO", "unit map_0"),
        (f"{INNER}.map_0__error_TRELLIS_FF_Q", "unit map_0"),
        (f"{INNER}.epilogue_map_0.lane_0.held", "unit map_0"),
        (f"{INNER}.restop_map_0_y.stop", "unit map_0"),
        (f"{INNER}.fifo_x.store.read__addr_TRELLIS_FF_Q_4", "FIFO x"),
        (f"{INNER}.map_1__r__payload_TRELLIS_FF_Q_1_DI_LUT4_Z", "FIFO map_1"),
        (f"{INNER}.run_control.running_TRELLIS_FF_Q", CONTROL),
        (f"{INNER}.unknown__r__payload", CONTROL),
        (f"{SYSTEM}.control.passed", CONTROL),
        ("board.receiver.seen_0", LINK),
        ("reset_TRELLIS_FF_Q", CHIP),
    ],
)
def test_cells_belong_to_units_and_fifos_by_name(design, name: str, group: str) -> None:
    (unit,) = (unit for unit in design.units if unit.epilogue)
    assert (unit.name, bool(unit.restops), "map_1" in design.channel) == ("map_0", True, True)
    assert groups(design).of(name) == group
