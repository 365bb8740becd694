"""The kernel of the cycle model: actors and channels in one flat array, stepped event by event.

All state is in one int64 array `M`, so that every step function has the same compiled type:
``step(M, a, t)`` steps actor `a` in cycle `t`. Addresses of channel and actor records are indices
into `M`.

A step performs at most one action and returns

- `acted` when it did (it is stepped again in the next cycle),
- a later cycle than `t` when what it waits for has a known time, at most the layout's `horizon`
  ahead, or
- ``-(address of a channel)`` when it waits for an event on that channel, or
- `ANY` when it waits for an event on any of its channels, or `NEVER`.

Steps only compare time stamps (`ready`, `room`), so the order in which actors are stepped within a
cycle does not matter: a beat pushed in cycle w is visible from ``w + latency`` on, a slot popped in
cycle r is free from ``r + 1`` on, exactly as in the registers of the hardware.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Protocol

from stepgen.ir.arguments import shown
from stepgen.ir.class_checks import check_signature, place
from stepgen.ir.errors import StepError
from stepgen.ir.helper import helper as helper
from stepgen.ir.where import user_line
from stepgen.ir.wire import BARE, DONE, KIND_BITS, KIND_MASK
from stepgen.timing import compiled

__all__ = [
    "ANY",
    "NEVER",
    "READY",
    "Memory",
    "acted",
    "all_have_room",
    "all_ready",
    "aux_of",
    "beat_at",
    "can_pass",
    "fault",
    "finish",
    "head",
    "held_back",
    "helper",
    "kind_of",
    "low_of",
    "make_beat",
    "offsets",
    "packed",
    "pop",
    "push",
    "push_to_all",
    "ready",
    "record",
    "room",
    "room_for",
    "step",
    "stop_of",
    "within_reach",
]
"""What models of units are written with; engines import more by name."""


class Memory(Protocol):
    """The array `M` as step functions see it: words by address."""

    def __getitem__(self, address: int, /) -> int: ...

    def __setitem__(self, address: int, word: int, /) -> None: ...


Step = Callable[[Memory, int, int], int]


known_steps: list[Step] = []
"""All step functions of the modules that have been imported."""


def step(function: Step) -> Step:
    """Make a function the step function of actors.

    Raises
    ------
    StepError
        If it takes other arguments; if a user's own function does something that steps can't.
    """
    if not isinstance(function, FunctionType):
        raise StepError(f"{function!r} at {user_line()} is not a function: write @step above def")
    check_signature(function, f"the step function {function.__name__}", "M", "a", "t")
    function.is_step = True  # type: ignore[attr-defined]
    if function.__module__.startswith("stepgen."):
        known_steps.append(function)
    elif not compiled.turned_off():
        compiled.step(function)  # A mistake is an error where it is written.
    return function


def is_step(function: object) -> bool:
    """Whether ``@step`` has been written above a function."""
    return getattr(function, "is_step", False)


# Header of M
LOG, LOG_END, TRACE, TRACE_END, ACTORS, RUNNING, WHEEL, WHEEL_MASK, REASON = range(9)
ARENA, ARENA_END = range(9, 11)
FAULT, CYCLE = range(14, 16)
"""The first fault of a run: the actor, or another key, of its message; the cycle of a run."""
HEADER = 20

# Record of a channel
DEPTH, LATENCY, PUSHED, POPPED, RING, MASK, PRODUCER, CONSUMER, CHANNEL_ID, FREE_AT = range(10)
RESTOP, WANTED = 10, 11
"""`FREE_AT` is the cycle from which on the next beat may enter, if one takes several cycles;
`RESTOP` the address of a word for each stop level, then one for each level of an empty group, where
levels are rewritten as beats enter, else 0; `WANTED` the beat that must leave before the producer
that waits for space has it.
"""
CHANNEL_SIZE = 12
SLOT = 3  # words of a ring slot: cycle pushed, cycle popped, beat

# Record of an actor; its own fields start at OWN
STEP_INDEX, NEXT, ASLEEP_ON, LAST, STATE, BUSY, STARVED, FULL, ACTOR_ID = range(9)
FAULTED, DETAIL = 9, 10
"""Of its fault the cycle, counted from 1, and the detail."""
OWN = 11


def offsets(*fields: str, start: int = 0) -> Any:
    """Offsets of a record's fields by name: ``M[channel + C.rate]``.

    The compiler sees constants. `packed` lays the fields out in the same order.
    """
    return namedtuple("offsets", fields)(*range(start, start + len(fields)))


def record(*fields: str) -> Any:
    """Offsets of an actor's own fields by name: ``M[a + P.level]``.

    A record that extends another one starts with the fields of that:
    ``record(*COMMON._fields, "level")``.
    """
    return offsets(*fields, start=OWN)


def packed(places: Any, **values: int | Sequence[int]) -> list[int]:
    """The initial content of a record, every field given by name.

    Only the last field may have several words.

    Raises
    ------
    TypeError
        If a field is missing or unknown.
    """
    fields = places._fields
    if len(values) != len(fields) or not values.keys() >= {*fields}:
        raise TypeError(f"the record has the fields {fields}, not {tuple(values)}")
    words: list[Any] = [values[name] for name in fields]
    if not isinstance(words[-1], int):
        words[-1:] = words[-1]
    return words


ANY = -1
NEVER = -2
AWAKE = 0
READY = 0

KEY_BITS = 20
"""Low bits of a log entry, which identify the actor or channel; the cycle is above them."""
KEY = (1 << KEY_BITS) - 1

# States of an actor: busy, starved, full
WORKING, EMPTY_INPUT, FULL_OUTPUT = 0, 1, 2

# A beat in one word: kind, stop and low as on the wire; above them the aux field (mask, flag)
STOP_SHIFT, LOW_SHIFT, AUX_SHIFT = KIND_BITS, 8, 14
LEVEL_MASK = 63


@helper
def kind_of(beat: int) -> int:
    """Kind of a beat: ``VALUE``, ``BARE`` or ``DONE``."""
    return beat & KIND_MASK


@helper
def stop_of(beat: int) -> int:
    """Stop level of a beat."""
    return (beat >> STOP_SHIFT) & LEVEL_MASK


@helper
def low_of(beat: int) -> int:
    """Level of the group of an empty token."""
    return (beat >> LOW_SHIFT) & LEVEL_MASK


@helper
def aux_of(beat: int) -> int:
    """What a beat carries besides structure: a flag, or the address of a selector's mask."""
    return beat >> AUX_SHIFT


