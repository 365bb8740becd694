"""A mistake in a user's own function, unit, circuit or cycle model is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stepgen as sg

PAGE = Path(sg.__file__).parents[1] / "docs" / "adding-a-function.md"
RIGHT = re.search(r"Save this as `relu.py`:\n\n```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
assert RIGHT

MISTAKES = {
    "no dataclass": (
        "@dataclass(frozen=True)\nclass Rectifier",
        "class Rectifier",
        "Rectifier.* no dataclass|unexpected keyword argument 'bits'",
    ),
    "no annotation": ("    bits: int\n", "    bits = 8\n", "unexpected keyword argument 'bits'"),
    "no kind": (
        '    kind: ClassVar = "rectifier"\n',
        "",
        "unit that .* chooses lacks a name: kind",
    ),
    "no inputs": ('    inputs: ClassVar = ("x",)\n', "", "abstract"),
    "other output": (
        'outputs: ClassVar = ("y",)',
        'outputs: ClassVar = ("z",)',
        "Rectifier .* has the ports x, z, but x, y are connected",
    ),
    "a class": (
        "return Rectifier(bits=tiles[0].element.bits)",
        "return Rectifier",
        "is a class where one of it is needed|delay",
    ),
    "no unit": ("Rectifier(bits=tiles[0].element.bits)", "3", "map_0"),
    "wrong name": ("tiles[0].element.bits)", "tiles[0].elem.bits)", "Relu.unit at relu.py:24"),
    "no elaborate": ("def elaborate", "def elaborated", "elaborate"),
    "wrong port": ("self.x.payload, self.y", "self.a.payload, self.y", "elaborate at relu.py:"),
    "no build": ("def build(", "def built(", "lacks the function build"),
    "no step": ("@step\n", "", "flow at relu.py"),
    "wrong compute": ("np.maximum(x, 0)", "np.maximun(x, 0)", "Relu.compute at relu.py:21"),
}


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence(stepgen, here: Path, right: str, wrong: str, said: str) -> None:
    assert RIGHT
    text = RIGHT[1]
    assert right in text
    (here / "relu.py").write_text(text.replace(right, wrong))
    told = [stepgen(f"{command} relu.py:layer") for command in ("verilog", "time", "run")]
    bad = [one for one in told if one.code]
    assert bad
    for one in bad:
        assert one.code == 2
        assert re.fullmatch(rf"stepgen: .*({said}).*\n", one.err.splitlines(keepends=True)[-1])
