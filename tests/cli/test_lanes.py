"""``stepgen lanes``: what it prints is what the other commands find."""

from __future__ import annotations

import math
import re

import pytest

import stepgen as sg
from stepgen.commands import lanes as command
from stepgen.commands.options import Goal
from stepgen.ir.errors import StepError
from stepgen.synth.estimate import Estimator
from stepgen.tools.starting import INTERRUPTED

NARROW = "p.py:narrow --lanes 4 --slower 5 --no-counters"
PROGRAM = '''
import stepgen as sg


def narrow(rows: int = 4):
    """Products of wide rows, and beside them a few numbers, which can take their time."""
    g = sg.Graph("narrow")
    x = g.input("x", sg.int8[4, 16], (rows,))
    w = g.input("w", sg.int8[16, 4], (rows,))
    g.output(x.map(sg.fn.matmul(), w), "y")
    few = g.input("few", sg.int32[1, 4], (rows,))
    g.output(few.map(sg.fn.requantize(multiplier=77, shift=4)), "z")
    return g, {}
'''


@pytest.fixture
def narrow(here):
    """A program of which one function needs its lanes, beside those of all tests."""
    (here / "p.py").write_text(PROGRAM)


@pytest.mark.usefixtures("narrow")
def test_the_chosen_circuit_is_that_of_other_commands(stepgen) -> None:
    data = stepgen(f"lanes {NARROW} --json").json
    assert data["lanes"] == "4,requantize=1"
    options = f"p.py:narrow --lanes {data['lanes']} --no-counters --json"
    assert stepgen(f"time {options}").json["cycles"] == data["cycles"] <= data["limit_cycles"]
    total = stepgen(f"show --design {options}").json["estimate"]["total"]
    assert total == data["used"]
    start = data["start"]
    assert start["lanes"] == "4"
    assert data["limit_cycles"] == int(1.05 * start["cycles"])
    assert data["used"]["lut"] < 0.95 * start["lut"]
    first, *steps = data["steps"]
    assert first == start
    assert [one["group"] for one in steps].count(None) == 0
    assert steps[-1]["cycles"] == data["cycles"]
    luts = [one["lut"] for one in data["steps"]]
    assert luts == sorted(luts, reverse=True)
    assert sum(group["lut"] for group in data["groups"]) == data["used"]["lut"]
    shown = stepgen(f"lanes {NARROW}").out
    assert shown.rstrip().endswith(f"--lanes {data['lanes']}")
    assert f"{data['used']['lut']:,} LUT" in shown


@pytest.mark.usefixtures("narrow")
def test_the_fastest_that_fits(stepgen) -> None:
    whole = stepgen(f"lanes {NARROW} --json").json
    luts = (whole["start"]["lut"] + whole["throughout"][-1]["lut"]) // 2
    data = stepgen(f"lanes p.py:narrow --lanes 4 --fit {luts} --no-counters --json").json
    assert data["limits"] == {"lut": luts}
    assert data["used"]["lut"] <= luts
    fitting = [one["cycles"] for one in whole["throughout"] if one["lut"] <= luts]
    assert data["cycles"] <= min(fitting)
    said = stepgen("lanes p.py:narrow --lanes 2 --fit 10 --no-counters")
    assert said.code == 2
    assert re.fullmatch(
        r"stepgen: no circuit of narrow was found that fits: with --lanes 1 it takes [\d,]+ LUT, "
        "and there are 10",
        said.err.splitlines()[-1],
    )


@pytest.mark.usefixtures("narrow")
def test_python_chooses_as_the_command_and_the_circuit_agrees(stepgen, here) -> None:
    """In RTL, with every cycle as it was predicted when the lanes were chosen."""
    from stepgen.program import program

    graph, inputs = program.find("p.py:narrow")()
    found = sg.choose_lanes(graph, inputs, lanes=2, slower=10, counters="none")
    data = stepgen("lanes p.py:narrow --lanes 2 --slower 10 --no-counters --json").json
    assert {**data, **found.document(), "program": data["program"]} == data
    assert str(found.cycles) in repr(found).replace(",", "")
    checked = sg.test(graph, inputs, lanes=found.lanes, counters="none", driver="cpp")
    assert checked.good, checked.faults
    assert checked.cycles == found.cycles