@helper
def make_beat(kind: int, stop: int, low: int, aux: int) -> int:
    """A beat in one word."""
    return kind | (stop << STOP_SHIFT) | (low << LOW_SHIFT) | (aux << AUX_SHIFT)


@helper
def within_reach(M: Memory, then: int, t: int) -> int:
    """Cycle `then`, or the last one that the wheel has in cycle `t`: for waits that ask again."""
    return min(then, t + M[WHEEL_MASK])


@helper
def slot(M: Memory, c: int, i: int) -> int:
    """Address of the ring slot of beat `i` of channel `c`."""
    return M[c + RING] + SLOT * (i & M[c + MASK])


@helper
def ready_at(M: Memory, c: int, i: int, t: int) -> int:
    """`READY` if beat `i` of channel `c` is visible in cycle `t`, else what to wait for."""
    if i >= M[c + PUSHED]:
        M[REASON] = EMPTY_INPUT
        return -c
    seen = M[slot(M, c, i)] + M[c + LATENCY]
    if seen <= t:
        return READY
    M[REASON] = EMPTY_INPUT
    return within_reach(M, seen, t)


@helper
def ready(M: Memory, c: int, t: int) -> int:
    """`READY` if a beat is at the head of channel `c` in cycle `t`, else what to wait for."""
    return ready_at(M, c, M[c + POPPED], t)


@helper
def all_ready(M: Memory, channels: int, count: int, t: int) -> int:
    """`READY` if `count` channels, stored from an address on, have a beat; or what to wait for."""
    for n in range(count):
        wait = ready(M, M[channels + n], t)
        if wait != READY:
            return wait
    return READY


@helper
def all_have_room(M: Memory, channels: int, count: int, t: int) -> int:
    """`READY` if `count` channels, stored from an address on, have a free slot; or what to wait
    for."""
    for n in range(count):
        wait = room(M, M[channels + n], t)
        if wait != READY:
            return wait
    return READY


@helper
def push_to_all(M: Memory, channels: int, count: int, t: int, beat: int) -> None:
    """Push a beat to `count` channels, stored from an address on."""
    for n in range(count):
        push(M, M[channels + n], t, beat)


@helper
def room_for(M: Memory, c: int, n: int, t: int) -> int:
    """`READY` if channel `c` has space for `n` beats in all in cycle `t`, else what to wait for.

    The producer that waits is not stepped again before the beat has left that it needs the slot of.
    """
    freed = n - M[c + DEPTH] - 1
    if freed < 0:
        return READY
    if freed >= M[c + POPPED]:
        M[REASON] = FULL_OUTPUT
        M[c + WANTED] = freed
        return -c
    if M[slot(M, c, freed) + 1] < t:
        return READY
    M[REASON] = FULL_OUTPUT
    return t + 1


