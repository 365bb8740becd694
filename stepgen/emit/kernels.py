"""Verilog kernels of users: their files, checked with Verilator against what stepgen expects."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from stepgen.hw.design.table import Design, Unit
from stepgen.hw.verilog_kernel.params import (
    COMPILED,
    VerilogKernel,
    channels_of,
    defined,
    sources_of,
)
from stepgen.ir.errors import StepError
from stepgen.tools import children
from stepgen.tools.external import verilator

_OUTSIDE = ("stepgen_bench", "stepgen_four_state", "axi_memory", "axi_checks", "recorder")
"""Modules of the test bench."""

_CHECK = "stepgen_check"
_SAID = re.compile(
    r"^%(?:Error|Warning)(?:-\w+)?: (?P<file>[^:\s]+):(?P<line>\d+):\d+: (?P<text>.*)$",
    re.MULTILINE,
)
_HINTS = (
    (r"Can't resolve module reference: '(\w+)'", "there is no module {0}, {modules}"),
    (r"Cannot find file containing module: '(\w+)'", "there is no module {0}, {modules}"),
    (r"(?:Pin|Parameter) not found: '(\w+)'", "module {top} has no port or parameter {0}"),
    (r"Instance .* connect to '(\w+)'", "module {top} has no port {0}"),
    (r"missing pin: '(\w+)'", "module {top} has a port {0} that stepgen doesn't connect"),
    (
        r"'(\w+)' expects (\d+) bits .* (\d+) bits",
        "{0} of module {top} has {1} bits, not {2}{given}",
    ),
    (r"not driven: '(\w+)'", "module {top} doesn't drive {0}, which is not one of its outputs"),
    (r"input/const variable: '(\w+)'", "module {top} drives {0}, which is not one of its inputs"),
)
"""What Verilator says of ports, and what it means here."""


def kernel_files(design: Design, verilog: str) -> dict[str, str]:
    """The files of the Verilog kernels of a design, by name; none where it has no kernels.

    Parameters
    ----------
    design : Design
    verilog : str
        What stepgen wrote of the design.

    Raises
    ------
    StepError
        If a file is missing, can't be compiled, lacks its module or a port of it, or defines a
        module that is there already.
    """
    files = sources_of(design)
    if not files:
        return {}
    if f"{design.name}.v" in files:
        raise StepError(
            f"design {design.name}: the file {design.name}.v of a Verilog kernel is called like "
            f"that of the design: rename it"
        )
    taken = defined(verilog).union(_OUTSIDE, [_CHECK])
    for name, text in files.items():
        for module in sorted(defined(text) & taken):
            raise StepError(
                f"design {design.name}: {name} defines the module {module}, as stepgen does: "
                f"rename it"
            )
    for unit in _distinct(design):
        _check(unit, design, files)
    return files


def compiled(files: Iterable[str]) -> list[str]:
    """Names of the files that tools are given; the others are included by them."""
    return [name for name in files if Path(name).suffix in COMPILED]


def _distinct(design: Design) -> Iterator[Unit]:
    """One unit of each form of each kernel."""
    seen = set()
    for unit in design.units:
        if isinstance(unit.params, VerilogKernel):
            form = json.dumps([unit.kind, _parameters(unit, design), _ports(unit, design)])
            if form not in seen:
                yield unit
            seen.add(form)


def _parameters(unit: Unit, design: Design) -> dict[str, int]:
    assert isinstance(unit.params, VerilogKernel)
    return unit.params.checked_parameters(channels_of(unit, design))


def _ports(unit: Unit, design: Design) -> list[tuple[str, bool, int]]:
    """Name, whether the kernel drives it, and width of each port."""
    assert isinstance(unit.params, VerilogKernel)
    ports = [("clk", False, 1), ("rst", False, 1)]
    for side, out in ((unit.inputs, False), (unit.outputs, True)):
        for port, name in side.items():
            ports += [
                (f"{port}_valid", out, 1),
                (f"{port}_ready", not out, 1),
                (f"{port}_payload", out, design.channel[name].width),
            ]
    return ports + [(name, name == "error", 1) for name in unit.params.signals]


def _check(unit: Unit, design: Design, files: dict[str, str]) -> None:
    """Compile the module of a unit as it is used, but for the rest of the design."""
    assert isinstance(unit.params, VerilogKernel)
    ports, top = _ports(unit, design), unit.params.top
    heads = ",\n".join(
        f"  {'output' if out else 'input'} wire [{width - 1}:0] {name}"
        for name, out, width in ports
    )
    joined = ", ".join(f".{name}({name})" for name, _, _ in ports)
    given = ", ".join(f".{k}({v})" for k, v in _parameters(unit, design).items())
    text = f"module {_CHECK} (\n{heads}\n);\n  {top} #({given}) kernel ({joined});\nendmodule\n"
    with tempfile.TemporaryDirectory(prefix="stepgen_kernel_") as place:
        for name, content in {**files, f"{_CHECK}.sv": text}.items():
            (Path(place) / name).write_text(content, encoding="utf-8")
        tool = verilator()
        done = children.run(
            [
                *(tool.binary, "--lint-only", "-Wall", "-Wno-fatal", "-I.", "--top-module", _CHECK),
                *(f"{_CHECK}.sv", *compiled(files)),
            ],
            cwd=place,
            env={**os.environ, "VERILATOR_ROOT": str(tool.root)},
        )
    prefix = f"{unit.kind} {unit.name} ({', '.join(unit.params.sources)})"
    there = sorted(name for text in files.values() for name in defined(text))
    modules = f"the sources have {', '.join(there) or 'none'}"
    found = _SAID.finditer(done.stdout + done.stderr)
    for said in sorted(found, key=lambda said: not said[0].startswith("%Error")):
        if said["file"] == f"{_CHECK}.sv":
            hint = _hint(said["text"], top=top, given=_given(unit, design), modules=modules)
            raise StepError(f"{prefix}: {hint}")
        if said[0].startswith("%Error"):
            raise StepError(f"{prefix}: {said['file']}:{said['line']}: {said['text']}")
    if done.returncode:
        raise StepError(f"{prefix}: Verilator failed with exit code {done.returncode}")


def _given(unit: Unit, design: Design) -> str:
    """With which parameters a module is used, for messages."""
    given = [f"{name}={value}" for name, value in _parameters(unit, design).items()]
    if given:
        return f" with {', '.join(given)}"
    return f" (no parameters are set: {type(unit.params).__name__} has no method parameters)"


def _hint(text: str, **words: str) -> str:
    for pattern, hint in _HINTS:
        if found := re.search(pattern, text):
            return hint.format(*found.groups(), **words)
    return text
