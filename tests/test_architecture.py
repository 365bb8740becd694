"""Imports between packages go one way, and every operator and unit is complete."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import stepgen
from stepgen.compile.circuit import circuits
from stepgen.hw.design.params import params_class
from stepgen.hw.unit import UnitCore
from stepgen.hw.units import load_all
from stepgen.ir import registry
from stepgen.ir.function import function_types
from stepgen.ir.operator import operators
from stepgen.ir.registry import the_one

ROOT = Path(stepgen.__file__).parent

_TABLE = r"stepgen\.hw\.design"
_PARAMS = r"stepgen\.hw\.units\.\w+\.params"
_ARITHMETIC = r"stepgen\.hw\.arithmetic\.(formulas|operations|pipeline|scaling|sums|tabulated)"
_CORE = r"stepgen\.(ir|semantics|functions|compile|ops|timing)"
MAY_IMPORT = {
    "draw": (r"stepgen\.draw",),
    "ir": (r"stepgen\.(ir|draw)", r"stepgen\.drivers\.stalls"),
    "semantics": (r"stepgen\.(ir|semantics)",),
    "functions": (r"stepgen\.(ir|semantics|functions)", r"stepgen\.hw\.design\.params", _PARAMS),
    "compile": (r"stepgen\.(ir|compile)", _TABLE, _PARAMS),
    "ops": (r"stepgen\.(ir|semantics|compile|ops)", _TABLE, _PARAMS),
    "hw": (r"stepgen\.(ir|draw)", r"stepgen\.hw(?!\.units\.\w+\.model)"),
    "hw/design": (r"stepgen\.ir", _TABLE, r"stepgen\.hw\.(picture|units\.load_all)"),
    "arithmetic": (r"stepgen\.(ir|semantics)", _TABLE, _ARITHMETIC),
    "params": (r"stepgen\.ir", _TABLE, _ARITHMETIC, _PARAMS, r"stepgen\.hw\.units\.load_all"),
    "model": (r"stepgen\.(ir|timing)", _TABLE, _PARAMS),
    "timing": (r"stepgen\.(ir|timing)", _TABLE),
    "tools": (r"stepgen\.(ir|tools)", r"stepgen\.timing\.watch"),
    "frontend": (_CORE, _TABLE, r"stepgen\.(tools|frontend)"),
    "program": (_CORE, _TABLE, r"stepgen\.(tools|frontend|program)"),
    "emit": (_CORE, r"stepgen\.(hw|tools|program|emit)"),
    "drivers": (r"stepgen\.drivers",),
    "cosim": (_CORE, r"stepgen\.(hw|tools|program|emit|drivers|cosim)"),
    "synth": (r"stepgen\.(ir|hw|tools|emit|synth)",),
    "board": (_CORE, r"stepgen\.(hw|tools|program|emit|cosim|synth|board)"),
    "report": (_CORE, r"stepgen\.(draw|hw|tools|frontend|program|emit|cosim|synth|report)"),
    "fuzz": (_CORE, r"stepgen\.(hw|tools|program|emit|cosim|fuzz)", "stepgen$"),
    "study": (_CORE, r"stepgen\.(hw|tools|program|emit|cosim|synth|report|study)"),
    "commands": (
        _CORE,
        r"stepgen\.(draw|hw|tools|frontend|program|emit|cosim|synth|board|report|commands)",
    ),
    "pages": (_CORE, r"stepgen\.(draw|hw|tools|program|emit|cosim|report|pages)", "stepgen$"),
    "cli": ("stepgen",),
}
"""By layer, patterns of the modules, and of what is in them, that its files may import."""

FOLDERS_OF_UNITS = (("hw", "units"), ("hw", "verilog_kernel"))
"""Where `params.py` and `model.py` are layers of their own."""


def layer(path: Path) -> str:
    """The layer of a file: its package, or a part of `hw` with rules of its own."""
    parts = path.relative_to(ROOT).parts
    if parts[:2] in FOLDERS_OF_UNITS and path.stem in ("params", "model"):
        return path.stem
    if parts[:2] == ("hw", "arithmetic") and parts[2] != "circuits":
        return "arithmetic"
    return "hw/design" if parts[:2] == ("hw", "design") else parts[0]


def files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in files(package)]


def imported(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Lines and modules of stepgen that a file imports, also by name in a string."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    package = parts[:-1]
    for node in ast.walk(parsed(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value] if re.fullmatch(r"stepgen(\.\w+)+\.?", node.value) else []
        yield from ((node.lineno, n) for n in names if n.split(".")[0] == "stepgen")


@cache
def text_of(path: Path) -> str:
    """A file, which several tests read."""
    return path.read_text()


@cache
def parsed(text: str) -> ast.Module:
    """A file's syntax tree, which several tests walk through."""
    return ast.parse(text)


