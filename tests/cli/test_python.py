"""Commands and the functions of the same name in Python: one implementation, one sentence."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import stepgen as sg
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
from stepgen.commands.call import called
from stepgen.commands.options import Circuit, Timing
from stepgen.commands.source import Drawing, Source
from stepgen.commands.test import TestResult as Tested
from stepgen.cosim.verdict import Verdict
from stepgen.draw.svg import FULL
from stepgen.ir.errors import StepError
from stepgen.program import inputs, program
from stepgen.timing.deadlock import Deadlock

COMMANDS = ("run", "time", "simulate", "verilog", "test", "synthesize")


@pytest.fixture
def made(here):
    """The program of the tests of commands, as Python has it."""
    return program.find("p.py:layer")


def test_a_run_has_the_values_of_the_command(stepgen, here, made) -> None:
    line = "run p.py:layer --set rows=6 --seed 3 --inputs gate.npz -o out.npz --save-inputs in.npz"
    gate = np.array([[1], [0], [1], [1], [0], [1]], bool)
    np.savez("gate.npz", gate=gate)
    said = stepgen(line)
    graph, _ = made(rows=6)
    result = sg.run(graph, {"gate": gate}, seed=3)
    assert {*result.drawn} == {"x", "w"}
    again = sg.run(graph, inputs.load(here / "in.npz", graph))
    assert again.streams == result.streams
    assert again.drawn == []
    with np.load("out.npz") as stored:
        assert np.array_equal(stored["y"], result.tensors["y"])
    assert f"drawn: {', '.join(result.drawn)} (seed 3)" in said.out
    assert repr(result) == "<run of layer, out: 4 values, tensor y: 6 x 4>"
    assert len(result.nested("out")) == result.count("out") == 4


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ("", {}),
        ("--latency 90 --interval 3", {"latency": 90, "interval": 3}),
        (
            "--stall x=0.5 --stall mem.r=0.3 --seed 4",
            {"stall": {"x": 0.5, "mem.r": 0.3}, "seed": 4},
        ),
        ("--stall all=0.4 --early x", {"stall": {"all": 0.4}, "early": ["x"]}),
        ("--bus-bits 128 --burst 4 --depth x=9", {"bus_bits": 128, "burst": 4, "depth": {"x": 9}}),
        ("--lanes 2 --no-fuse --onchip 64", {"lanes": 2, "no_fuse": True, "onchip": 64}),
        ("--lanes 2,x=4", {"lanes": {"*": 2, "x": 4}}),
        ("--transform insert_forks", {"transform": ["insert_forks"]}),
    ],
)
def test_a_prediction_is_that_of_the_command(stepgen, made, options, keywords) -> None:
    said = stepgen(f"time p.py:layer {options} --json").json
    result = sg.time(*made(), **keywords)
    assert result.cycles == said["cycles"]
    read, written = result.traffic
    moved = {"symbolic": result.symbolic, "model": read + written}
    assert said["off_chip_bytes"] == {**moved, "read": read, "written": written}
    assert {a.unit: a.busy for a in result.activity}.items() <= {
        u["unit"]: u["busy"] for u in said["units"]
    }.items()
    assert repr(result).startswith(f"<time of layer: {result.cycles:,} cycles, {read:,} bytes read")
    assert result.streams["x"] == 4 * -(-8 // result.design.lanes_at("x")) + 1


def test_a_simulation_is_that_of_the_command(stepgen, made) -> None:
    line = "simulate p.py:layer --machine sda --change memory.channels=2 --depth x.0=3 --json"
    result = sg.simulate(*made(), machine="sda", change={"memory.channels": 2}, depth={"x.0": 3})
    said = stepgen(line).json
    del said["settings"]
    own = result.document()
    assert {**said, "program": ""} == {
        **own,
        "program": "",
        "files": said["files"],
        "outdated": None,
    }
    assert f"{result.cycles:,} cycles, {result.traffic:,} bytes" in repr(result)


def test_verilog_is_that_of_the_command(stepgen, here, made) -> None:
    said = stepgen("verilog p.py:layer -o one --wrap axi --json").json
    result = sg.verilog(*made(), out="two", wrap=["axi"])
    assert result.hash == said["hash"]
    assert result.text == (here / "one" / "layer.v").read_text()
    assert {*result.files} == {*said} - {"hash", "built", "removed", "left", "settings"}
    assert all(path.exists() for path in result.files.values())


def test_a_test_is_that_of_the_command(stepgen, here, made) -> None:
    said = stepgen("test p.py:layer --driver cpp --stall x=0.3 -o one --json").json
    result = sg.test(*made(), driver="cpp", stall={"x": 0.3}, out="two")
    assert result.good
    assert result.cycles == result.predicted == said["cycles"]["simulated"]
    assert result.compared == said["compared"]
    assert (
        repr(result) == f"<test of layer: good, {result.cycles} cycles, {result.cycles} predicted>"
    )


def test_a_model_is_lowered_as_by_the_command(stepgen, language_model) -> None:
    said = stepgen("time config.json --set cache=4 --set element=f32 --latency 20 --json").json
    model = sg.frontend.from_config("config.json")
    result = sg.time(model, cache=4, element="f32", latency=20)
    assert result.cycles == said["cycles"]
    stored = stepgen("run config.json --set cache=4 --seed 2 -o out.npz")
    assert stored.code == 0
    result = sg.run(model, cache=4, seed=2)
    with np.load("out.npz") as found:
        for name in result.written:
            assert np.array_equal(found[name], result.tensors[name])
    line = "time config.json --set cache=no"
    with pytest.raises(sg.StepError, match="cache to be an integer, not 'no'") as raised:
        sg.time(model, cache="no")
    assert str(raised.value).partition(" ")[2] in stepgen(line).err


MISTAKES = [
    ("time", "--depth nothing=3", {"depth": {"nothing": 3}}),
    ("time", "--stall nothing=0.5", {"stall": {"nothing": 0.5}}),
    ("time", "--stall x=2", {"stall": {"x": 2.0}}),
    ("time", "--early y", {"early": ["y"]}),
    ("time", "--lanes 3", {"lanes": 3}),
    ("time", "--latency 0", {"latency": 0}),
    ("time", "--onchip -1", {"onchip": -1}),
    ("time", "--onchip big", {"onchip": "big"}),
    ("time", "--dim N=3", {"dim": {"N": 3}}),
    ("time", "--transform nothing", {"transform": ["nothing"]}),
    ("run", "--lanes 3", {"lanes": 3}),
    ("simulate", "--machine nothing", {"machine": "nothing"}),
    ("simulate", "--change nothing=1", {"change": {"nothing": 1}}),
    ("simulate", "--depth x=0", {"depth": {"x": 0}}),
    ("verilog", "--package vivado", {"package": ["vivado"]}),
    ("test", "--driver nothing", {"driver": "nothing"}),
    ("synth", "--board nothing", {"board": "nothing"}),
    ("synth", "--board ulx3s-85f --clock 0", {"board": "ulx3s-85f", "clock": "0"}),
]


@pytest.mark.parametrize(("command", "options", "keywords"), MISTAKES)
def test_a_mistake_has_the_sentence_of_the_command(
    stepgen, made, command, options, keywords
) -> None:
    said = stepgen(f"{command} p.py:layer {options}")
    assert said.code == 2
    with pytest.raises(sg.StepError) as raised:
        getattr(sg, {"synth": "synthesize"}.get(command, command))(*made(), **keywords)
    assert said.err.endswith(f"stepgen: {raised.value}\n")


def test_a_deadlock_brings_what_happened_until_then(stepgen, made) -> None:
    said = stepgen("time moe --set tokens=16 --depth route_to_reassemble_0=3")
    graph, inputs = program.find("moe")(tokens=16)
    with pytest.raises(Deadlock) as raised:
        sg.time(graph, inputs, depth={"route_to_reassemble_0": 3})
    assert str(raised.value) in said.err
    result = raised.value.result
    assert result.deadlock is raised.value
    assert result.cycles >= raised.value.cycle
    assert "deadlock in cycle" in repr(result)
    assert sum(a.busy for a in result.activity) > 0
    sent = pickle.loads(pickle.dumps(raised.value))  # by a process of a pool
    assert str(sent) == str(raised.value)
    assert (sent.cycle, sent.remedy) == (raised.value.cycle, raised.value.remedy)
    assert sent.result.activity[0].busy == result.activity[0].busy


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda g: sg.time(g, latenzy=3),
            "time at HERE:{} has no option 'latenzy', did you",
        ),
        (
            lambda g: sg.time(g, lanes="two"),
            "time at HERE:{}: lanes must be an integer or a mapping from a string to an integer",
        ),
        (
            lambda g: sg.run(g, cache=3),
            "run at HERE:{} takes no cache here: layer is a graph",
        ),
        (
            lambda g: sg.run("moe"),
            "run at HERE:{} takes a Graph, a model or sg.config(...), not str",
        ),
        (
            lambda g: sg.run((g, {})),
            "run at HERE:{} takes a Graph, a model or sg.config(...), not tuple",
        ),
        (lambda g: sg.synthesize(g), "synthesize at HERE:{} needs board=..."),
        (
            lambda g: sg.verilog(g, package=["x"]),
            "verilog at HERE:{}: package must be a sequence, each of them one of fusesoc, vivado",
        ),
        (lambda g: sg.run(g, seed=-1), "the seed must be at least 0, not -1"),
    ],
)
def test_a_wrong_call_is_placed(made, call, sentence) -> None:
    graph, _ = made()
    with pytest.raises(sg.StepError) as raised:
        call(graph)
    line = inspect.getsourcelines(call)[1]
    assert str(raised.value).startswith(sentence.format(line).replace("HERE", "test_python.py"))


def test_options_have_the_names_and_defaults_of_the_commands() -> None:
    """Both ways: no option of a circuit, a memory or a program is missing in Python."""
    groups = {HardwareOptions: Circuit, RunOptions: Timing, ProgramOptions: Drawing}
    only_texts = {"program", "config", "set", "inputs", "import"}
    only_texts |= {"no_counters"}
    for options, group in groups.items():
        fields = vars(options)["__dataclass_fields__"].values()
        parameters = [field.metadata["made"](field.name) for field in fields]
        known = inspect.signature(group).parameters
        names = {p.opts[-1].lstrip("-").replace("-", "_"): p for p in parameters}
        assert names.keys() - only_texts == known.keys()
        for name, parameter in known.items():
            if type(parameter.default) is int:
                assert names[name].default == parameter.default


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_each_option(name) -> None:
    function = getattr(sg, name)
    parameters = inspect.signature(function).parameters
    assert {"program", "inputs", "seed"} < {*parameters}
    assert inspect.getdoc(function).count("\n----------\n") == 1


def test_a_model_takes_traces(stepgen, here, made) -> None:
    """As arrays or files, also those of many runs."""
    model = sg.example("models:mixtral")(width=16)
    traces = np.array([[[0, 1], [0, 2]], [[3, 1], [3, 1]]])
    np.save("routing.npy", traces[1])
    common = {"block": "mlp", "tiling": "dynamic"}
    cycles = [sg.time(model, routing=trace, **common).cycles for trace in (*traces, "routing.npy")]
    assert cycles[0] > cycles[1] == cycles[2]
    several = sg.time_scenarios(
        model, routing=traces[0].tolist(), scenarios={"routing": traces}, **common
    )
    assert several.cycles.tolist() == cycles[:2]
    for asked, said in (
        (
            {"routing": [[0, 0]]},
            r"routing=\[\[0, 0\]\] can't be taken: it sends token 0",
        ),
        ({"routing": [[0, 9]]}, "it sends token 0 to expert 9, of the experts 0 to 3"),
        ({"routing": "none.npy"}, "can't read the routing none.npy"),
        ({"lengths": [-1]}, r"lengths=\[-1\] can't be taken: request 0 has -1"),
    ):
        with pytest.raises(sg.StepError, match=said):
            sg.time(model, block="mlp", **asked)
    with pytest.raises(sg.StepError, match="routing is for a model, and layer is a graph"):
        sg.time(*made(), routing=traces[0])


def test_groups_of_options_may_not_share_a_name() -> None:
    @called
    def twice(source: Source, circuit: Circuit, timing: Timing) -> None:
        """Nothing."""

    names = [*inspect.signature(twice).parameters]
    assert len(names) == len({*names})


def test_import_takes_no_module_of_a_command() -> None:
    code = "import stepgen, sys; print([m for m in sys.modules if m.startswith('stepgen.comm')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_names_that_come_later_are_completed_and_meant() -> None:
    assert {*COMMANDS, "Device", "System", "frontend"} <= {*dir(sg)}
    with pytest.raises(AttributeError, match="did you mean synthesize"):
        sg.synthesise  # noqa: B018


def drawn(shown) -> tuple[ElementTree.Element, dict[str, ElementTree.Element]]:
    """What is shown in a notebook, and the boxes and arrows of its picture by name."""
    root = ElementTree.fromstring(shown._repr_html_())
    parts = [part for part in root.iter() if part.get("data-name")]
    return root, {str(part.get("data-name")): part for part in parts}


def test_results_draw_themselves(here, made) -> None:
    graph, inputs = made()
    timed = sg.time(graph, inputs)
    for shown in (timed, timed.design, sg.verilog(graph, inputs, out="v")):
        _, parts = drawn(shown)
        assert {unit.name for unit in timed.design.units} <= {*parts}
    _, parts = drawn(sg.simulate(graph, inputs))
    assert {node.name for node in graph.nodes} <= {*parts}
    _, parts = drawn(timed)
    for unit in {a.unit for a in timed.activity}:
        share = max(a.busy for a in timed.activity if a.unit == unit) / timed.cycles
        shades = [e for e in parts[unit].iter() if e.get("class") == "shade"]
        assert [float(e.get("fill-opacity")) for e in shades] == [
            pytest.approx(FULL * share, abs=0.006)
        ] * (share > 0)
    root, _ = drawn(sg.run(graph, inputs))
    assert [cell.text for cell in root.iter("td")][:3] == ["out", "Stream[int8 1x4; E0]", "3"]


def test_a_test_with_faults_shows_them(made) -> None:
    outcome = SimpleNamespace(faults=["beat <0>"], cycles=9, seconds=0.1, good=False)
    verdict = Verdict(outcome, None, {"values": 3}, 0.0)
    design = sg.time(*made()).design
    root, _ = drawn(Tested(design, [verdict], Path("t"), None, "cpp", "verilator"))
    assert [cell.text for cell in root.iter("td")] == ["values", "3", "beat <0>"]
    assert root.find("p").text == "test of layer: 1 faults, 9 cycles"


def test_a_stream_stands_out_in_its_program(made) -> None:
    graph, _ = made()
    for node in graph.nodes:
        for stream in node.outputs:
            _, parts = drawn(stream.fifo(4))
            marked = {name for name, part in parts.items() if "marked" in part.get("class").split()}
            uses = {
                f"{user.name}.{place}"
                for user in graph.nodes
                for place, handle in enumerate(user.inputs)
                if (handle.node, handle.port) == (node, stream.port)
            }
            assert marked == {node.name, *uses}


def test_a_deadlock_is_drawn_in_red(here) -> None:
    graph, inputs = program.find("moe")(tokens=16)
    with pytest.raises(Deadlock) as raised:
        sg.time(graph, inputs, depth={"route_to_reassemble_0": 3})
    root, _ = drawn(raised.value.result)
    arrows = [part for part in root.iter() if "arrow" in str(part.get("class")).split()]
    marked = {part.get("data-name") for part in arrows if "marked" in part.get("class").split()}
    waiting = {one.channel for one in raised.value.waiting}
    assert marked == waiting & {part.get("data-name") for part in arrows} != set()


@pytest.mark.parametrize("inputs", [np.zeros((4, 1, 8)), [], 0, ""])
def test_inputs_are_a_mapping(made, inputs) -> None:
    graph, _ = made()
    with pytest.raises(StepError, match=r"run at test_python.py:.*: inputs must be a mapping"):
        sg.run(graph, inputs)
