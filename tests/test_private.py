"""Uses of undocumented parts of other libraries: where they are, and that they still work.

A test that fails after an upgrade says what to read again in the new version. Amaranth is pinned to
the one version in which its private parts were read; the others are held by these tests alone.
"""

from __future__ import annotations

import ast
import functools
import gc
import re
import tomllib
import typing
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import numba
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

import stepgen
from stepgen.cosim import cocotb_parts
from stepgen.hw import private
from stepgen.ir.arguments import fit
from stepgen.timing import compiler

ROOT = Path(stepgen.__file__).parent
P = typing.ParamSpec("P")

PLACES = {
    "hw/private.py": {"amaranth", "_data", "_MustUse__silence"},
    "timing/compiler.py": {"numba"},
    "cosim/cocotb_parts.py": {"cocotb_tools"},
    "frontend/pytorch/patching.py": {"_attn_implementation"},  # tests/frontend/test_pytorch.py
    "ir/arguments.py": {"_is_protocol"},
    "ir/where.py": {"_getframe"},  # documented, in spite of its name
    "tools/starting.py": {"_exit"},  # documented, in spite of its name
}
"""By file: undocumented parts of others that it may use."""

_UNDOCUMENTED = re.compile(
    r"(amaranth|numba|cocotb|cocotb_tools)\.(\w+\.)*_\w+(\..*)?"
    r"|numba\.core\b.*|cocotb_tools\.(config|runner).*"
    r"|amaranth\.back\.rtlil|amaranth\.hdl\.(Fragment|MemoryData|MemoryInstance)"
)
_OF_NAMEDTUPLES = {"_fields", "_replace", "_asdict", "_make"}


def defined(tree: ast.AST) -> set[str]:
    """Names with an underscore that a file defines."""
    found = set(_OF_NAMEDTUPLES)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and _of_self(node):
            found.add(node.attr)
    return found


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def foreign(text: str) -> Iterator[str]:
    """Undocumented parts of other libraries that a text uses."""
    tree = ast.parse(text)
    own = defined(tree)
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = (
                f"{node.module}." if isinstance(node, ast.ImportFrom) and not node.level else ""
            )
            names = (module + alias.name for alias in node.names)
            yield from (n.split(".")[0] for n in names if _UNDOCUMENTED.fullmatch(n))
        elif isinstance(node, ast.Attribute):
            name = node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "setattr"):
            name = str(ast.literal_eval(node.args[1])) if _is_text(node.args[1]) else ""
        if name.startswith("_") and not name.endswith("__") and name not in own:
            yield name


def test_each_has_one_place() -> None:
    used = {
        str(path.relative_to(ROOT)): set(foreign(path.read_text())) for path in ROOT.rglob("*.py")
    }
    assert {path: names for path, names in used.items() if names} == PLACES


@pytest.mark.parametrize(
    "text",
    [
        "from amaranth.hdl._mem import MemoryData",
        "from amaranth.hdl import Fragment",
        "from amaranth.back import rtlil",
        "import amaranth._toolchain",
        "from numba.core import event",
        "from cocotb_tools import config",
        "x._secret",
        "x._secret = 1",
        "getattr(x, '_secret', None)",
    ],
)
def test_a_use_elsewhere_is_seen(text: str) -> None:
    assert list(foreign(text))


def test_amaranth_is_pinned_to_the_version_that_was_read() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    (pinned,) = [d for d in project["dependencies"] if re.match(r"amaranth[=<>~!]", d)]
    assert pinned == f"amaranth=={version('amaranth')}", (
        "another Amaranth is installed than the one whose private parts were read: if all tests "
        "here pass with it, name it in pyproject.toml"
    )


class Circuit(wiring.Component):
    """A stream through a memory, and a comparison."""

    def __init__(self) -> None:
        super().__init__({"x": In(stream.Signature(4)), "y": Out(stream.Signature(4))})

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.store = store = memory.Memory(shape=4, depth=3, init=[])
        m.submodules.inner = inner = Module()
        inner.submodules.other = memory.Memory(shape=2, depth=5, init=[])
        write, count = store.write_port(), Signal(3, init=5)
        m.d.sync += count.eq(count + (self.x.payload > 2))
        m.d.comb += [
            write.en.eq(self.x.valid),
            write.data.eq(self.x.payload),
            self.y.payload.eq(count),
        ]
        return m