def forbidden(path: Path, text: str) -> list[str]:
    allowed = re.compile(rf"({'|'.join(MAY_IMPORT[layer(path)])})(\.|$)")
    return [
        f"{path.relative_to(ROOT.parent)}:{line} imports {name}"
        for line, name in imported(path, text)
        if not allowed.match(name)
    ]


PACKAGES = sorted(p.parent.name for p in ROOT.glob("*/__init__.py"))


def test_imports_point_one_way() -> None:
    assert all(map(files, PACKAGES))
    assert not [w for path in sources() for w in forbidden(path, text_of(path))]


def test_every_layer_has_its_rule() -> None:
    assert {layer(path) for name in PACKAGES for path in files(name)} == set(MAY_IMPORT)


def test_every_package_is_on_the_page_for_newcomers() -> None:
    page = (ROOT.parent / "CONTRIBUTING.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.M)) == PACKAGES


def test_only_circuits_need_amaranth() -> None:
    users = [
        p
        for p in ROOT.rglob("*.py")
        if re.search(r"^from amaranth|^import amaranth", text_of(p), re.M)
    ]
    assert {layer(path) for path in users} <= {"hw", "emit", "cosim", "synth"}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("ir/x.py", "from stepgen.compile import design"),
        ("ir/x.py", "from ..hw.design.table import Design"),
        ("ir/x.py", "from stepgen.functions.bases import Unary"),
        ("semantics/x.py", "from stepgen.functions import retiling"),
        ("hw/units/x/rtl.py", "from ....timing.model import predict"),
        ("hw/units/x/rtl.py", "from .model import build"),
        ("hw/units/x/model.py", "from .rtl import XCore"),
        ("hw/units/x/params.py", "from .model import build"),
        ("hw/units/x/params.py", "from ...fifo import Fifo"),
        ("hw/verilog_kernel/params.py", "from ..fifo import Fifo"),
        ("hw/design/x.py", "from ..units.load.params import Load"),
        ("timing/x.py", "import stepgen.hw.fifo"),
        ("timing/x.py", "def f():\n    from ..hw import fifo"),
        ("hw/x.py", "from ..compile.lower import lower"),
        ("compile/x.py", 'import_module("stepgen.hw.units.x.rtl")'),
        ("compile/x.py", "from ..functions.retiling import RetileRow"),
        ("compile/x.py", "from ..ops.promote import promote"),
        ("ops/x.py", "from stepgen.functions.retiling import RetileRow"),
        ("ops/x.py", "from stepgen.hw.fifo import Fifo"),
        ("report/x.py", "from ..cli import main"),
        ("program/x.py", "from ..cosim.experiment import Experiment"),
        ("emit/x.py", "from ..cosim.case import Case"),
        ("synth/x.py", "from ..cosim.case import Case"),
        ("drivers/x.py", "from ..ir.stalls import Stalls"),
        ("frontend/x.py", "from ..program.program import load"),
    ],
)
def test_a_wrong_import_is_seen(place: str, text: str) -> None:
    assert forbidden(ROOT / place, text)