def test_ctrl_c_prints_the_best_until_then(stepgen, monkeypatch, narrow) -> None:
    measured, number = command._Circuits.measured, []

    def some(self, lanes, most):
        if len(number) == 4:
            raise KeyboardInterrupt
        number.append(measured(self, lanes, math.inf))
        return number[-1]

    monkeypatch.setattr(command._Circuits, "measured", some)
    said = stepgen(f"lanes {NARROW} --json")
    assert said.code == INTERRUPTED
    assert said.json["stopped"]
    limit = 1.05 * min(one.cycles for one in number)
    assert said.json["used"]["lut"] == min(one.luts for one in number if one.cycles <= limit)
    number.clear()
    assert "4 circuits, then the search was stopped" in stepgen(f"lanes {NARROW}").out


def test_ctrl_c_while_the_chosen_circuit_is_estimated(stepgen, monkeypatch, narrow) -> None:
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "estimate", interrupted)
    said = stepgen(f"lanes {NARROW} --json")
    assert said.code == INTERRUPTED
    assert said.json["stopped"]
    assert said.json["lanes"] == "4,requantize=1"


def test_the_chosen_circuit_is_estimated_as_a_whole(stepgen, monkeypatch, narrow) -> None:
    """Where circuits were compared by wrong numbers, what is printed and what fits is right."""
    known = Estimator._control
    monkeypatch.setattr(
        Estimator,
        "_control",
        lambda self, channels: {
            k: n - 900 * (k == "lut") for k, n in known(self, channels).items()
        },
    )
    data = stepgen(f"lanes {NARROW} --json").json
    options = f"p.py:narrow --lanes {data['lanes']} --no-counters --json"
    assert stepgen(f"show --design {options}").json["estimate"]["total"] == data["used"]
    assert data["steps"][-1]["lut"] == data["used"]["lut"]
    assert data["used"]["lut"] <= data["start"]["lut"]
    luts = data["start"]["lut"] - 1
    fitting = stepgen(f"lanes p.py:narrow --lanes 4 --fit {luts} --no-counters --json").json
    assert fitting["used"]["lut"] <= luts


MISTAKES = [
    ("--slower -1", "a run can be slower by 0 to 1,000 per cent, not by -1: --slower 5 lets it .*"),
    ("--slower nan", "a run can be slower by 0 to 1,000 per cent, not by nan: .*"),
    ("--fit 0", "--fit takes a number of LUTs from 1 on, not '0'"),
    ("--fit ulx", "--fit takes a number of LUTs or a board, colorlight-i5, .*, not 'ulx'"),
    ("--fit ulx3s-85f:0%", "the share of a board's LUTs is above 0 and up to 100 %, not '0%'"),
    ("--fit ulx3s-85f:most", "the share of a board's LUTs is .*, not 'most'"),
    ("--fit zcu104", "--fit can't take the board zcu104: LUTs are estimated for an ECP5, .*"),
    ("--lanes 1", "operators with 1 lane can't have fewer: start with 2 or more"),
    ("--lanes 3", "lanes must be a power of two.*not 3"),
    ("--lanes 4,*=2", "Invalid value for '--lanes': .* two numbers of lanes for all others"),
    ("--lanes 8,nothing=4", "the program layer has no operator .*'nothing'.*"),
]


@pytest.mark.parametrize(("options", "sentence"), MISTAKES)
def test_a_mistake(stepgen, options: str, sentence: str) -> None:
    said = stepgen(f"lanes p.py:layer {options}")
    assert said.code == 2
    assert re.fullmatch(f"stepgen: {sentence}", said.err.splitlines()[-1])


def test_finished_designs_have_their_lanes(stepgen, here) -> None:
    assert stepgen("verilog p.py:layer -o made").code == 0
    said = stepgen("lanes made")
    assert said.code == 2
    assert "is finished, with its lanes: choose those of its program" in said.err


def test_a_board_bounds_all_that_it_has() -> None:
    half = Goal(fit="ulx3s-85f:50%")
    assert half.limits == {"lut": 41820, "ff": 83640, "multiplier": 156, "block_ram": 208}
    with pytest.raises(StepError) as error:
        _ = Goal(fit="ulx").limits
    for name in re.findall(r", ([-a-z\d]+)(?=,)", str(error.value)):
        assert Goal(fit=name).limits["lut"] > 0
    assert Goal(fit=10**10).limits == {"lut": 10**10}
    assert Goal(fit="20,000").limits == {"lut": 20000} == Goal(fit=20000).limits
    assert (Goal().percent, half.percent, Goal(slower=0).percent) == (5, 0, 0)