def interface(name: str, look: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """A test of something undocumented, which says what to read where that has changed."""

    def decorated(test: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                test(*args, **kwargs)
            except Exception as error:
                pytest.fail(f"{name} is not as it was when it was read: {look} ({error!r})")

        return run

    return decorated


@interface(
    "amaranth._toolchain.yosys: find_yosys, and _process_result of _BuiltinYosys",
    "see how amaranth.back.verilog finds and runs Yosys, and stepgen.hw.yosys",
)
def test_amaranth_finds_yosys() -> None:
    tool = private.yosys()
    assert tool.version() >= (0, 40)
    assert tool.run(["-q", "-"], "read_rtlil <<rtlil\nmodule \\m\nend\nrtlil\nwrite_rtlil").strip()


@interface(
    "amaranth.hdl.Fragment: get and subfragments, and MemoryInstance._data",
    "see what amaranth.lib.memory.Memory.elaborate returns, and how Fragment keeps its parts",
)
def test_amaranth_memories_of_a_circuit() -> None:
    found = [(m.depth, m.shape) for m in private.memories(private.elaborated(Circuit()))]
    assert sorted(found) == [(3, 4), (5, 2)]


@interface("Elaboratable._MustUse__silence", "see amaranth._unused.MustUse")
def test_amaranth_warns_of_what_is_not_elaborated() -> None:
    class Unused(Elaboratable):
        def elaborate(self, platform) -> Module:
            return Module()

    def warned(silenced: bool) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            part = Unused()
            if silenced:
                private.reused(part)
            del part
            gc.collect()
        return len(caught)

    assert (warned(False), warned(True)) == (1, 0)


@interface(
    "the RTLIL of amaranth.back.rtlil.convert",
    "see there how the top's attribute, the ports of a module and its end are written",
)
def test_amaranth_writes_rtlil() -> None:
    whole = private.module(Circuit(), "circuit")
    assert whole.count("attribute \\top 1\n") == 1
    text, ports = private.submodule(Circuit(), "circuit")
    assert "attribute \\top" not in text
    bits = {"payload": 4, "valid": 1, "ready": 1}
    streams = {f"{port}__{name}": bits[name] for port in "xy" for name in bits}
    assert ports == {"clk": 1, "rst": 1} | streams


class Nested(Elaboratable):
    """A register that is an array of arrays."""

    def elaborate(self, platform):
        m = Module()
        layout = data.ArrayLayout(data.ArrayLayout(8, 2), 2)
        x, held = Signal(layout, name="x"), Signal(layout, name="held")
        m.d.sync += held.eq(x)
        return m


@interface(
    "the names of elements of arrays in amaranth.back.rtlil, x[1]",
    "see there; Yosys calls the bits of signals so, and both may meet in ABC",
)
def test_amaranth_names_elements_of_arrays() -> None:
    plain = rtlil.convert(Nested(), name="nested", ports=(), emit_src=False)
    assert {"\\x[1]", "\\x[1][0]", "\\held[1][0]"} <= {*plain.split()}
    words = {*private.module(Nested(), "nested", ports=()).split()}
    assert {"\\x", "\\x__1", "\\x__1__0", "\\held__1__0"} <= words
    assert not any(word.startswith("\\") and word.endswith("]") for word in words)


def through_yosys(command: str) -> str:
    text = private.module(Circuit(), "circuit")
    script = f"read_rtlil <<rtlil\n{text}\nrtlil\nproc\n{command}"
    return str(private.yosys().run(["-q", "-"], script))


@interface(
    "the name of a temporary in amaranth.back.rtlil, $12",
    "see there, and stepgen.cosim.waveform, which leaves them out",
)
def test_amaranth_names_temporaries() -> None:
    text = through_yosys("write_verilog -norename")
    assert re.search(r"^  wire (\[\d+:\d+\] )?\\\$\d+ ;", text, re.MULTILINE)


@interface(
    "an initial value in Yosys's write_verilog, reg x = 1", "see _INITIAL in stepgen.hw.verilog"
)
def test_yosys_writes_initial_values() -> None:
    text = through_yosys("write_verilog -norename")
    assert re.search(r"^  reg \[2:0\] count = 3'h5;$", text, re.MULTILINE)


@interface("a cell in Yosys's write_rtlil", "see stepgen.hw.explicit, which rewrites them")
def test_yosys_writes_cells() -> None:
    cell = (
        r"^  cell \$gt \S+\n(    parameter \\\w+ \d+\n){5}"
        r"    connect \\A .*\n    connect \\B \d+'0*10\n    connect \\Y .*\n  end\n"
    )
    assert re.search(cell, through_yosys("write_rtlil"), re.MULTILINE)


@interface("numba.core.event", "see there who tells listeners of numba:compile, and when")
def test_numba_reports_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import event

    counts: list[int] = []
    listener = compiler.listener()
    monkeypatch.setattr(compiler, "watcher", lambda: type("W", (), {"compiles": counts.append}))
    event.register("numba:compile", listener)
    try:
        numba.njit(lambda x: x + 1)(1)
    finally:
        event.unregister("numba:compile", listener)
    assert counts
    assert listener.count > 0


@interface("cocotb_tools.config.libs_dir", "see cocotb_tools.runner for the library for Verilator")
def test_cocotb_has_a_library() -> None:
    assert [*cocotb_parts.libraries().glob(f"lib{cocotb_parts.LIBRARY}.*")]


@interface(
    "cocotb_tools.config.share_dir, lib/verilator/verilator.cpp",
    "see cocotb_tools.runner for the main program, and sim/verilator/model.h",
)
def test_cocotb_has_a_main_program() -> None:
    assert '#include "Vtop.h"' in cocotb_parts.main_program().read_text()


@interface(
    "cocotb_tools.config.pygpi_entry_point, or a variable that cocotb reads",
    "see the environment in which cocotb_tools.runner starts a simulation",
)
def test_cocotb_reads_its_environment(tmp_path: Path) -> None:
    import cocotb
    import cocotb_tools

    given = cocotb_parts.environment("module", "top", tmp_path / "results.xml", 7)
    assert given["GPI_USERS"].count(";") == 1
    folders = [Path(p.__path__[0]) for p in (cocotb, cocotb_tools)]
    files = [p for f in folders for p in f.rglob("*") if p.suffix in (".py", ".so")]
    read = b"".join(p.read_bytes() for p in files)
    own = [n for n in given if n.startswith(("COCOTB_", "GPI_", "PYGPI_", "TOPLEVEL"))]
    assert [name for name in own if name.encode() not in read] == []


@interface(
    "_is_protocol of typing.Protocol", "see typing.is_protocol, and stepgen.ir.arguments.fit"
)
def test_python_knows_protocols() -> None:
    class Shown(typing.Protocol):
        def show(self) -> str: ...

    assert fit(5, Shown) == 5


@pytest.mark.parametrize(
    ("changed", "test", "said"),
    [
        ("amaranth._toolchain.yosys.find_yosys", test_amaranth_finds_yosys, "find_yosys"),
        ("amaranth.hdl.Fragment.get", test_amaranth_memories_of_a_circuit, "MemoryInstance._data"),
        (
            "amaranth._unused.MustUse.__del__",
            test_amaranth_warns_of_what_is_not_elaborated,
            "MustUse",
        ),
        ("amaranth.back.rtlil.convert", test_amaranth_writes_rtlil, "rtlil.convert"),
        ("cocotb_tools.config.libs_dir", test_cocotb_has_a_library, "libs_dir"),
    ],
)
def test_a_change_is_reported(
    monkeypatch: pytest.MonkeyPatch, changed: str, test: Callable[[], None], said: str
) -> None:
    monkeypatch.delattr(changed)
    with pytest.raises(pytest.fail.Exception, match=f"{said}.* is not as it was.*: see "):
        test()
