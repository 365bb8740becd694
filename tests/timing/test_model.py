"""Properties of the cycle model; other tests compare it with the circuits."""

import dataclasses

import harness
import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.fuzz.generators.drawing import NARROW
from stepgen.fuzz.generators.plain import draw
from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.design.table import Channel
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.hw.units.sink.params import Sink
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.timing import layout
from stepgen.timing.kernel import KEY_BITS
from stepgen.timing.model import predict


def drawn(seed: int):
    """A drawn design and what enters it."""
    program, _, _ = draw(seed)
    beats = {}
    for node in program.graph.nodes:
        if node.op == "source":
            kind = node.outputs[0].type
            tokens = to_tokens(program.inputs[node.name], kind, node.name)
            beats[node.name] = to_beats(tokens, kind, NARROW)
    return lower(program.graph, lanes=NARROW), beats


@pytest.mark.parametrize("seed", some_slow(range(20), 10))
def test_deeper_fifos_are_never_slower(seed):
    design, beats = drawn(seed)
    if any(params.order == "arrival" for _, params in design.rows_of(Reassemble)):
        design = dataclasses.replace(
            design,
            units=tuple(
                dataclasses.replace(u, params=dataclasses.replace(u.params, order="index"))
                if isinstance(u.params, Reassemble)
                else u
                for u in design.units
            ),
        )
    stalls = Stalls(seed, {u.name: 0.4 for u in design.of_kind(Sink)})
    shallow = predict(design, beats, stalls=stalls).cycles
    rng = np.random.default_rng(seed)
    # Within one kind of memory: a block RAM's FIFO has a longer latency than a LUT RAM's.
    deeper = {
        c.name: max(c.depth, int(rng.integers(c.depth, SHALLOW + 1)))
        for c in design.channels
        if c.depth <= SHALLOW
    }
    assert predict(design.with_depths(deeper), beats, stalls=stalls).cycles <= shallow


@pytest.mark.parametrize("seed", some_slow(range(20), 10))
def test_counters_are_what_the_beats_say(seed):
    """Also where beats are left in the end, of which a unit of a user's own may want none."""
    design, beats = drawn(seed)
    stalls = Stalls(seed, {u.name: 0.3 for u in design.of_kind(Sink)})
    p = predict(design, beats, stalls=stalls)
    if seed % 2:
        end = p.cycles // 2
        p = dataclasses.replace(p, cycles=end, log=p.log[p.log < end << KEY_BITS])
    for c in design.channels:
        head_empty = full = 0
        for t in range(p.cycles):
            seen = np.sum(p.pushes[c.name] + c.latency <= t)
            popped = np.sum(p.pops[c.name] < t)
            head_empty += seen <= popped
            full += np.sum(p.pushes[c.name] < t) - popped >= c.depth
        expected = {"busy": len(p.pops[c.name]), "starved": head_empty, "full": full}
        assert p.counters(c.name) == expected


@pytest.mark.parametrize("seed", some_slow(range(20), 10))
def test_every_cycle_of_a_unit_has_one_state(seed):
    design, beats = drawn(seed)
    p = predict(design, beats)
    for a in p.activities:
        assert a.busy + a.starved + a.full == p.cycles
        spans = np.diff(np.concatenate([[0], a.changes, [p.cycles]]))
        states = np.concatenate([[1], a.states])
        assert [int(spans[states == s].sum()) for s in range(3)] == [a.busy, a.starved, a.full]


@pytest.mark.parametrize(("words", "beats"), [(0, 30), (1, 40), (50, 400)])
def test_logs_of_any_size_agree(words, beats, monkeypatch):
    """Where beats move in every cycle, and where no actor changes its state meanwhile."""
    x = Channel("x", 2, 8, 2, depth=4)
    design = harness.lone(Fork(1), [x], [dataclasses.replace(x, name="y")])
    inputs = {"s_x": harness.beats([([1, 2], 2)] * beats, 2)}
    stalls = Stalls(1, {"d_y": 0.5})
    for given in (Stalls(), stalls):
        large = predict(design, inputs, stalls=given)
        with monkeypatch.context() as patch:
            patch.setattr(layout, "LOG_WORDS", words)
            small = predict(design, inputs, stalls=given)
        for c in design.channels:
            assert small.pushes[c.name].tolist() == large.pushes[c.name].tolist()
            assert small.pops[c.name].tolist() == large.pops[c.name].tolist()
        for one, other in zip(small.activities, large.activities, strict=True):
            assert one.changes.tolist() == other.changes.tolist()
            assert one.states.tolist() == other.states.tolist()


def test_a_missing_input_is_named():
    design, _ = drawn(0)
    with pytest.raises(StepError, match="input x of design drawn_0 was given no stream"):
        predict(design, {})


def test_a_run_can_be_limited():
    design, beats = drawn(0)
    with pytest.raises(StepError, match="takes more than 3 cycles"):
        predict(design, beats, limit=3)


@pytest.mark.parametrize(("loads", "stores"), [(0, 1), (1, 0), (1, 1)])
def test_the_memory_arbiter_wakes_for_whatever_it_serves(loads, stores):
    g = sg.Graph("served")
    x = g.input("x", sg.int8[4, 8], (2,))
    once = {"tile": (4, 8), "shape": (1, 1), "stride": (1, 1)}
    for n in range(loads):
        t = g.tensor(f"t{n}", (4, 8), sg.int8)
        g.output(sg.linear_offchip_load(t, **once), f"y{n}")
    for n in range(stores):
        x.linear_offchip_store(g.tensor(f"u{n}", (8, 8), sg.int8))
    if not stores:
        g.output(x, "x_out")
    inputs = {f"t{n}": np.zeros((4, 8), np.int8) for n in range(loads)}
    inputs["x"] = np.zeros((2, 4, 8), np.int8)
    prediction = Experiment(g, inputs).prediction
    (memory,) = (u for u in prediction.design.units if u.kind == "memory")
    assert memory.params.main in {a.name for a in prediction.activities if a.unit == "memory"}
