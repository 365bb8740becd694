"""What is used of other libraries beside what they document: where, and that it is still so.

A test that fails after an upgrade says what to read again in the new version. Amaranth is pinned to
the one version in which its private parts were read; the others are held by these tests alone.
"""

from __future__ import annotations

import ast
import gc
import re
import tomllib
import typing
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numba
import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

import stepgen
from stepgen.cosim import cocotb_parts
from stepgen.hw import private
from stepgen.ir.arguments import fit
from stepgen.timing import compiled

ROOT = Path(stepgen.__file__).parent

PLACES = {
    "hw/private.py": {"amaranth", "_data", "_MustUse__silence"},
    "timing/compiled.py": {"numba"},
    "cosim/cocotb_parts.py": {"cocotb_tools"},
    "ir/arguments.py": {"_is_protocol"},
    "ir/where.py": {"_getframe"},  # documented, in spite of its name
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


def said(what: str, look: str) -> str:
    return f"{what} is not as it was in Amaranth 0.5.10: {look}"


def test_amaranth_find_yosys() -> None:
    """`amaranth._toolchain.yosys.find_yosys`"""
    tool = private.yosys()
    look = said(
        "amaranth._toolchain.yosys", "see how amaranth.back.verilog finds and runs Yosys now"
    )
    assert tool.version() >= (0, 40), look
    assert tool.run(
        ["-q", "-"], "read_rtlil <<rtlil\nmodule \\m\nend\nrtlil\nwrite_rtlil"
    ).strip(), look


def test_amaranth_memories_of_a_fragment() -> None:
    """`Fragment.get`, `Fragment.subfragments`, `MemoryInstance._data`"""
    found = [(m.depth, m.shape) for m in private.memories(private.elaborated(Circuit()))]
    assert sorted(found) == [(3, 4), (5, 2)], said(
        "amaranth.hdl.Fragment or MemoryInstance",
        "see what Memory.elaborate returns, where its MemoryData is, and how parts are kept",
    )


def test_amaranth_unused_elaboratables() -> None:
    """`Elaboratable._MustUse__silence`"""

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

    assert (warned(False), warned(True)) == (1, 0), said(
        "the warning about what is never elaborated", "see amaranth._unused.MustUse"
    )


def test_amaranth_rtlil_of_a_submodule() -> None:
    """The text of `amaranth.back.rtlil.convert`"""
    look = said("the text of RTLIL", "see amaranth.back.rtlil: the top's attribute, wires, modules")
    whole = private.module(Circuit(), "circuit")
    assert whole.count("attribute \\top 1\n") == 1, look
    text, ports = private.submodule(Circuit(), "circuit")
    assert "attribute \\top" not in text, look
    assert ports == {
        "clk",
        "rst",
        *(f"{p}__{n}" for p in "xy" for n in ("payload", "valid", "ready")),
    }, look


def through_yosys(command: str) -> str:
    text = private.module(Circuit(), "circuit")
    return str(
        private.yosys().run(["-q", "-"], f"read_rtlil <<rtlil\n{text}\nrtlil\nproc\n{command}")
    )


def test_amaranth_names_of_temporaries() -> None:
    """``$12``, which waveforms leave out."""
    text = through_yosys("write_verilog -norename")
    assert re.search(r"^  wire (\[\d+:\d+\] )?\\\$\d+ ;", text, re.MULTILINE), said(
        "the name of temporaries, $1", "see amaranth.back.rtlil, and stepgen.cosim.waveform"
    )


def test_yosys_initial_values_in_verilog() -> None:
    """``reg x = value;``, which becomes a statement of its own."""
    text = through_yosys("write_verilog -norename")
    assert re.search(r"^  reg \[2:0\] count = 3'h5;$", text, re.MULTILINE), (
        "Yosys does not write initial values as it did in 0.50: see write_verilog, and _INITIAL in "
        "stepgen/hw/verilog.py"
    )


def test_yosys_cells_in_rtlil() -> None:
    """The text of ``write_rtlil``, which `stepgen.hw.explicit` rewrites."""
    cell = (
        r"^  cell \$gt \S+\n(    parameter \\\w+ \d+\n){5}"
        r"    connect \\A .*\n    connect \\B \d+'0*10\n    connect \\Y .*\n  end\n"
    )
    assert re.search(cell, through_yosys("write_rtlil"), re.MULTILINE), (
        "Yosys does not write cells as it did in 0.50: see write_rtlil, and stepgen/hw/explicit.py"
    )


def test_numba_tells_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """`numba.core.event`: Listener, register, "numba:compile" """
    from numba.core import event

    counts: list[int] = []
    listener = compiled._Listener()
    monkeypatch.setattr(compiled, "watcher", lambda: type("W", (), {"compiles": counts.append}))
    event.register("numba:compile", listener)
    try:
        numba.njit(lambda x: x + 1)(1)
    finally:
        event.unregister("numba:compile", listener)
    assert counts[0] == 0 < counts[-1], (
        "numba reports its compiling otherwise: see numba.core.event"
    )


def test_numba_keeps_code_where_it_is_told() -> None:
    """`numba.config.CACHE_DIR`"""
    assert "compiled-" in str(numba.config.CACHE_DIR), (
        "numba has no setting for its cache: see NUMBA_CACHE_DIR in numba.core.config"
    )


def test_numba_calls_given_functions() -> None:
    """`numba.core.errors.NumbaExperimentalFeatureWarning`"""
    from numba.core.errors import NumbaExperimentalFeatureWarning

    assert issubclass(NumbaExperimentalFeatureWarning, Warning)
    compiled.allow_first_class_functions()
    assert any(f[2] is NumbaExperimentalFeatureWarning for f in warnings.filters)


def test_cocotb_libraries() -> None:
    """`cocotb_tools.config.libs_dir`"""
    found = [p.name for p in cocotb_parts.libraries().glob(f"lib{cocotb_parts.LIBRARY}.*")]
    assert found, "cocotb's library for Verilator is elsewhere: see cocotb_tools.config and runner"


def test_cocotb_main_program() -> None:
    """`cocotb_tools.config.share_dir`"""
    text = cocotb_parts.main_program().read_text()
    assert '#include "Vtop.h"' in text, (
        "cocotb's main program is another one: see share/lib/verilator, and sim/verilator/model.h"
    )


def test_cocotb_environment(tmp_path: Path) -> None:
    """The variables that cocotb reads, and `cocotb_tools.config.pygpi_entry_point`"""
    import cocotb
    import cocotb_tools

    given = cocotb_parts.environment("module", "top", tmp_path / "results.xml", 7)
    assert given["GPI_USERS"].count(";") == 1
    folders = [Path(p.__path__[0]) for p in (cocotb, cocotb_tools)]
    read = b"".join(
        p.read_bytes() for f in folders for p in f.rglob("*") if p.suffix in (".py", ".so")
    )
    for name in given:
        if name.startswith(("COCOTB_", "GPI_", "PYGPI_", "TOPLEVEL")):
            assert name.encode() in read, (
                f"cocotb does not read {name}: see how cocotb_tools.runner starts a simulation"
            )


def test_typing_protocols() -> None:
    """`typing._ProtocolMeta`'s `_is_protocol`"""

    class Shown(typing.Protocol):
        def show(self) -> str: ...

    assert fit(5, Shown) == 5, (
        "protocols are known otherwise: see typing.is_protocol (3.13), and stepgen.ir.arguments.fit"
    )
