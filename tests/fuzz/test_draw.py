"""What the fuzzer draws: everything that has a circuit, the same again from the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.circuit import circuits
from stepgen.fuzz import draw
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare
from stepgen.fuzz.draw import case, cases
from stepgen.fuzz.generators.full import STEPS, Drawn, Scale
from stepgen.ir.dims import product_bound
from stepgen.ir.function import Mapped, function_types
from stepgen.ir.operator import own_operators
from stepgen.pages import probe
from stepgen.semantics.inputs import to_tokens

CASES = 120


@pytest.fixture(scope="module")
def drawn():
    return [case(3, number) for number in range(CASES)]


def test_every_operator_with_a_circuit_is_drawn(drawn) -> None:
    assert circuits().keys() - own_operators().keys() <= {
        node.op for one, _, _ in drawn for node in one.graph.nodes
    }


def test_drawn_inputs_are_of_the_types_of_their_streams(drawn) -> None:
    for one, _, _ in drawn:
        for name, stream in one.graph.inputs.items():
            assert to_tokens(one.inputs[name], stream.type, name)


def more() -> Iterator[tuple[Case, tuple[str, ...]]]:
    """Further cases, in which steps that were drawn are rarer."""
    pairs: Counter[tuple[str, str]] = Counter()
    for number in range(CASES, 4 * CASES):
        one, taken, _ = case(3, number, pairs)
        pairs.update({(step, step): 1000 for step in taken})
        yield one, taken


def test_special_floats_are_drawn() -> None:
    program = Drawn(1, [], Scale())
    numbers = np.concatenate([program.floats((10, 10)).ravel() for _ in range(100)])
    assert np.isnan(numbers).any()
    for special in (np.inf, -np.inf):
        assert (numbers == special).any()
    assert {True, False} == set(np.signbit(numbers[numbers == 0]))


def test_special_floats_and_far_tensors_are_in_cases(drawn) -> None:
    floats = [np.ravel(x) for one, _, _ in drawn for x in arrays(one) if x.dtype.kind != "i"]
    numbers = np.concatenate([x.astype(np.float32) for x in floats])
    assert np.isnan(numbers).any()
    assert np.isinf(numbers).any()
    assert {True, False} == set(np.signbit(numbers[numbers == 0]))
    tensors = (t for one, *_ in chain(drawn, more()) for t in one.graph.tensors.values())
    assert any(t.bytes > 8192 for t in tensors)


def arrays(one: Case) -> Iterator[np.ndarray]:
    """All arrays of a case's inputs."""
    waiting = [*one.inputs.values()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        else:
            yield np.asarray(item)


@pytest.mark.slow
def test_every_function_that_maps_to_a_unit_is_drawn(drawn) -> None:
    missing = {
        kind
        for kind in function_types().values()
        if issubclass(kind, Mapped)
        and kind.__module__.startswith("stepgen.")
        and any(use.units for use in probe.uses(kind))
    }
    steps = dict.fromkeys(("function", "arithmetic", "floats", "span"), 20.0)
    steered = (cases(3, number, wanted=steps)[0] for number in range(CASES, 4 * CASES))
    for one, *_ in chain(drawn, steered):
        missing -= {type(node.attrs["fn"]) for node in one.graph.nodes if "fn" in node.attrs}
        if not missing:
            break
    assert not missing


@pytest.mark.parametrize("name", sorted(function_types()))
def test_every_function_can_be_made(name: str) -> None:
    """One with parameters that can't be drawn would never be reached."""
    program = Drawn(1, [], Scale())
    kind = function_types()[name]
    made = set()
    for _ in range(40):
        with suppress(sg.StepError):  # parameters that do not fit each other
            made.add(type(program.function(kind)))
    assert made == {kind}


def test_every_step_is_drawn(drawn) -> None:
    missing = {*STEPS, "loop", "regions"} - {"own"}
    for _, taken, *_ in chain(drawn, more()):
        missing -= {*taken}
        if not missing:
            break
    assert not missing


def test_references_that_wait_for_what_they_cause_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(draw, "WAITING", 1)
    found: Counter[str] = Counter()
    for number in range(16):
        one, steps, _ = case(9, number)
        assert steps == ("waiting",)
        verdict = compare(one, rtl=False)
        assert verdict.prediction is None
        assert verdict.status != "failed", verdict.says
        found[verdict.status] += 1
        if len(found) > 1:
            break
    assert found.keys() == {"agrees", "refused"}  # freed by depths, and by none


def test_all_that_may_be_around_a_run_is_drawn(drawn) -> None:
    runs = [one for one, _, _ in drawn]
    when = [share for run in runs for share in run.aborts]
    for least in np.arange(0, 1, 0.1):  # all parts of a run, and beyond its end
        assert any(least <= share < least + 0.1 for share in when)
    assert max(when) > 1
    assert {len(run.aborts) for run in runs} == {0, 1, 2, 4}
    responses = {(name, run.response) for run in runs for name in run.refused}
    assert responses == {(n, r) for n in ("read", "write") for r in ("SLVERR", "DECERR")}
    late = [(run, name) for run in runs for name, n in run.stalls.late.items() if n > 500]
    assert any(name in run.graph.inputs for run, name in late)
    assert any(name in run.graph.outputs for run, name in late)


@pytest.mark.slow
def test_memories_with_room_for_few_and_for_many_rows_are_drawn() -> None:
    room: Counter[str] = Counter()
    for number in range(60):
        drawn, _, _ = cases(31, number, wanted={"stored": 30.0, "travelled": 30.0})
        for node in drawn[0].graph.nodes:
            if node.op == "bufferize":
                buffer = node.outputs[0].dtype
                bound, most = (
                    product_bound([*buffer.shape, buffer.tile.rows]),
                    node.attrs.get("most"),
                )
                room["all" if most is None else "few" if most < bound else "many"] += 1
    assert 0 < room["few"] < room["many"] < room["all"]


def test_scarce_memory_is_drawn(drawn) -> None:
    """Budgets from the least on, and between it and what full rate takes."""
    scarce = [one for one, _, _ in drawn if one.onchip is not None]
    assert len(scarce) > len(drawn) / 12
    assert all(one.onchip > 0 and not one.depths for one in scarce)


@pytest.mark.slow
def test_rare_steps_are_drawn_more_often() -> None:
    common = {(name, name): 1000 for name in STEPS if name != "crossed"}
    plain = Counter(s for n in range(40) for s in case(4, n)[1])
    steered = Counter(s for n in range(40) for s in case(4, n, common)[1])
    assert steered["crossed"] > plain["crossed"]


def test_the_same_numbers_give_the_same_case() -> None:
    for number in range(3):
        text = case(5, number)[0].dumps()
        assert text == case(5, number)[0].dumps() != case(6, number)[0].dumps()
