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
    if found.limits_mhz:
        assert {str(grade) for grade in found.speed_grades} == found.grade_scale.keys()
        assert max(found.grade_scale.values()) == 1
        assert found.limit(1, 1, found.speed_grades[-1]) == min(found.limits_mhz.values())
    else:
        assert found.limit(1, 1, found.speed_grades[0]) == float("inf")


def test_an_unknown_part_is_named():
    with pytest.raises(StepError, match="there is no part 'abacus', only alveo-u55c, artix7-100, "):
        named("abacus")