def test_a_unit_is_a_package() -> None:
    """Its parameters know their circuit and their cycle model, which know nothing of each other."""
    for kind in load_all():
        params = params_class(kind)
        assert params.kind == kind
        assert issubclass(the_one(params.module("rtl"), UnitCore), UnitCore), kind
        built = inspect.signature(params.module("model").build).parameters.keys()
        assert built == {"unit", "params", "layout"}, kind


def test_every_operator_is_timed_on_tiles() -> None:
    timed = registry.modules("stepgen.timing.tiles.ops")
    assert timed.keys() == registry.modules("stepgen.ops").keys()
    assert all(callable(module.build) for module in timed.values())


def test_every_operator_has_a_circuit_or_a_reason() -> None:
    waiting = {name for name, face in operators().items() if face.circuit_needs}
    assert operators().keys() - circuits().keys() == waiting


MAY_NAME_OPERATORS = ("compile/transforms/", "ops/")
"""Transforms look for patterns of operators, and an operator may be made for another one."""

MAY_NAME_FUNCTIONS = (
    *("functions/", "semantics/exact.py", "semantics/tables.py", "hw/arithmetic/", "ops/"),
    "timing/tiles/machines.py",
)
"""Tables and circuits are of arithmetic, not of what a program applies; parameters of operators may
have names of functions; a machine is described by names."""


def named(text: str, attribute: str, known: Collection[str]) -> list[str]:
    """Code that switches on one of the known names, which objects have in an attribute."""
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = _strings(sides) & set(known)
            switch = any(isinstance(s, ast.Attribute) and s.attr == attribute for s in sides)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            names = _strings(node.keys if isinstance(node, ast.Dict) else node.elts) & set(known)
            switch = len(names) > 1
        else:
            continue
        if switch and names:
            found.append(f"line {node.lineno}: {', '.join(sorted(names))}")
    return found


