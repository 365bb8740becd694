"""The tokens of the timing on tiles and of the reference, in comparable form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.ir.dtypes import FLAG, Buffer, DataType, Selector, TupleType
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Stream
from stepgen.ir.wire import VALUE
from stepgen.program.tiles import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.semantics.tokens import Token
from stepgen.timing import kernel as k
from stepgen.timing.deadlock import explain
from stepgen.timing.stepping import interpreted
from stepgen.timing.tiles import engine
from stepgen.timing.tiles.actor import SPAN_LENGTH_BITS, cols_of, rows_of
from stepgen.timing.tiles.buffers import BUFFER, ELEMENT
from stepgen.timing.tiles.machines import Machine
from stepgen.timing.tiles.program import TileProgram

Beat = tuple[int, int, int, Any]
"""Kind, stop, low and content."""

ARENA = 1 << 18
RECORD = 1 << 13
"""Elements of each stream that are remembered; none of a test has more."""


class Recorded:
    """A run of a program, whose FIFOs remember all that they carried.

    Attributes
    ----------
    choices : dict of str to list of int
        By merge, where its chunks came from.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Any],
        machine: Machine,
        depths: Mapping[str, int] | None = None,
    ) -> None:
        sources = [n.outputs[0] for n in graph.nodes if n.op == "source"]
        given = {
            s.node.name: to_beats(s, to_tokens(inputs[s.node.name], s.type, s.node.name))
            for s in sources
        }
        tensors = {name: inputs[name] for name in graph.tensors if name in inputs}
        self.program = TileProgram(
            graph, given, machine, depths or {}, record=RECORD, tensors=tensors
        )
        self.M, notes = self._run()
        self.choices = engine._choices(self.program, notes)

    def _run(self) -> tuple[Any, Any]:
        """Run as the engine does; at the end all FIFOs are empty."""
        M = self.program.build()
        M[k.ARENA], M[k.ARENA_END] = len(M), len(M) + ARENA
        M = np.concatenate([M, np.zeros(ARENA, dtype=np.int64)])
        log = int(M[k.LOG])
        why = interpreted(self.program.steps, M, 1 << 40, 1 << 40)
        if why == k.QUIET:
            raise explain(self.program, M, int(M[k.CYCLE]))
        assert why == k.FINISHED
        names = self.program.names
        left = [name for c, name in names.items() if M[c + k.PUSHED] > M[c + k.POPPED]]
        assert not left, f"the run is over, but {left} hold beats"
        return M, M[log : M[k.LOG]]

    def beats(self, stream: Stream) -> list[Beat]:
        """All beats of a stream."""
        M, c = self.M, self.program._sources[stream.node.name, stream.port]
        count = int(M[c + k.PUSHED])
        assert count <= RECORD
        return [self._beat(int(M[k.slot(M, c, i) + 2]), stream.dtype) for i in range(count)]

    def _beat(self, beat: int, dtype: DataType) -> Beat:
        kind, aux = beat & 3, beat >> k.AUX_SHIFT
        stop, low = beat >> k.STOP_SHIFT & k.LEVEL_MASK, beat >> k.LOW_SHIFT & k.LEVEL_MASK
        return kind, stop, low, self._content(aux, dtype) if kind == VALUE else None

    def _content(self, aux: int, dtype: DataType) -> Any:
        M = self.M
        if isinstance(dtype, Selector):
            return [aux] if dtype.n == 1 else [int(M[aux + i]) for i in range(dtype.n)]
        if isinstance(dtype, TupleType):
            return [self._content(int(M[aux + i]), item) for i, item in enumerate(dtype.items)]
        if isinstance(dtype, Buffer):
            return [self._beat(int(beat), dtype.tile) for beat in self._chain(aux)]
        if dtype == FLAG:
            return aux
        if dtype.element == sg.address:
            return [aux >> SPAN_LENGTH_BITS, aux & 0xFFFFF] if dtype.cols == 2 else [aux]
        return rows_of(aux), cols_of(aux)

    def _chain(self, buffer: int) -> Iterator[int]:
        at = int(self.M[buffer + BUFFER.start])
        while at:
            yield int(self.M[at + ELEMENT.beat])
            at = int(self.M[at + ELEMENT.after])


def expected(tokens: list[Token], dtype: DataType) -> list[Beat]:
    """The reference's tokens in the same form."""
    return [(t.kind, t.stop, t.low, _value(t.value, dtype)) for t in tokens]


def without_contents(beats: list[Beat]) -> list[Beat]:
    """The structure alone."""
    return [(kind, stop, low, None) for kind, stop, low, _ in beats]


def _value(value: Any, dtype: DataType) -> Any:
    if value is None:
        return None
    if isinstance(dtype, Selector):
        return [int(bit) for bit in value]
    if isinstance(dtype, TupleType):
        return [_value(v, item) for v, item in zip(value, dtype.items, strict=True)]
    if isinstance(dtype, Buffer):
        return expected(value.tokens, dtype.tile)
    if dtype == FLAG:
        return int(value[0, 0])
    if dtype.element == sg.address:
        return [int(n) for n in np.ravel(value)]
    return value.shape
