import pytest
from harness import lone

from stepgen.hw.design.table import Channel
from stepgen.hw.units.group.params import Group
from stepgen.ir.errors import StepError


@pytest.mark.parametrize(
    ("level", "chunk", "y", "message"),
    [
        (4, 2, (2, 8, 4), "the level 4 of an item must be within 0..3"),
        (-1, 2, (2, 8, 4), "the level -1 of an item must be within 0..3"),
        (2, 0, (2, 8, 4), "a chunk must have at least 1 item, not 0"),
        (2, 2, (2, 8, 3), "y must be of rank 4 "),
        (2, 2, (4, 8, 4), "y must be of rank 4 "),
    ],
)
def test_what_can_not_be_built(level, chunk, y, message):
    with pytest.raises(StepError, match=f"^design lone: group dut: {message}"):
        lone(Group(level, chunk), [Channel("x", 2, 8, 3)], [Channel("y", *y)])