def _strings(nodes: Iterable[ast.AST | None]) -> set[str]:
    inner = (n for node in nodes if node for n in ast.walk(node))
    return {n.value for n in inner if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def naming(attribute: str, known: Collection[str], allowed: tuple[str, ...]) -> list[str]:
    """Files, but for the allowed ones, with code that switches on one of the known names."""
    quoted = re.compile(rf"[\"']({'|'.join(known)})[\"']")  # Most files have none of the names.
    return [
        f"{path}, {found}"
        for path in sources()
        if not str(path.relative_to(ROOT)).startswith(allowed)
        if quoted.search(text := text_of(path))
        for found in named(text, attribute, known)
    ]


def test_only_transforms_switch_on_names_of_operators() -> None:
    assert not naming("op", operators(), MAY_NAME_OPERATORS)


def test_only_functions_switch_on_names_of_functions() -> None:
    assert not naming("name", function_types(), MAY_NAME_FUNCTIONS)


@pytest.mark.parametrize(
    "text",
    [
        'if node.op == "source": pass',
        'if "fork" != above.op: pass',
        'if node.op in ("map", "zip"): pass',
        'LOADS = ("linear_offchip_load", "random_offchip_load")',
        'NEEDS = {"scan": "a pipeline", "zip": "a pipeline"}',
        'MAIN = frozenset(("map", "accum"))',
    ],
)
def test_a_switch_on_names_is_seen(text: str) -> None:
    assert named(text, "op", operators())


@pytest.mark.parametrize(
    "text",
    [
        'packs = node.attrs["fn"].name == "retile_row"',
        'if function.name in ("span_first", "span_last"): pass',
        'KINDS = {"span": 1, "one_hot": 2}',
        'MOVES = ("convert", "retile_row", "retile_col")',
    ],
)
def test_a_switch_on_names_of_functions_is_seen(text: str) -> None:
    assert named(text, "name", function_types())


def test_files_say_what_they_are() -> None:
    texts = {path: text_of(path) for path in ROOT.rglob("*.py")}
    said = {
        path: text for path, text in texts.items() if path.name != "__init__.py" or text.strip()
    }
    assert not [path for path, text in said.items() if not ast.get_docstring(parsed(text))]


TESTS = Path(__file__).parent
CLOCKS = {"perf_counter", "monotonic", "process_time", "thread_time", "timeit", "default_timer"}
MAY_LOOK = re.compile(rf"{'|'.join(CLOCKS)}|\btime\.time|from time|deadline=|suppress_health")
"""What a text has that looks at a clock; others need not be parsed."""


def clocks(text: str) -> list[str]:
    """Uses of a clock in a test, and settings of hypothesis that depend on one."""
    found = []
    for node in ast.walk(ast.parse(text)) if MAY_LOOK.search(text) else ():
        names: list[str] = []
        if isinstance(node, ast.Attribute):
            of_time = isinstance(node.value, ast.Name) and node.value.id == "time"
            names = [f"time.{node.attr}" if of_time else node.attr]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [f"{getattr(node, 'module', '')}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.keyword):
            names = [f"{node.arg}="]
        for name in names:
            plain = name.rpartition(".")[2].removesuffix("_ns")
            clock = plain in CLOCKS or name in ("time.time", "time.time_ns")
            if clock or name in ("deadline=", "suppress_health_check="):
                found.append(f"line {node.lineno}: {name}")
    return found


def test_no_test_looks_at_a_clock() -> None:
    """Count work instead (tests/work.py); the one profile of hypothesis is in tests/conftest.py."""
    found = {path: clocks(path.read_text()) for path in TESTS.rglob("*.py")}
    assert not [path for path, uses in found.items() if uses and path.name != "conftest.py"]


@pytest.mark.parametrize(
    "text",
    [
        "import time\nstart = time.perf_counter()",
        "from time import monotonic",
        "import time\ntime.time()",
        "from time import perf_counter_ns as now",
        "import timeit",
        "settings(max_examples=3, deadline=None)",
    ],
)
def test_a_clock_is_seen(text: str) -> None:
    assert clocks(text)


GENERATED = ("stepgen/__init__.py", "stepgen/ir/fn.pyi", "stepgen/ir/methods.pyi")
"""What `python -m stepgen.pages.stubs` writes."""


def touched(word: str) -> set[str]:
    """Files of stepgen that were made or changed for an addition of this name.

    They are called so or say the name, be it in a comment, other than in a program that uses it.
    """
    found = set()
    for path in [*ROOT.rglob("*.py"), *ROOT.rglob("*.pyi")]:
        name = path.relative_to(ROOT.parent).as_posix()
        text = re.sub(rf"\.{word}\(", "", path.read_text())
        said = re.search(rf"(\b|_){word}(\b|Core|Circuit)", text, re.I)
        if name not in GENERATED and (word in name or said):
            found.add(name)
    return found


def test_what_a_function_takes() -> None:
    """One class; this one also has a table of its own, and a circuit of it."""
    assert touched("gelu") == {
        "stepgen/functions/elementwise.py",
        "stepgen/semantics/tables.py",
        "stepgen/hw/arithmetic/tabulated.py",
        "stepgen/hw/arithmetic/circuits/tabulated.py",
    }


def test_what_a_function_with_a_circuit_takes() -> None:
    """One class, with its arithmetic beside the golden model."""
    assert touched("at_least") == {"stepgen/functions/arithmetic.py"}


def test_what_an_operator_with_a_circuit_takes() -> None:
    """Itself, its timing, its unit and a step of drawn programs, beside what was built upon it."""
    upon = {"stepgen/functions/cutting.py", "stepgen/compile/regrouping.py"}
    upon |= {name for name in touched("promote") if name.startswith("stepgen/compile/transforms/")}
    assert touched("promote") - upon == {
        "stepgen/ops/promote.py",
        "stepgen/timing/tiles/ops/promote.py",
        *(f"stepgen/hw/units/promote/{part}.py" for part in ("params", "model", "rtl")),
        "stepgen/fuzz/generators/plain.py",
    }


def test_what_a_figure_takes() -> None:
    """One file; a board is one too (`tests/synth/test_out_of_context.py`)."""
    assert touched("figure17") == {"stepgen/study/figures/figure17.py"}