@helper
def room(M: Memory, c: int, t: int) -> int:
    """`READY` if channel `c` has a free slot in cycle `t`, else what to wait for."""
    if t < M[c + FREE_AT]:
        M[REASON] = FULL_OUTPUT
        return within_reach(M, M[c + FREE_AT], t)
    return room_for(M, c, M[c + PUSHED] + 1, t)


@helper
def can_pass(M: Memory, x: int, y: int, t: int) -> int:
    """`READY` if `x` has a beat at its head and `y` a free slot, else what to wait for."""
    wait = ready(M, x, t)
    return wait if wait != READY else room(M, y, t)


@helper
def head(M: Memory, c: int) -> int:
    """The beat at the head of channel `c`."""
    return M[slot(M, c, M[c + POPPED]) + 2]


@helper
def beat_at(M: Memory, c: int, i: int) -> int:
    """Beat `i` of channel `c`, not yet popped."""
    return M[slot(M, c, i) + 2]


@helper
def schedule(M: Memory, a: int, t: int) -> None:
    """Schedule the next step of actor `a` for cycle `t`."""
    bucket = M[WHEEL] + (t & M[WHEEL_MASK])
    M[a + NEXT] = M[bucket]
    M[bucket] = a
    M[a + ASLEEP_ON] = AWAKE


@helper
def log(M: Memory, c: int, t: int, side: int) -> None:
    """Log the transfer of a beat: `side` 0 into channel `c`, 1 out of it."""
    if M[c + CHANNEL_ID] >= 0:
        M[M[LOG]] = (t << KEY_BITS) | (M[c + CHANNEL_ID] << 1) | side
        M[LOG] += 1


@helper
def restopped(M: Memory, levels: int, beat: int) -> int:
    """The beat with its levels rewritten by the words from an address on."""
    kind, low = kind_of(beat), low_of(beat)
    if kind == DONE:
        return beat
    if kind == BARE:
        low = M[levels + LEVEL_MASK + 1 + low]
    return make_beat(kind, M[levels + stop_of(beat)], low, aux_of(beat))


@helper
def push(M: Memory, c: int, t: int, beat: int) -> None:
    """Push `beat` into channel `c` in cycle `t`; it must have a free slot."""
    at = slot(M, c, M[c + PUSHED])
    M[at] = t
    M[at + 2] = restopped(M, M[c + RESTOP], beat) if M[c + RESTOP] else beat
    M[c + PUSHED] += 1
    log(M, c, t, 0)
    consumer = M[c + CONSUMER]
    on = M[consumer + ASLEEP_ON]
    if on == -c:
        schedule(M, consumer, within_reach(M, t + M[c + LATENCY], t))
    elif on == ANY:
        schedule(M, consumer, t + 1)


@helper
def pop(M: Memory, c: int, t: int) -> int:
    """Pop the head of channel `c` in cycle `t` and return it."""
    popped = M[c + POPPED]
    at = slot(M, c, popped)
    M[at + 1] = t
    M[c + POPPED] = popped + 1
    log(M, c, t, 1)
    producer = M[c + PRODUCER]
    on = M[producer + ASLEEP_ON]
    if (on == -c and popped >= M[c + WANTED]) or on == ANY:
        schedule(M, producer, t + 1)
    return M[at + 2]


@helper
def finish(M: Memory, a: int) -> None:
    """Actor `a`, one of those that a run waits for, has finished."""
    M[RUNNING] -= 1


@helper
def acted(M: Memory, t: int) -> int:
    """Return value of a step that acted in cycle `t`."""
    M[REASON] = WORKING
    return t + 1


@helper
def held_back(M: Memory, t: int) -> int:
    """Return value of a step that a stall outside the design prevents from acting in cycle `t`."""
    M[REASON] = FULL_OUTPUT
    return t + 1


@helper
def fault(M: Memory, a: int, t: int, detail: int) -> int:
    """Return value of a step that met what its program excludes.

    Called again it changes the detail of its actor's fault.
    """
    if M[FAULT] == 0:
        M[FAULT] = a
    if M[a + FAULTED] == 0:
        M[a + FAULTED] = t + 1
    M[a + DETAIL] = detail
    return NEVER


@helper
def note(M: Memory, channel_id: int, t: int) -> None:
    """Log a decision that depended on time, under its own id."""
    M[M[LOG]] = (t << KEY_BITS) | (channel_id << 1)
    M[LOG] += 1


FINISHED, QUIET, LOG_FULL, LIMIT, ARENA_FULL, PAUSED, FAILED = range(7)
LOG_PER_ACTOR = 200
"""Log entries reserved for one action of an actor: all the beats that it may move."""
ARENA_PER_ACTOR = 8
"""Words of the arena that one action of an actor may take, if there is an arena."""
CONTROL_CYCLES = 2
"""Cycles from the end of the last stream until the control unit stops the cycle counter."""


