import pytest

from stepgen.ir.errors import StepError
from stepgen.synth.part import named
from stepgen.tools.shipped import shipped


@pytest.mark.parametrize(
    "path", sorted(shipped("boards/parts").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_part_can_be_read(path):
    found = named(path.stem)
    assert found.luts > 0
    assert {str(grade) for grade in found.speed_grades} == found.grade_scale.keys()
    assert max(found.grade_scale.values()) == 1


def test_an_unknown_part_is_named():
    with pytest.raises(StepError, match="there is no part 'abacus', only ecp5-12, ecp5-25, "):
        named("abacus")
