"""The reference executor: runs a program on numpy and records the tokens of every stream.

Every node is a separate process, so cycles can run. Processes run as long as any can; their order
does not affect the result.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepgen.ir import cycles
from stepgen.ir.arguments import checked, shown
from stepgen.ir.dtypes import TupleType
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes, lanes_by_node
from stepgen.ir.own import OwnOperator
from stepgen.ir.stream import Node, Stream, StreamType
from stepgen.ir.where import user_line, users_line
from stepgen.ir.wire import DONE, LANES, Beats, check_lanes
from stepgen.semantics.access_order import Shared
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import given_tokens
from stepgen.semantics.memory import TensorMemory
from stepgen.semantics.numbers import Array
from stepgen.semantics.process import Process, Reader, Use, Wait, Writer
from stepgen.semantics.tokens import Token, decode
from stepgen.semantics.user_operators import OwnReader, OwnWriter


@dataclass(frozen=True)
class Result:
    """Result of a run.

    Attributes
    ----------
    streams : dict of str to list of Token
        All tokens of every stream, by ``node.port`` and by the name of the output; arrays in them
        are read-only.
    types : dict of str to StreamType
        Type of each stream, by the same names.
    tensors : dict of str to array
        Every off-chip tensor after the run, as a matrix.
    images : dict of str to array
        The same in memory order, element after element.
    stored : dict of str to bool array
        Which of these elements were written, for the tensors that the program writes.
    """

    streams: dict[str, list[Token]]
    types: dict[str, StreamType]
    tensors: dict[str, Array]
    images: dict[str, Array]
    stored: dict[str, Array]

    @checked
    def nested(self, name: str) -> list[Any]:
        """Return a stream as nested lists of values."""
        self._check(name)
        return decode(self.streams[name], self.types[name].rank, name)

    @checked
    def beats(self, name: str, lanes: int) -> Beats:
        """Return a stream as beats on a channel of `lanes` lanes."""
        self._check(name)
        check_lanes(lanes)
        return to_beats(self.streams[name], self.types[name], lanes, name)

    def _check(self, name: str) -> None:
        if not isinstance(name, str) or name not in self.streams:
            raise StepError(
                f"at {user_line()}: the run has no stream {shown(name)}, those are "
                f"{', '.join(self.streams)}"
            )


@checked
def run(
    graph: Graph,
    inputs: Mapping[str, Any],
    *,
    lanes: Lanes = LANES,
    choices: Mapping[str, Sequence[int]] | None = None,
    guesses: bool = False,
) -> Result:
    """Run a program.

    Parameters
    ----------
    graph : Graph
        The program.
    inputs : mapping
        By name, the contents of every input stream (nested lists, an array or tokens, as
        `stepgen.semantics.inputs.to_tokens` takes them) and of every tensor that is read
        (a matrix).
    lanes : int or mapping of str to int
        Lanes L of a slice, of all operators or by name, see `stepgen.ir.lanes`: they determine the
        order of floating-point sums.
    choices : mapping of str to sequence of int, optional
        For merges in order of arrival, by the node's name: the input that each chunk came from.
        By default chunks come in the order of the inputs.
    guesses : bool
        Whether `choices` may be those of another run: where they end early or do not fit, a merge
        goes on as by default.

    Returns
    -------
    Result

    Raises
    ------
    StepError
        If inputs are missing or do not fit, streams disagree at run time, or the program
        deadlocks; the message names the operator and the stream.
    """
    own = lanes_by_node(graph, lanes)
    given = _given(graph, inputs)
    memory = TensorMemory(graph, inputs)
    uses = _connect(graph, memory, own, given, choices or {}, guesses)
    if memory.ordered:
        _remember(uses, memory)
    _Scheduler(uses).run()
    return _result(graph, uses, memory)


def _remember(uses: Iterable[Use], memory: TensorMemory) -> None:
    """Give each process a past, and each output the past that its tokens bring."""
    for use in uses:
        own = memory.past(use.node)
        sent, pasts = own, [own] * len(use.inputs)
        items = tuple(reader.stream.dtype for reader in use.inputs)
        if any(writer.stream.dtype == TupleType(items) for writer in use.outputs if items):
            pasts = [memory.fresh() for _ in items]
            sent = Shared(pasts)
        for reader, past in zip(use.inputs, pasts, strict=True):
            reader.past = past
        for writer in use.outputs:
            writer.past = sent


def _given(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, list[Token]]:
    known = [*graph.inputs, *graph.tensors]
    for name in inputs:
        if name not in known:
            raise StepError(
                f"the program {graph.name} has no input or tensor {name!r}, those are "
                f"{', '.join(known) or 'none'}"
            )
    for name in graph.inputs:
        if name not in inputs:
            raise StepError(f"the input {name} of the program {graph.name} was not given")
    return given_tokens(graph, inputs)


def _connect(
    graph: Graph,
    memory: TensorMemory,
    lanes: Mapping[str, int],
    given: Mapping[str, list[Token]],
    choices: Mapping[str, Sequence[int]],
    guesses: bool,
) -> list[Use]:
    """Make the queues of all streams and a `Use` of every node."""
    writers: dict[Stream, Writer] = {}
    uses: list[Use] = []
    on_cycle = cycles.on_cycles(graph)
    for name in choices:
        graph.node(name)
    for node in graph.nodes:
        own = isinstance(node.face, OwnOperator)
        take, give = (OwnReader, OwnWriter) if own else (Reader, Writer)
        outputs = [give(stream) for stream in node.outputs]
        writers |= {writer.stream: writer for writer in outputs}
        inputs = [take(stream) for stream in node.inputs]
        chosen = iter(choices[node.name]) if node.name in choices else None
        uses.append(
            Use(
                node,
                inputs,
                outputs,
                lanes[node.name],
                memory,
                given.get(node.name),
                chosen,
                node.name in on_cycle,
                guesses,
            )
        )
    for use in uses:
        for reader in use.inputs:
            if reader.stream not in writers:
                raise StepError(
                    f"{use.node.name} ({use.node.where}) reads {reader.name}, "
                    "which is not connected"
                )
            writers[reader.stream].readers.append(reader)
    return uses


class _Scheduler:
    """Runs processes until all have ended."""

    def __init__(self, uses: Iterable[Use]) -> None:
        self._uses = list(uses)
        self._processes = [_process(use) for use in self._uses]
        self._waits: dict[int, Wait] = {}
        self._ready = deque(range(len(self._uses)))

    def run(self) -> None:
        while self._ready or self._choose():
            self._step(self._ready.popleft())
        if self._waits:
            self._explain()

    def _step(self, index: int) -> None:
        """Run a process until it waits or ends."""
        process = self._processes[index]
        try:
            wait = next(process)
            while isinstance(wait, Wait) and not wait.idle and any(r.queue for r in wait.readers):
                wait = next(process)
        except StopIteration:
            for writer in self._uses[index].outputs:
                if not writer.log or writer.log[-1].kind != DONE:
                    node = self._uses[index].node
                    raise StepError(
                        f"{node.name} ({node.where}): the golden model of {node.op} returned "
                        f"without done() of its output {writer.stream.name}"
                    ) from None
            return
        except StepError as error:
            raise _placed(error, self._uses[index].node) from None
        except ValueError as error:
            if (placed := _in_place(error, self._uses[index].node)) is None:
                raise
            raise placed from error
        if not isinstance(wait, Wait):
            raise _no_process(self._uses[index], f"yielded {shown(wait)}")
        self._waits[index] = wait
        if not wait.idle:
            for reader in wait.readers:
                reader.wake = lambda: self._wake(index)

    def _wake(self, index: int) -> None:
        for reader in self._waits.pop(index).readers:
            reader.wake = None
        self._ready.append(index)

    def _choose(self) -> bool:
        """When no process can run, wake the first that waits for an idle program, to choose."""
        for index, wait in sorted(self._waits.items()):
            if wait.idle and any(reader.queue for reader in wait.readers):
                del self._waits[index]
                self._ready.append(index)
                return True
        return False

    def _explain(self) -> None:
        waiting = [
            f"{self._uses[index].node.name} waits for {' or '.join(r.name for r in wait.readers)}"
            for index, wait in sorted(self._waits.items())
        ]
        more = f" and {len(waiting) - 4} more wait" if len(waiting) > 4 else ""
        raise StepError(f"the program can't finish: {', '.join(waiting[:4])}{more}")


def _process(use: Use) -> Process:
    process: Process = use.node.face.run(use)
    if not isinstance(process, Generator):
        raise _no_process(use, f"returned {shown(process)}")
    return process


def _no_process(use: Use, said: str) -> StepError:
    node = use.node
    return StepError(
        f"{node.name} ({node.where}): the golden model of {node.op} {said}: it must take tokens by "
        f"yield from, as in token = yield from x.take()"
    )


def _in_place(error: ValueError, node: Node) -> StepError | None:
    """The error that a golden model of a user's wrote into a read-only array, if it is that."""
    line = users_line(error)
    if line is None or not re.search("read-only|writeable", str(error), re.I):
        return None
    return StepError(
        f"{node.name} ({node.where}): the golden model of {node.attrs.get('fn', node.op)} changed "
        f"its operand, or what it has given, at {line}: make a new array, as in x = x + 1"
    )


def _placed(error: StepError, node: Node) -> StepError:
    """The error with the node's name as prefix, unless it has it already."""
    if str(error).startswith(f"{node.name} "):
        return error
    return StepError(f"{node.name} ({node.where}): {error}")


def _result(graph: Graph, uses: Iterable[Use], memory: TensorMemory) -> Result:
    streams: dict[str, list[Token]] = {}
    types: dict[str, StreamType] = {}
    for use in uses:
        for writer in use.outputs:
            streams[writer.stream.name] = writer.log
            types[writer.stream.name] = writer.stream.type
    for name, stream in graph.ports.items():
        streams[name], types[name] = streams[stream.name], stream.type
    return Result(streams, types, memory.matrices(), memory.images, memory.stored)
