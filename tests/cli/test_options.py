"""Every option of every command with every hostile text: one sentence, or it succeeds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from stepgen.board import build as bitstreams
from stepgen.board import virtual
from stepgen.cli import app as application
from stepgen.cli.options import HardwareOptions, RunOptions
from stepgen.cosim import builds
from stepgen.emit import elaborate
from stepgen.fuzz import campaign
from stepgen.ir.errors import StepError
from stepgen.study import study

TEXTS = [
    *("", " ", "a", "-1", "0", "1", "3", "1.5", "nan", "inf", "1e3", "٣", "9" * 25, "9" * 5000),
    *("x=1", "=", "x=", "=1", "a=b=c", "x=٣", "x=99999999999", "x=-1", "x=nan", "x=1e400"),
    *("all=0.5", "all=", "rows=1e3", "rows=٣", "rows=-1", "rows=" + "9" * 5000, "width=0"),
    *("p.py", "p.py:", ":layer", "p.py:__name__", "p.py:sg", "graph.json", "in.npz", "bad.csv"),
    *("../none/x", "/proc/stat", "none.json", "none.npz", "none.csv", "x.png", ".", "sda", "moe"),
    *("{}", "[1", "memory.channels=٣", "memory.channels=1e9", "memory=1", "like=sda", "\udcff"),
    *("time_multiplex:regions=-1", "parallelize:", "dynamic_tiling:x=1", "[" * 5000),
    *("memory.channels=" + "[" * 100_000, "fifo_depth=unbounded", "fifo_depth=0", "a\nb"),
]
PARTS = 8
BASE = {
    "show": ["p.py:layer", "--design"],
    "metrics": ["p.py:layer", "--policy", "hardware"],
    "verilog": ["p.py:layer"],
    "run": ["p.py:layer"],
    "time": ["p.py:layer"],
    "lanes": ["p.py:layer", "--fit", "1"],
    "report": ["p.py:layer"],
    "compare": ["p.py:layer", "p.py:layer"],
    "test": ["p.py:layer"],
    "deploy": ["p.py:layer", "--board", "virtual:ulx3s-85f"],
    "synth": ["p.py:layer", "--board", "ulx3s-85f"],
    "build": ["p.py:layer", "--board", "ulx3s-85f"],
    "board": [],
    "simulate": ["p.py:layer"],
    "machine": [],
    "figure": ["8"],
    "import": ["p.py:mlp"],
    "quantize": ["config.json", "--calibrate", "ids.npy"],
    "talk": ["--machine", "golden", "--tokens", "1"],
    "fuzz": ["--no-rtl", "--cases", "1"],
    "demo": ["--set", "tokens=4"],
    "doctor": [],
}
"""A line that is right, quick commands first."""

pytestmark = pytest.mark.usefixtures("language_model")

COMMANDS: dict[str, Any] = application.app.commands


def lines() -> Iterator[tuple[str, str, list[str], str]]:
    """Command, name of the parameter, and what stands before and behind a text."""
    for name, given in BASE.items():
        for parameter in COMMANDS[name].params:
            if parameter.param_type_name == "argument":
                yield name, parameter.name, given[1:], "argument"
            elif not parameter.is_flag and parameter.name != "help":
                yield name, parameter.name, given, parameter.opts[-1]


def walks() -> Iterator[Any]:
    """Each option once with a part of the texts; all commands with all texts are slow."""
    seen: set[str] = set()
    for name, key, given, option in lines():
        yield pytest.param(
            name, given, option, TEXTS, id=f"{name}-{key}-all", marks=pytest.mark.slow
        )
        if key not in seen:
            some = TEXTS[len(seen) % PARTS :: PARTS]
            yield pytest.param(name, given, option, some, id=f"{name}-{key}")
        seen.add(key)


def test_every_command_is_walked():
    assert set(BASE) == set(COMMANDS)


@pytest.fixture(scope="module")
def light():
    """No simulation is built, nothing is drawn: these tests are about options."""

    def no_build(*args: object, **kwargs: object) -> None:
        raise StepError("nothing is built here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "build", no_build)
        patch.setattr(bitstreams, "build", no_build)
        patch.setattr(virtual, "build", no_build)
        patch.setattr(elaborate, "to_verilog", lambda *args, **kwargs: "")
        patch.setattr(study, "run", lambda *args, **kwargs: [])
        patch.setattr(campaign, "run", lambda *args, **kwargs: None)
        yield


@pytest.mark.parametrize(("name", "given", "option", "texts"), [*walks()])
def test_options(stepgen, here, light, capsys, name, given, option, texts):
    (here / "bad.csv").write_text("a,b\n1\n")
    (here / "in.npz").write_bytes(b"PK\x03\x04")
    (here / "graph.json").write_text('{"stepgen": 1}')
    for text in texts:
        line = [name, text, *given] if option == "argument" else [name, *given, option, text]
        try:
            code = application.execute(line)
        except BaseException as error:
            error.add_note(f"with {option} {text[:40]!r}")
            raise
        said = capsys.readouterr()
        assert code in (0, 2), line
        assert "Traceback" not in said.err
        assert {*re.findall(r" at (\w+\.py):", said.err)} <= {"p.py", "moe.py"}, said.err
        if code == 2:
            *_, last = said.err.splitlines()
            assert last.startswith("stepgen: "), line
            assert len(last) < 1000, last[:200]


WITHOUT_EFFECT = {
    "show p.py:layer": (HardwareOptions, "is for the circuit: add --design"),
    "metrics p.py:layer": (HardwareOptions, "is for the circuit: add --policy hardware"),
    "verilog p.py:layer": (RunOptions, "is for a test bench: add --bench"),
    "board": (HardwareOptions, "is for a program: name one"),
    "test p.py:layer": (("waveform_cycles", "waveform_units"), "is for a waveform: add --waveform"),
    "report p.py:layer": (("against_settings",), "is for another program: add --against"),
    "simulate p.py:layer --all": (("top",), "shows some operators and --all every one: leave one"),
    "fuzz --no-rtl --replay case.json": (
        ("minutes", "cases", "seed", "out", "jobs", "dask"),
        "is for cases that are drawn, and --replay judges kept ones: leave one of them out",
    ),
}
"""Lines, and options that change nothing there."""


@pytest.mark.parametrize("line", WITHOUT_EFFECT)
def test_options_without_effect_are_refused(stepgen, here, light, line):
    """Whatever their values are."""
    options, sentence = WITHOUT_EFFECT[line]
    names = options if isinstance(options, tuple) else [f.name for f in fields(options)]
    for name in names:
        (option,) = (p for p in COMMANDS[line.split()[0]].params if p.name == name)
        values = getattr(option.type, "choices", ["7", "x=0.5"])
        for value in [""] if option.is_flag else values:
            said = stepgen(f"{line} {option.opts[-1]} {value}")
            assert said.code == 2
            if "Invalid value" not in said.err:
                assert said.err.startswith(f"stepgen: {option.opts[-1]} {sentence}"), said.err
            else:
                assert value != "7"


@pytest.mark.parametrize("wraps", [("axi", "wishbone"), ("wishbone", "axi"), ("axi", "axi")])
def test_each_wrapper_that_is_asked_for_is_written(stepgen, here, light, wraps):
    options = " ".join(f"--wrap {wrap}" for wrap in wraps)
    said = stepgen(f"verilog p.py:layer {options} -o made --json").json
    assert {key for key in said if key.endswith("wrapper")} == {f"{w} wrapper" for w in wraps}
    assert {p.name for p in (here / "made").glob("*_*.v")} == {f"layer_{w}.v" for w in wraps}


HUGE = """
import stepgen as sg


def huge(n: int = 1 << 20):
    g = sg.Graph("huge")
    w = g.tensor("w", (n, n), sg.int8)
    g.output(sg.linear_offchip_load(w, tile=(4, 8), shape=(2,), stride=(1,)), "y")
    return g
"""


def test_tensors_that_a_command_does_not_use_are_not_drawn(stepgen, here):
    (here / "huge.py").write_text(HUGE)
    assert stepgen("time huge.py:huge --json").json["off_chip_bytes"]["symbolic"] == 64
    assert stepgen("metrics huge.py:huge").code == 0
    for command in ("run", "test"):
        said = stepgen(f"{command} huge.py:huge")
        assert said.code == 2
        assert "drawing w of 1048576x1048576 numbers takes" in said.err.splitlines()[-1]