def call(step: Any, M: Memory, a: int, t: int) -> int:
    """Call a step function; returns 0 if it divides by zero.

    Compiled code has its address, see `stepgen.timing.compiled`.

    Raises
    ------
    StepError
        If it returns anything but an integer, which the compiler refuses.
    """
    try:
        then = step(M, a, t)
    except ZeroDivisionError:
        return 0
    if type(then) is not int:
        code = step.__code__
        raise StepError(
            f"the step function {step.__name__} at {place(code)} returned {shown(then)} in cycle "
            f"{t}: it must return an integer: a wait, or acted(M, t)"
        )
    return then


@helper
def back(M: Memory, why: int, t: int) -> int:
    """Return value of `run`, which goes on from cycle `t`."""
    M[CYCLE] = t
    return why


def run(steps: Sequence[Any], M: Memory, limit: int, most: int) -> int:
    """Step until the run ends or pauses; returns the reason.

    Parameters
    ----------
    steps : sequence of step functions
        Indexed by the actors' `STEP_INDEX`; in compiled code an array of their addresses.
    M : int64 array
        The state array; `CYCLE` is the cycle to begin with, and afterwards to continue from.
    limit : int
        Cycle at which to stop.
    most : int
        Steps of actors, and cycles, after which to pause, so that Python gets control.
    """
    wheel, mask = M[WHEEL], M[WHEEL_MASK]
    most_logged, most_traced = M[LOG_END] - LOG_PER_ACTOR * M[ACTORS], M[TRACE_END] - M[ACTORS]
    most_taken = M[ARENA_END] - ARENA_PER_ACTOR * M[ACTORS]
    ended = False
    looks = 0
    t = M[CYCLE]
    while t < limit:
        if M[RUNNING] == 0 and not ended:
            ended = True
            limit = t - 1 + CONTROL_CYCLES
            continue
        if M[LOG] > most_logged or M[TRACE] > most_traced:
            return back(M, LOG_FULL, t)
        if M[ARENA_END] and M[ARENA] > most_taken:
            return back(M, ARENA_FULL, t)
        if looks >= most:
            return back(M, PAUSED, t)
        bucket = wheel + (t & mask)
        a = M[bucket]
        if a == 0:
            ahead = 1
            while ahead <= mask and M[wheel + ((t + ahead) & mask)] == 0:
                ahead += 1
            if ahead > mask:
                return back(M, FINISHED, limit) if ended else back(M, QUIET, t)
            looks += ahead
            t = min(t + ahead, limit)
            continue
        M[bucket] = 0
        while a:
            follower = M[a + NEXT]
            looks += 1
            then = call(steps[M[a + STEP_INDEX]], M, a, t)
            # An actor that has ended counts as starved.
            now = EMPTY_INPUT if then == NEVER else M[REASON]
            M[REASON] = WORKING
            before = M[a + STATE]
            if now != before:
                M[a + BUSY + before] += t - M[a + LAST]
                M[a + LAST], M[a + STATE] = t, now
                M[M[TRACE]] = (t << KEY_BITS) | (M[a + ACTOR_ID] << 2) | now
                M[TRACE] += 1
            if 0 < then - t <= mask:
                bucket = wheel + (then & mask)
                M[a + NEXT] = M[bucket]
                M[bucket] = a
            elif then < 0:
                M[a + ASLEEP_ON] = then
            else:
                M[FAULT], M[REASON] = a, then
                return back(M, FAILED, t)
            a = follower
        t += 1
    return back(M, FINISHED, limit) if ended else back(M, LIMIT, t)


def sort(entries: Memory, M: Memory, keys: int, count: int) -> int:
    """Sort entries of a log by their keys, in the order in which those of each key were logged.

    Parameters
    ----------
    entries : int64 array
        The cycle, and in its low bits a key below `keys`.
    M : int64 array
        `keys` zeros, and space for the cycles that are written behind them. Then each of the
        `keys` words is the address of what follows the cycles of its key.
    keys, count : int
        Number of keys, and of entries.

    Returns
    -------
    int
        0.
    """
    for n in range(count):
        M[entries[n] & KEY] += 1
    place = keys
    for key in range(keys):
        size = M[key]
        M[key] = place
        place += size
    for n in range(count):
        key = entries[n] & KEY
        M[M[key]] = entries[n] >> KEY_BITS
        M[key] += 1
    return 0


loops = (run, sort)
"""What compiled code has besides the step functions."""
