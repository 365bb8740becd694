"""A simulated board: the top module that a real one has, its serial port a pseudo-terminal."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stepgen.board.serial_port import SerialWire
from stepgen.cosim.building import (
    FAST_BUILD,
    KEEP_BUILDS,
    compile_model,
    room_of,
    translate,
    versions,
)
from stepgen.cosim.objects import link
from stepgen.emit.elaborate import made_by
from stepgen.emit.kernels import compiled, kernel_files
from stepgen.emit.modules import kept_modules
from stepgen.emit.windows import Window
from stepgen.hw.board.simulated import Simulated
from stepgen.hw.board.top import Surroundings
from stepgen.hw.design.table import Design
from stepgen.hw.names import top_name
from stepgen.hw.verilog import written
from stepgen.hw.verilog_kernel.params import sources_of
from stepgen.ir.errors import StepError
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.tools import children
from stepgen.tools.cache import digest, kept
from stepgen.tools.shipped import shipped
from stepgen.tools.templates import fill
from stepgen.tools.waiting import Progress, quiet

SIGNALS = ("clk", "rst", "rx", "tx", "running", "put", "get")
PATIENCE = 60.0
"""Seconds: a simulated wire loses nothing, and may be slow."""

ENDS = 5.0
"""Seconds after which a simulated board that does not end by itself is killed."""

CONTENTS, WANTED, FOUND = "contents.hex", "wanted.txt", "found.hex"
"""Files in which contents of a memory pass."""

BAUD = 115_200
"""The speed set on a pseudo-terminal, which ignores it."""


def build(
    design: Design,
    around: Surroundings,
    *,
    progress: Progress = quiet,
) -> Path:
    """Build a simulated board, or find it in the cache; returns its program.

    The key of the cache is all that the Verilog depends on: for one that is found none is written.

    Parameters
    ----------
    design : Design
    around : Surroundings
    progress : Progress

    Raises
    ------
    StepError
        Where a tool is missing or rejects the design.
    """
    name, sim = f"{top_name(design)}_board", shipped("sim/verilator")
    support = ["sdram.sv"] if around.sdram else []
    files = {
        "glue.cpp": fill("glue.cpp.j2", name=name, inputs=SIGNALS, outputs=(), trace=False),
        **{name: (sim / name).read_text(encoding="utf-8") for name in support},
    }
    main = sim / "board.cpp"
    known = (*files.items(), *sources_of(design).items())
    made_from = digest(
        *versions(FAST_BUILD),
        made_by(design),
        around.digest(design),
        *(part for file in known for part in file),
        main.read_bytes(),
    )
    folder = room_of(FAST_BUILD) / f"{name}-{made_from}"
    begun = time.monotonic()

    def make(place: Path) -> dict[str, object]:
        progress("writing Verilog", 0.0)
        board = written(
            name,
            lambda part: Simulated(design, around, part=part),
            initial=False,
            kept=kept_modules(),
        )
        kernels = kernel_files(design, board)
        files.update(kernels, **{"board.v": board})
        for file, content in files.items():
            (place / file).write_text(content, encoding="utf-8")
        progress("translating Verilog to C++", 0.0)
        made = translate(place, name, ["-I."], ["board.v", *support, *compiled(kernels)])
        mains = [(main, (f"-I{sim}",))]
        objects = compile_model(place, made, mains, opt=FAST_BUILD, fixed_by="", progress=progress)
        progress("linking", 0.95)
        link(objects, place / "board")
        for path in place.iterdir():
            if path.name not in {*files, "board"}:
                path.unlink()
        return {"seconds": time.monotonic() - begun}

    kept(folder, made_from, make, keep=KEEP_BUILDS)
    progress("simulation is built", 1.0)
    return folder / "board"


class VirtualWire(SerialWire):
    """The wire to a simulated board.

    Parameters
    ----------
    name : str
        Of the pseudo-terminal.
    process : Popen
        The simulation.
    room : Path
        The folder of the files that its memory reads and writes.
    sdram : SdramTiming or None
        Its memory.
    hz : int
        Its clock.
    """

    def __init__(
        self,
        name: str,
        process: subprocess.Popen[str],
        room: Path,
        sdram: SdramTiming | None,
        hz: int,
    ) -> None:
        super().__init__(name, BAUD, PATIENCE)
        self._process, self._room, self._sdram, self.hz = process, room, sdram, hz

    @property
    def past(self) -> bool:
        """Whether its memory can be reached past the link."""
        return self._sdram is not None

    def put(self, windows: Sequence[Window], image: npt.NDArray[np.uint8]) -> None:
        """Write to the memory past the link.

        Parameters
        ----------
        windows : sequence of (int, int)
            First addresses and bytes of what is written, in whole words of the memory.
        image : uint8 array
            The bytes, window after window.

        Raises
        ------
        StepError
            If the simulation has ended.
        """
        assert self._sdram
        words = image.view(f"<u{self._sdram.data_bits // 8}")
        with (self._room / CONTENTS).open("w", encoding="utf-8") as file:
            first = 0
            for place, count in _runs(self._sdram, windows):
                file.write(f"@{place:x}\n")
                file.writelines(f"{word:x}\n" for word in words[first : first + count].tolist())
                first += count
        self._pass("put")

    def get(self, windows: Sequence[Window]) -> npt.NDArray[np.uint8]:
        """Read the memory past the link; the bytes of windows, one after the other.

        Raises
        ------
        StepError
            If the simulation has ended.
        """
        assert self._sdram
        runs = [f"{place} {count}\n" for place, count in _runs(self._sdram, windows)]
        (self._room / WANTED).write_text("".join(runs), encoding="utf-8")
        self._pass("get")
        words = (self._room / FOUND).read_text(encoding="utf-8").split()
        found = np.array([int(word, 16) for word in words], f"<u{self._sdram.data_bits // 8}")
        return found.view(np.uint8)

    def now(self) -> float:
        """Simulated seconds."""
        return int(self._pass("time")) / self.hz

    def _pass(self, how: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(f"{how}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise StepError("the simulated board has ended") from None
        if not (said := self._process.stdout.readline()):
            raise StepError("the simulated board has ended")
        return said


def _runs(sdram: SdramTiming, windows: Sequence[Window]) -> Iterator[tuple[int, int]]:
    """Places of the chip and numbers of words that lie there one behind the other."""
    size = sdram.data_bits // 8
    page = size << sdram.column_bits
    for base, length in windows:
        assert base % size == length % size == 0
        first, end = base, base + length
        while first < end:
            following = min(end, (first // page + 1) * page)
            yield sdram.place(first), (following - first) // size
            first = following


@contextmanager
def switched_on(program: Path, around: Surroundings, *, seed: int = 0) -> Iterator[VirtualWire]:
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
    with (
        tempfile.TemporaryDirectory(prefix="stepgen.") as room,
        children.started(
            [*command, f"+room={room}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        assert process.stderr
        name = process.stdout.readline().strip()
        if not name:
            raise StepError(f"the simulated board ended: {process.stderr.read().strip()}")
        wire = VirtualWire(name, process, Path(room), around.sdram, around.clock)
        try:
            yield wire
        finally:
            wire.close()
            process.stdin.close()
            try:
                process.wait(ENDS)
            except subprocess.TimeoutExpired:
                process.kill()  # it is stopped, or as good as
