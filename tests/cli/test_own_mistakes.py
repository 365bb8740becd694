"""A mistake in a user's own function, operator, unit, circuit or model is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from seeds import others_slow

import stepgen as sg

DOCS = Path(sg.__file__).parents[1] / "docs"
PAGES = ("adding-a-function.md", "adding-an-operator.md", "adding-a-verilog-kernel.md")
SAVED = re.compile(r"ave this as `([\w.]+)`[^`]*\n```\w+\n(.*?)^```", re.M | re.S)
FILES = dict(found for page in PAGES for found in SAVED.findall((DOCS / page).read_text()))

ADD = ', {"count": count}, name)'
OUT = "[Out((*x.shape, sg.static(count)), x.dtype, {**totals, 0: totals[1] * count})]"
LOOK = "    if wait != READY:\n        return wait\n"
PUSH = "    push(M, M[a + P.y], t, 0)\n"
ACTOR = "packed(P, x=x, y=y), reads=[x], writes=[y]"
SECOND = "class LeakyRelu(Unary):\n    def compute(self, at, x):\n        return x\n\n\ndef layer("
PARAMETERS = (
    '    def parameters(self, ports):\n        x = ports["x"]\n        return {"LANES": x.lanes, '
    '"STOP_BITS": x.stop_bits, "LOW": self.low, "HIGH": self.high}\n'
)

MISTAKES = {
    "leaky.py": [
        ("    slope: float =", "    slope =", "LeakyRelu at .*:9: slope has no annotation: write "),
        ("elements = F", "elementss = F", "LeakyRelu at .*:9: elementss has no annotation"),
        ("= FLOATS", "= sg.f32", r"elements must be a .* not f32: write elements = \(f32,\)"),
        ("= FLOATS", "= ('f32',)", "LeakyRelu at leaky.py:9: elements must be .* element type, no"),
        ("elements = F", "elements: tuple = F", "elements is .* no parameter: write elements = "),
        ("cost = 2", "cost = '2'", "LeakyRelu at leaky.py:9: cost must be an integer, not '2'"),
        ("def layer(", SECOND, "LeakyRelu at leaky.py:35: there is a class of .* at leaky.py:8"),
        ("self, at: Setting, x", "self, x", r"compute at leaky.py:27 must take \(self, at, x\), n"),
        ("def compute(", "@staticmethod\n    def compute(", "compute must be a method that takes "),
        ("    cost = 2", "    name = 'leaky'", "LeakyRelu at leaky.py:9: its name follows from"),
        ("sg.fn.leaky_relu(", "sg.fn.LeakyRelu(", "leaky.py:38: .* did you mean leaky_relu?"),
        ("sg.fn.leaky_relu(slope)", "LeakyRelu", r"must be a function \(call it: LeakyRelu\(\)\)"),
    ],
    "repeat.py": [
        ("count: int, name", "count, name", "__call__ at .*:16: count has no annotation: write"),
        ("x: sg.Stream, *", "x, *", "__call__ at repeat.py:16: x has no annotation: write x: sg."),
        ("x: sg.Stream, *", "x: int, *", "__call__ at repeat.py:16 takes no stream: write one as"),
        ("self.add((x,)", "self.add(x", "repeat at .*:63: what its __call__ passes to add must be"),
        (f"return {OUT}", "pass", "repeat at repeat.py:63: what its type rule infer returns must"),
        (OUT, OUT[1:-1], "repeat at repeat.py:63: what its type rule infer returns must be a sequ"),
        (OUT, "[Out((2, 3), x.dtype)]", "repeat at .*:63: the shape of an Out .* must be a seque"),
        (
            OUT,
            OUT.replace("totals[1]", "7"),
            r"the totals of an Out .* as sg.static\(4\).expr",
        ),
        (OUT, "[Out((), x.dtype)]", "repeat at .*:63: its type rule infer .* an Out without dims"),
        (OUT, "[Out(x.shape, 'int8')]", "repeat at .*:63: the dtype of an Out .* must be a data"),
        ("infer(self, call)", "infer(self)", r"Repeat.infer at .*:19 must take \(self, call\), no"),
        ("run(self, use)", "run(self)", r"Repeat.run at repeat.py:24 must take \(self, use\), no"),
        ("yield from x.take()", "yield x.take()", r"repeat_0 .* yielded .*: it must take tokens"),
        ("return y.done()", "return", r"repeat_0 \(repeat.py:63\): .* without done\(\) of its out"),
        ("x=to.input(node, 0)", "x=x", r"repeat_0_promote: x must be a channel, as input, output"),
        ("x=to.input(node, 0)", "x='a'", r"repeat_0_promote: x must be a channel, .*, not 'a'"),
        ("to.unit(node.name", "to.unit(node", "unit at .*: its name must be a string, not"),
        (
            "        to.unit(node.name, params, x=single, y=to.output(node, "
            "delay=params.delay(to.lanes)))\n",
            "",
            "repeat_0 at repeat.py:62: its circuit has no unit that gives repeat_0.0",
        ),
    ],
    "relu.py": [
        ("@dataclass(frozen=True)\n", "", r"Relu.unit at relu.py:24: TypeError: .*'bits'"),
        ("    bits: int\n", "    bits = 8\n", "Rectifier at .*:28: bits has no annotation: write "),
        (
            "    bits: int\n",
            "    bits: str\n",
            "Rectifier at relu.py:24: bits must be a string, no",
        ),
        ('    kind: ClassVar = "rectifier"\n', "", "unit that .* chooses lacks a name: kind"),
        ('"rectifier"', '"no name"', "Rectifier at relu.py:28: its kind must be an ASCII identif"),
        ('    inputs: ClassVar = ("x",)\n', "", "Relu.unit at relu.py:24: .* abstract"),
        ('("x",)', '("x")', r"Rectifier at .*:28: inputs must be .*: write inputs = \('x',\)"),
        ('("x",)', '("x", "z")', r"Rectifier has the inputs x, z, but relu\(\) has 1: name one"),
        ('("y",)', '("z",)', r"Rectifier of relu\(\) has the outputs z: the output .* called y"),
        ("return Rectifier(bits=", "return Rectifier  # (", "is a class where one of it is neede"),
        (
            "Rectifier(bits=tiles[0].element.bits)",
            "3",
            "map_0 at .* is not derived from UnitParams",
        ),
        (
            "Rectifier(bits=tiles[0].element.bits)",
            "[Rectifier(8), Rectifier]",
            "is a class where one of it is needed",
        ),
        ("tiles[0].element.bits)", "tiles[0].elem.bits)", "Relu.unit at relu.py:24"),
        (", without_stops)", ")", r"Relu.unit at .*:23 must take \(self, lanes, tiles, without_st"),
        ("(UnitCore)", "", "relu.py has the unit rectifier and must define its circuit, as one"),
        ("def elaborate", "def elaborated", "RectifierCore of .* lacks elaborate"),
        ("(self, platform)", "(self)", r"elaborate of RectifierCore must take \(self, platform\)"),
        ("        return m\n", "", "RectifierCore.elaborate at relu.py:38: it must return the Mo"),
        ("self.x.ready.eq", "self.y.ready.eq", "elaborate at .*: .* drives ready of its inputs"),
        ("self.x.payload, self.y", "self.a.payload, self.y", "elaborate at relu.py:"),
        ("def build(", "def built(", "lacks the function build"),
        ("(unit, params, layout)", "(unit, layout)", r"must take \(unit, params, layout\), not "),
        ("reads=[x]", "reads=[]", "cycle model of rectifier map_0 has no actor that reads x"),
        (ACTOR, ACTOR.replace("packed(P", "dict(a=1"), "actor at relu.py:68: own must be a sequ"),
        ("actor(unit.name", "actor(unit", "actor at relu.py:68: unit must be a string, not "),
        ('main: ClassVar = "rectify"', 'main: ClassVar = "rec"', "main of Rectifier names rec"),
        ("@step\n", "", "flow at relu.py"),
        ("return acted(M, t)", "return", "flow at relu.py:63: it must return on every path"),
        (
            "acted(M, t)",
            "t + 3 / 2",
            "flow at relu.py:63: it must compute with integers",
        ),
        (LOOK, "", r"rectify of map_0 takes beat 0 of x in cycle 0, when it is not there: .*ready"),
        (
            LOOK,
            LOOK + PUSH,
            r"sends beat 3 into map_0 in cycle 3, where the 2 slots are taken: ",
        ),
        ("M[a + P.x], t))", "M[a + P.z], t))", "flow at relu.py:62: Unknown attribute 'z'"),
        ("def flow(M, a, t)", "def flow(M, a)", r"flow must take \(M, a, t\), not \(M, a\)"),
        ("np.maximum(x, 0)", "np.maximun(x, 0)", "Relu.compute at relu.py:21"),
    ],
    "clip.py": [
        ('= ("clip.sv",)', '= ("clip.sv")', r"Clipper at .* write sources = \('clip.sv',\)"),
        ("model: ClassVar = build", "model: ClassVar = flow", "Clipper at .*: its model must be b"),
        ("model: ClassVar = build", 'model: ClassVar = "b"', "Clipper at .*: model must be a func"),
        ("parameters(self, ports)", "parameters(self)", "Clipper.parameters at clip.py:40 must ta"),
        ('return {"LANES"', '{"LANES"', "parameters of Clipper must return a dict of integers by"),
        (
            PARAMETERS,
            "",
            r"bits, not 36 \(no parameters are set: Clipper has no method param",
        ),
        ('"STOP_BITS": x.stop_bits, ', "", "has 35 bits, not 36 with LANES=4, LOW=-20, HIGH=60"),
        ('top: ClassVar = "clip"', 'top: ClassVar = "klip"', "no module klip, the sources have cl"),
        ('main: ClassVar = "clip"', 'main: ClassVar = "clap"', "main of Clipper names clap"),
    ],
}
CASES = [(file, *mistake) for file, mistakes in MISTAKES.items() for mistake in mistakes]


@pytest.fixture
def there(here: Path) -> Path:
    """A folder with the files of the pages."""
    for name, text in FILES.items():
        (here / name).write_text(text)
    return here


@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    others_slow(CASES, [case for case in CASES if case[0] != "clip.py"] + CASES[-2:]),
)
def test_a_mistake_is_one_sentence(
    stepgen, there: Path, file: str, right: str, wrong: str, said: str
) -> None:
    assert right in FILES[file]
    (there / file).write_text(FILES[file].replace(right, wrong))
    commands = ("run", "verilog", "time")
    ended = next(one for c in commands if (one := stepgen(f"{c} {file}:layer")).code)
    assert ended.code == 2
    assert re.match(rf"stepgen: .*{said}", ended.err.splitlines()[-1])


def test_a_step_that_does_not_look_is_found_in_many_runs(stepgen, there: Path) -> None:
    (there / "relu.py").write_text(FILES["relu.py"].replace(LOOK, ""))
    np.savez(there / "many.npz", latency=[8, 9])
    answer = stepgen("time relu.py:layer --scenarios many.npz")
    assert answer.code == 2
    assert re.search("run 0 of the scenarios: .* takes beat 0 of x in cycle 0, when it", answer.err)


@pytest.mark.parametrize("file", others_slow(FILES, ("leaky.py",)))
def test_no_missing_line_ends_in_a_traceback(stepgen, there: Path, file: str) -> None:
    lines = FILES[file].splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() and file.endswith(".py"):
            (there / file).write_text("".join([*lines[:number], *lines[number + 1 :]]))
            for command in ("run", "verilog"):
                one = stepgen(f"{command} {file}:layer")
                assert one.code in (0, 2), line
                assert not one.code or one.err.splitlines()[-1].startswith("stepgen: "), line


def test_a_file_beside_the_program_is_the_users_too(stepgen, there: Path) -> None:
    (there / "beside.py").write_text(FILES["leaky.py"].replace("numbers.maximum", "numbers.most"))
    (there / "main.py").write_text("from beside import layer as made\n\nlayer = made\n")
    ended = stepgen("run main.py:layer")
    assert ended.code == 2
    assert re.search("LeakyRelu.compute at beside.py:29: AttributeError", ended.err)
