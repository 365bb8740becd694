"""(n) What else people look at: drawings and waveforms, and what an installation takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.report_pages import TIMES, least
from benchmarks.table import Table
from stepgen.cosim.experiment import Experiment
from stepgen.program.program import load

CYCLES = 5000
"""Of the waveforms: the first ones."""

LARGEST = 9
"""Packages that are named."""

NEEDLESS = ("pip", "setuptools")
"""What a new environment has before stepgen is installed."""

DEMO = {"demo, dynamic tiles": {}, "demo, static tiles": {"tiling": "static"}}


def measure() -> list[Table]:
    """Draw the demo, simulate its first cycles with waveforms, install stepgen for itself."""
    return [_drawings(), _waveforms(), _installed()]


def _drawings() -> Table:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawing.svg"
        for name, words in (("the graph", ()), ("the circuit", ("--design",))):
            seconds, used = least(TIMES, "show", "moe", *words, "--svg", str(path))
            rows.append((name, f"{path.stat().st_size / 1e3:.0f}", f"{seconds:.1f}", f"{used:.1f}"))
    return Table(
        "n2. Drawings of the demo",
        f"`stepgen show moe --svg`, the least of {TIMES}.",
        ("of", "kB", "s", "CPU s"),
        rows,
    )


def _waveforms() -> Table:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in DEMO.items():
            loaded = load("moe", settings, tensors=True)
            run = Experiment(loaded.graph, loaded.inputs)
            sizes = []
            for form in ("fst", "vcd"):
                path = Path(folder) / f"wave.{form}"
                place = Path(folder) / form
                run.test(place, driver="cpp", waveform=path, waveform_cycles=CYCLES)
                sizes.append(path.stat().st_size / 1e6)
            rows.append((name, *(f"{size:.2f}" for size in sizes), f"{sizes[1] / sizes[0]:.0f}"))
    return Table(
        "n3. Waveforms",
        f"The first {CYCLES:,} cycles, as `stepgen test --waveform` writes them, and all wires as "
        "VCD.",
        ("run", "FST, MB", "VCD, MB", "VCD / FST"),
        rows,
    )


def _installed() -> Table:
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        root = Path(__file__).parents[1]
        command = [str(python), "-m", "pip", "install", "--quiet", str(root)]
        subprocess.run(command, check=True)
        sizes = Counter(dict(_sizes(Path(folder))))
        blocks = sum(path.lstat().st_blocks for path in Path(folder).rglob("*")) * 512
    rest = sum(sizes.values()) - sum(size for _, size in sizes.most_common(LARGEST))
    named = [*sizes.most_common(LARGEST), (f"{len(sizes) - LARGEST} others", rest)]
    rows = [(name, f"{size / 1e6:.0f}") for name, size in named]
    return Table(
        "n4. Installed without extras",
        "`pip install .` in a new environment: what the files of each package take, with what "
        "Python compiles of them. On disk files take whole blocks, and pip is there, too.",
        ("package", "MB"),
        [
            *rows,
            ("all", f"{sum(sizes.values()) / 1e6:.0f}"),
            ("the environment on disk", f"{blocks / 1e6:.0f}"),
        ],
    )


def _sizes(environment: Path) -> Iterator[tuple[str, int]]:
    """Bytes of each package."""
    (libraries,) = environment.glob("lib/python*/site-packages")
    for one in distributions(path=[str(libraries)]):
        if one.name not in NEEDLESS:
            files = [Path(str(file.locate())) for file in one.files or ()]
            yield one.name, sum(file.stat().st_size for file in files if file.exists())
