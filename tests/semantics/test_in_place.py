"""No golden model can change what other operators read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from semantics.drawn import plain
from stepgen.functions import Folding, Unary
from stepgen.fuzz.generators.drawing import NARROW
from stepgen.fuzz.generators.plain import draw
from stepgen.ir.dims import static
from stepgen.ir.function import Cut
from stepgen.ir.own import OwnOperator
from stepgen.ir.pieces import Pieces
from stepgen.ir.stream import Out
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics import executor
from stepgen.semantics.tokens import Token


def assigned(x: Any) -> None:
    x[0, 0] = 7


def added(x: Any) -> None:
    x += 1


def into(x: Any) -> None:
    np.maximum(x, 101, out=x)


def transposed(x: Any) -> None:
    x.T[0] += 1


WRITES: list[Callable[[Any], None]] = [
    assigned,
    added,
    into,
    transposed,
    lambda x: x.sort(),
    lambda x: x.fill(3),
    lambda x: np.add.at(x, 0, 1),
    lambda x: np.put(x, 0, 1),
    lambda x: np.copyto(x, 0),
    lambda x: np.fill_diagonal(x, 0),
    lambda x: np.random.default_rng(0).shuffle(x),
    lambda x: x.partition(1),
    lambda x: x.byteswap(inplace=True),
]
writes = pytest.mark.parametrize("write", WRITES)


def run(use: Callable[[sg.Stream], Any]) -> executor.Result:
    """Two uses of one stream of tiles of 100."""
    g = sg.Graph("shared")
    x = g.input("x", sg.int8[2, 4], (3,))
    for name, fork in zip("yz", sg.fork(x, 2), strict=True):
        g.output(use(fork), name)
    return executor.run(g, {"x": np.full((3, 2, 4), 100, np.int8)})


def refused(use: Callable[[sg.Stream], Any]) -> None:
    here = r"test_in_place.py:\d+"
    message = (
        rf"\({here}\): the golden model of \w+(\(\))? changed its operand, .*, at {here}: make a "
    )
    with pytest.raises(sg.StepError, match=message):
        run(use)


@pytest.fixture
def kept() -> Any:
    """An operator, and what it does to the tokens that it has taken and given."""

    class Kept(OwnOperator):
        """The stream as it is; what is done to its tokens is set by a test."""

        taken: Callable[[Token], Any] = staticmethod(lambda token: None)
        given: Callable[[Token], Any] = staticmethod(lambda token: None)

        def __call__(self, x: sg.Stream) -> sg.Stream:
            return self.add((x,), {})[0]

        def infer(self, call: Any) -> Any:
            (x,) = call.inputs
            return [Out(x.shape, x.dtype, dict(enumerate(x.totals)), x.volume)]

        def run(self, use: Any) -> Any:
            (x,), (y,) = use.inputs, use.outputs
            while True:
                yield from x.peek()
                token = yield from x.take()
                Kept.taken(token)
                y.put(token)
                if token.kind == DONE:
                    return
                Kept.given(token)

    return Kept


@writes
def test_a_map_does_not_write(write: Any) -> None:
    class InPlace(Unary):
        """Writes into its operand."""

        def compute(self, at: Any, x: Any) -> Any:
            write(x)
            return x

    refused(lambda x: x.map(InPlace()))


@writes
def test_a_flat_map_does_not_write(write: Any) -> None:
    class InPlaceCut(Cut):
        """Writes into its operand."""

        def stream(self, call: Any, rank: int, element: Any) -> Pieces:
            return Pieces((static(1),), element)

        def pieces(self, at: Any, element: Any) -> list[Any]:
            write(element)
            return [element]

    refused(lambda x: x.flat_map(InPlaceCut(), rank=0))


@pytest.mark.parametrize("moment", ["taken", "given"])
@writes
def test_an_operator_does_not_write(kept: Any, write: Any, moment: str) -> None:
    def change(token: Token) -> None:
        if token.kind == VALUE:
            write(token.value)

    setattr(kept, moment, staticmethod(change))
    refused(kept())


def test_a_state_may_be_changed() -> None:
    class InPlaceSum(Folding):
        """Adds into its state, of which its results are views."""

        def compute(self, at: Any, a: Any, b: Any) -> Any:
            a += b
            return a

        def finish(self, at: Any, state: Any) -> Any:
            return state[:, :]

    g = sg.Graph("sums")
    x = g.input("x", sg.int8[1, 2], (2, 3))
    g.output(x.scan(InPlaceSum(), rank=1), "running")
    g.output(x.accum(InPlaceSum(), rank=1), "all")
    result = executor.run(g, {"x": np.ones((2, 3, 1, 2), np.int8)})
    assert plain(result.nested("running")) == [[[[n, n]] for n in (1, 2, 3)]] * 2
    assert plain(result.nested("all")) == [[[3, 3]]] * 2


def test_an_operand_of_a_fold_is_not_its_state() -> None:
    class InPlaceFirst(Folding):
        """Writes into the operand, not into the state."""

        def compute(self, at: Any, a: Any, b: Any) -> Any:
            b += a
            return b

    refused(lambda x: x.promote().accum(InPlaceFirst(), rank=1))


def test_shapes_and_stops_are_the_models_own(kept: Any) -> None:
    def change(token: Token) -> None:
        token.stop = 5
        if token.kind == VALUE:
            token.value.shape = (4, 2)

    kept.given = staticmethod(change)

    class Wide(Unary):
        """Sets the shape of its operand."""

        def compute(self, at: Any, x: Any) -> Any:
            y = x + 1
            x.shape = (4, 2)
            return y

    result = run(lambda x: kept()(x).map(Wide()))
    for name in ("x.0", "y", "z"):
        assert all(t.stop == 0 for t in result.streams[name])
        assert all(t.value.shape == (2, 4) for t in result.streams[name][:-1])


def test_a_view_of_what_a_model_keeps_is_copied() -> None:
    class Cached(Unary):
        """Gives a view of one array every time."""

        def compute(self, at: Any, x: Any) -> Any:
            CACHE[:2] += 1
            return CACHE[:2]

    result = run(lambda x: x.map(Cached()))
    assert sorted(n for name in "yz" for n in plain(result.nested(name))) == [
        [[n] * 4] * 2 for n in range(1, 7)
    ]


CACHE = np.zeros((3, 4), np.int8)


def test_a_users_own_array_stays_writeable() -> None:
    data = [np.full((2, 4), n, np.int8) for n in range(3)]
    table = np.ones((2, 4), np.int8)
    g = sg.Graph("given")
    x = g.input("x", sg.int8[2, 4], (3,))
    g.output(x, "y")
    w = g.tensor("w", (2, 4), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(2, 4), shape=(1,), stride=(1,), ref=x)
    g.output(loaded, "loaded")
    result = executor.run(g, {"x": data, "w": table})
    assert all(array.flags.writeable for array in (*data, table))
    unchangeable(result)


def unchangeable(result: executor.Result) -> None:
    """Check that no value of any stream can be written."""
    for name, tokens in result.streams.items():
        for token in tokens:
            values = token.value if isinstance(token.value, tuple) else (token.value,)
            for value in values:
                assert not (isinstance(value, np.ndarray) and value.flags.writeable), name


@pytest.mark.parametrize("seed", some_slow(range(40), 15))
def test_no_value_of_a_drawn_program_can_be_changed(seed: int) -> None:
    program, _, _ = draw(seed)
    unchangeable(executor.run(program.graph, program.inputs, lanes=NARROW))
