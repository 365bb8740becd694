import tomllib

import pytest

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.synth import part
from stepgen.synth.part import named
from stepgen.tools.shipped import shipped

from ..toml import toml

OPTIONAL = ("ffs", "limits_mhz", "grade_scale")
WRONG = {
    "name": ["", "a b", 5],
    "family": ["", "ecp6"],
    "device": ["", "--help x", ["85k"]],
    "package": ["", "[exit]"],
    "speed_grades": [[], [6, 6], [8, 6], ["6"], 6, [6.5]],
    "luts": [0, -1, "many", 1.5, True],
    "multipliers": [-1, "28"],
    "block_rams": [-1, []],
    "ffs": [-1, 0.5],
    "limits_mhz/lut": [300.0],
    "limits_mhz/multiplier": [0, -1.0, "fast", 1e9],
    "grade_scale/9": [0.5],
    "grade_scale/6": [0, -1, 1.5, "slow", [1]],
}
"""Values that can not be, by the key of a part's file."""


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


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads a part from its content."""
    (tmp_path / "boards" / "parts").mkdir(parents=True)
    monkeypatch.setattr(part, "shipped", lambda name: tmp_path / name)

    def reads(content):
        (tmp_path / "boards" / "parts" / "mine.toml").write_text(toml(content))
        return named("mine")

    return reads


def refused(read, content, *expected):
    with pytest.raises(StepError) as caught:
        read(content)
    text = str(caught.value)
    assert text.startswith("boards/parts/mine.toml")
    assert len(text.splitlines()) == 1
    for words in expected:
        assert words in text, (words, text)


def test_values_that_can_not_be(read):
    content = tomllib.loads(shipped("boards/parts/ecp5-85.toml").read_text())
    assert read(content).luts == content["luts"]
    for path, values in WRONG.items():
        table, _, key = path.rpartition("/")
        for value in values:
            inner = {**content[table], key: value} if table else value
            expected = [table, key]
            if not isinstance(value, list) and key not in (
                "lut",
                "9",
            ):  # there the message names the key
                expected.append(shown(value))
            refused(read, {**content, table or key: inner}, *expected)


def test_keys_that_are_missing_or_unknown(read):
    content = tomllib.loads(shipped("boards/parts/ecp5-85.toml").read_text())
    for key in content:
        less = {name: value for name, value in content.items() if name != key}
        if key in OPTIONAL:
            assert read(less).name == content["name"]
        else:
            refused(read, less, f"lacks {key}")
    refused(read, {**content, "colour": 3}, "no field 'colour'")
