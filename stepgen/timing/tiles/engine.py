"""The timing engine on tiles: cycles and resources of a program on a described machine."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node
from stepgen.ir.wire import KIND_MASK, VALUE, Beats
from stepgen.timing import kernel as k
from stepgen.timing.activity import Cycles, Trace, spent
from stepgen.timing.deadlock import advised, explain
from stepgen.timing.drive import MAX_CYCLES, TooLong, drive
from stepgen.timing.states import STATES
from stepgen.timing.tiles.actor import COMMON, PEAK
from stepgen.timing.tiles.allocation import allocated
from stepgen.timing.tiles.depths import UNBOUNDED, Depth, Outgrown, check_unbounded
from stepgen.timing.tiles.machines import Machine
from stepgen.timing.tiles.program import TileProgram
from stepgen.timing.tiles.report import Operator, Run

ARENA_WORDS = 1 << 16


def run(
    graph: Graph,
    given: Mapping[str, Beats],
    machine: Machine,
    *,
    depths: Mapping[str, Depth] | None = None,
    tensors: Mapping[str, npt.ArrayLike] | None = None,
    contents: Mapping[str, Beats] | None = None,
    shares: Mapping[str, int] | None = None,
    limit: int = MAX_CYCLES,
) -> Run:
    """Time a program.

    Parameters
    ----------
    graph : Graph
        The program.
    given : mapping of str to Beats
        Input streams, one beat per token: bits of selectors, numbers of address tiles, rows and
        columns of other tiles.
    machine : Machine
        The machine.
    depths : mapping of str to int or "unbounded", optional
        FIFO depths of streams, by name, instead of the program's and the machine's.
    tensors : mapping of str to array, optional
        Contents of tensors of addresses, by name; those of others are not needed.
    contents : mapping of str to Beats, optional
        Contents of streams that depend on data (`known.decided`), by name, in the form of `given`.
    shares : mapping of str to int, optional
        FLOPs per cycle of single operators, by name, instead of the machine's.
    limit : int
        Most cycles of the run.

    Returns
    -------
    Run

    Raises
    ------
    Deadlock
        If the run can never end; names the cycle of streams that wait for each other.
    StepError
        If an input is missing, an address is out of range, a depth is not possible, or the run
        takes more than `limit` cycles.
    """
    own = dict(depths or {})
    fifos: dict[str, Depth] = {}
    sizes: dict[str, int] = {}

    def attempt(changes: Mapping[str, int]) -> Run:
        while True:
            program = TileProgram(
                graph,
                given,
                machine,
                {**own, **changes},
                tensors=tensors,
                contents=contents,
                sizes=sizes,
                shares=shares,
            )
            if not fifos:
                fifos.update(program.fifos)
                _check_depths(program, own)
            try:
                return _run(program, limit)
            except Outgrown as outgrown:
                sizes.update(outgrown.sizes)

    def bounded() -> dict[str, int]:
        return {name: depth for name, depth in fifos.items() if depth != UNBOUNDED}

    return advised(attempt, bounded)


def _check_depths(program: TileProgram, asked: Mapping[str, Depth]) -> None:
    """Check that the given depths are possible, and that their FIFOs exist."""
    for name, depth in asked.items():
        if name not in program.fifos:
            near = ", ".join(get_close_matches(name, program.fifos, cutoff=0))
            raise StepError(f"program {program.graph.name} has no FIFO {name!r}, but {near}")
        if depth != UNBOUNDED and depth < 1:
            raise StepError(f"the FIFO {name} must hold at least 1 element, not {depth}")


def _run(program: TileProgram, limit: int) -> Run:
    M, t, notes, trace = execute(program, limit)
    machine = program.machine
    graph, operators = program.graph, {}
    counted = _counts(program, M, t)

    def largest(node: Node) -> int:
        return max(record["largest"] for record in counted[node.name])

    for node in graph.nodes:
        records = counted[node.name]
        if records:
            total = {key: sum(r[key] for r in records) for key in records[0]}
            total["tokens"] = max(r["tokens"] for r in records)
            total.pop("largest")
            memory = allocated(node, machine.policy, total["tokens"], largest)
            operators[node.name] = Operator(
                node.name, node.op, memory=memory, compute=_compute(node, program), **total
            )
    noted = Trace.of(program, M, trace, t)
    return Run(machine, t, int(M[PEAK]), operators, _choices(program, notes), noted)


def execute(program: TileProgram, limit: int = MAX_CYCLES) -> tuple[Cycles, int, Cycles, Cycles]:
    """Run the actors of a program, for at most `limit` cycles.

    Returns
    -------
    M : int64 array
        State array at the end.
    cycles : int
        Until the last store was done and all streams had ended.
    notes, trace : int64 array
        Entries of the log and of the trace.

    Raises
    ------
    Deadlock, StepError
        As `run`.
    Outgrown
        If unbounded FIFOs must be laid out larger.
    """
    try:
        ran = drive(program, limit=limit, arena=ARENA_WORDS)
    except TooLong as long:
        check_unbounded(long.M, program.unbounded)
        raise
    M = ran.M
    check_unbounded(M, program.unbounded)
    if ran.stuck:
        if M[k.FAULT]:
            raise program.faults[int(M[k.FAULT])]
        for actor, channel, most, error in program.checks:
            head = _head(M, channel)
            stopped = M[actor + k.ASLEEP_ON] == k.NEVER
            if stopped and head is not None and not 0 <= head < most:
                raise error(head)
        raise explain(program, M, ran.cycles)
    program.order.check(M)
    return M, ran.cycles, ran.notes, ran.trace


def _head(M: Cycles, channel: int) -> int | None:
    """The aux field of the value at the head of a channel, None if there is no value."""
    popped, pushed = int(M[channel + k.POPPED]), int(M[channel + k.PUSHED])
    if popped == pushed:
        return None
    slot = M[channel + k.RING] + k.SLOT * (popped & M[channel + k.MASK])
    beat = int(M[slot + 2])
    return beat >> k.AUX_SHIFT if beat & KIND_MASK == VALUE else None


def _counts(program: TileProgram, M: Cycles, cycles: int) -> dict[str, list[dict[str, int]]]:
    """By node, the cycles in each state and the counters of its actors."""
    counters = {name: at for name, at in COMMON._asdict().items() if name != "busy_until"}
    by_node = {node.name: program.addresses.get(node.name, []) for node in program.graph.nodes}
    actors = np.array([actor for some in by_node.values() for actor in some], np.int64)
    of_states = spent(M, actors, cycles).tolist()
    of_counters = M[actors[:, None] + np.array([*counters.values()])].tolist()
    names = (*STATES, *counters)
    records = (
        dict(zip(names, (*states, *counted), strict=True))
        for states, counted in zip(of_states, of_counters, strict=True)
    )
    return {name: [next(records) for _ in some] for name, some in by_node.items()}


def _compute(node: Node, program: TileProgram) -> int:
    """FLOPs per cycle of an operator."""
    function = node.attrs.get("fn")
    if not node.face.computes or function is None:
        return 0
    return program.flops(node)


def _choices(program: TileProgram, notes: Cycles) -> dict[str, list[int]]:
    """The inputs that each merge took, in order of time."""
    choices: dict[str, list[int]] = {}
    for entry in notes:
        node, index = program.notes[int(entry & k.KEY) >> 1]
        choices.setdefault(node, []).append(index)
    return choices
