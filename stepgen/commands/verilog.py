"""Writes the circuit of a program as Verilog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from stepgen.commands.call import called, notebook
from stepgen.commands.options import BUILD, Circuit, Timing
from stepgen.commands.source import Source
from stepgen.cosim.experiment import Experiment
from stepgen.emit.design_writer import write
from stepgen.emit.wraps import Family, Package, Wrap
from stepgen.hw.design.table import Design
from stepgen.hw.picture import design_svg
from stepgen.ir.show import html_table
from stepgen.program.design_folder import BENCH
from stepgen.program.program import Program
from stepgen.tools import waiting


@dataclass(frozen=True, repr=False)
class VerilogResult:
    """A design folder.

    Attributes
    ----------
    folder : Path
    design : Design
        The circuit as units and channels.
    files : dict of str to Path
        By what they are.
    hash : str
        Of the design.
    built : bool
        Whether the Verilog was made, not found.
    removed : tuple of str
        Names of files that an earlier call wrote, and this one was not asked for.
    left : tuple of str
        Names of what an earlier call wrote for another design and this one left: files that were
        changed since, and ``bench``.
    """

    folder: Path
    design: Design
    files: dict[str, Path]
    hash: str
    built: bool
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The Verilog."""
        return (self.folder / f"{self.design.name}.v").read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """The circuit and the files, for notebooks."""
        rows = [(what, str(path)) for what, path in self.files.items()]
        return notebook(self, design_svg(self.design), html_table("files", (), rows))

    def __repr__(self) -> str:
        return f"<Verilog of {self.design.name}: {len(self.files)} files in {self.folder}>"


@called
def verilog(
    source: Source,
    circuit: Circuit,
    timing: Timing,
    *,
    out: str | Path = BUILD,
    bench: bool = False,
    wrap: Sequence[Wrap] = (),
    host: bool = False,
    package: Sequence[Package] = (),
    family: Sequence[Family] = (),
) -> VerilogResult:
    """Write Verilog and a C header of its registers, as ``stepgen verilog`` does.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        They are written into the folder, too.
    out : str or Path
        The folder.
    bench : bool
        Whether to write a test bench that lives without stepgen, for which memory and stalls are.
    wrap : sequence of str
        Buses with whose standard names a module around the design is written.
    host : bool
        Whether to write a host library in C.
    package : sequence of str
        Tools of others for which the folder is described.
    family : sequence of str
        FPGAs for which Verilog with their hard blocks, and models of these, are written.
    lanes, bus_bits, depth, ...
        See `stepgen.commands.options.Circuit`.
    latency, interval, stall, ...
        See `stepgen.commands.options.Timing`.
    seed, dim, transform
        See `stepgen.commands.source.Drawing`.
    phase, element, cache, ...
        Of a model, see `stepgen.program.models.parameters`.

    Raises
    ------
    StepError
        If the program has no circuit, or the folder can't be written.
    """
    loaded = source.load(draw=bench)
    experiment = timing.experiment(loaded, circuit, seed=source.seed)
    with waiting.progress(quiet=True) as progress:
        return generated(
            loaded,
            experiment,
            Path(out),
            progress=progress,
            bench=bench,
            wraps=wrap,
            host=host,
            packages=package,
            families=family,
        )


def generated(
    program: Program,
    experiment: Experiment,
    folder: Path,
    *,
    progress: waiting.Progress,
    bench: bool = False,
    golden: Path | None = None,
    wraps: Sequence[str] = (),
    host: bool = False,
    packages: Sequence[str] = (),
    families: Sequence[str] = (),
    earlier: Iterable[Path] = (),
    change: bool = True,
) -> VerilogResult:
    """Write the design folder of an experiment.

    Parameters
    ----------
    program : Program
    experiment : Experiment
        The program as a circuit.
    folder : Path
    progress : Progress
        Called with the current step.
    golden : Path, optional
        A file that computes in plain numpy what the program does, for the bench.
    bench, wraps, host, packages, families
        As for `verilog`.
    earlier, change
        As for `stepgen.emit.design_writer.write`.
    """
    design = experiment.design
    with ExitStack() as opened:
        bench_files: list[str] = []
        put = None
        if bench:
            from stepgen.cosim.standalone import needed, prepared

            bench_files = needed(experiment)
            progress("preparing the test bench", 0.0)
            # What is wrong with it is reported before the folder changes.
            put = opened.enter_context(prepared(folder, experiment, golden))
        progress("writing Verilog", 0.5)
        written = write(
            folder,
            program,
            design,
            wraps=wraps,
            host=host,
            packages=packages,
            families=families,
            bench=bench_files,
            earlier=earlier,
            change=change,
        )
        bench_words, bench_removed = put() if put else ({}, ())
    files = {what: folder / name for what, name in (written.files | bench_words).items()}
    left = written.edited
    if not bench and (folder / BENCH).is_dir():
        from stepgen.cosim.standalone import of_another_design

        left += (BENCH,) * of_another_design(folder, design)
    done = written.hash, written.built, (*written.removed, *bench_removed), left
    return VerilogResult(folder, design, files, *done)
