"""A simulated board: the top module that a real one has, its serial port a pseudo-terminal."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..cosim.building import FAST_BUILD, compile_model, kept, room_of, translate, versions
from ..cosim.objects import link
from ..cosim.render import fill
from ..emit.kernels import compiled
from ..hw.board.top import BoardTop, Surroundings
from ..hw.design.table import Design
from ..hw.verilog import top_name, written
from ..ir.errors import StepError
from ..tools import children
from ..tools.cache import digest
from ..tools.shipped import shipped
from ..tools.waiting import Progress, quiet
from .serial_port import SerialWire

SIGNALS = ("clk", "rst", "rx", "tx", "running")
PATIENCE = 60.0
"""Seconds: a simulated wire loses nothing, and may be slow."""

BAUD = 115_200
"""What a pseudo-terminal is told, which heeds no speed."""


def build(
    design: Design,
    around: Surroundings,
    *,
    kernels: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Path:
    """Build a simulated board, or find it in the cache; returns its program.

    Parameters
    ----------
    design : Design
    around : Surroundings
    kernels : mapping of str to str, optional
        Files of the design's Verilog kernels.
    progress : Progress

    Raises
    ------
    StepError
        Where a tool is missing or rejects the design.
    """
    basis = versions(FAST_BUILD)
    name = f"{top_name(design)}_board"
    progress("writing Verilog", 0.0)
    verilog = written(name, lambda part: BoardTop(design, around, part=part), initial=False)
    sim = shipped("sim/verilator")
    files = {
        "board.v": verilog,
        "glue.cpp": fill("glue.cpp.j2", name=name, inputs=SIGNALS, outputs=(), trace=False),
        **(kernels or {}),
    }
    main = sim / "board.cpp"
    made_from = digest(*basis, *(p for file in files.items() for p in file), main.read_bytes())
    folder = room_of(FAST_BUILD) / f"{name}-{made_from}"
    begun = time.monotonic()

    def make(place: Path) -> dict[str, object]:
        for file, content in files.items():
            (place / file).write_text(content)
        progress("translating Verilog to C++", 0.0)
        made = translate(place, name, ["-I."], ["board.v", *compiled(kernels or {})])
        mains = [(main, (f"-I{sim}",))]
        objects = compile_model(place, made, mains, opt=FAST_BUILD, fixed_by="", progress=progress)
        progress("linking", 0.95)
        link(objects, place / "board")
        for path in place.iterdir():
            if path.name not in {*files, "board"}:
                path.unlink()
        return {"seconds": time.monotonic() - begun}

    kept(folder, made_from, make)
    progress("simulation is built", 1.0)
    return folder / "board"


@contextmanager
def switched_on(program: Path, around: Surroundings, *, seed: int = 0) -> Iterator[SerialWire]:
    """The wire to a simulated board, which ends with the block.

    Parameters
    ----------
    program : Path
        From `build`.
    around : Surroundings
        The same.
    seed : int
        Of what registers and memories hold at power-up.
    """
    command = [str(program), f"+bit_cycles={around.bit_cycles}", "+verilator+rand+reset+2"]
    command.append(f"+verilator+seed+{1 + seed % (2**31 - 1)}")
    with children.started(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        name = process.stdout.readline().strip()
        if not name:
            raise StepError(f"the simulated board ended: {process.stderr.read().strip()}")
        wire = SerialWire(name, BAUD, PATIENCE)
        try:
            yield wire
        finally:
            wire.close()
            process.stdin.close()
