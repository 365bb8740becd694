"""Reads the file of the recorder: the cycle of every beat on every channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError

Cycles = npt.NDArray[np.int64]

_ADVANCE = np.uint32(1 << 31)


@dataclass(frozen=True)
class Record:
    """Cycles in which beats moved, by channel.

    Attributes
    ----------
    pushes, pops : dict of str to int64 array of shape [beats]
        Cycles in which a beat was pushed into the channel, or popped from it, in order. Handshakes
        of ports and memory channels count as pushes; their pops are empty.
    """

    pushes: dict[str, Cycles]
    pops: dict[str, Cycles]


def read_record(path: Path, names: Sequence[str]) -> Record:
    """Read a record.

    Parameters
    ----------
    path : Path
        File that ``sim/verilator/recorder.cpp`` wrote.
    names : sequence of str
        `Interface.recorded` of the design.

    Raises
    ------
    StepError
        Where the file does not fit the names.
    """
    words = np.fromfile(path, dtype=np.uint32)
    advances = words >= _ADVANCE
    now = np.cumsum(np.where(advances, words ^ _ADVANCE, 0), dtype=np.int64)
    events, cycles = words[~advances], now[~advances]
    count = 2 * len(names)
    if len(events) and int(events.max()) >= count:
        raise StepError(f"{path}: channel {int(events.max()) // 2} of {len(names)} channels")
    if count <= 1 << 16:
        events = events.astype(np.uint16)  # sorted by radix, in linear time
    order = np.argsort(events, kind="stable")
    ends = np.cumsum(np.bincount(events, minlength=count))
    parts = np.split(cycles[order], ends[:-1]) if count else []
    return Record(
        dict(zip(names, parts[0::2], strict=True)), dict(zip(names, parts[1::2], strict=True))
    )
