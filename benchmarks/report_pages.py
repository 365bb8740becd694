"""(n) Pages of `stepgen report`: size, seconds to write, seconds until a browser has drawn them."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.table import Table
from stepgen.cosim.experiment import Experiment
from stepgen.program.program import load

TIMES = 3
MUCH = {"tokens": "2048", "width": "256", "hidden": "512"}
"""Settings of a run that takes hundreds of times as many cycles as the demo."""

PAGES = {
    "demo, dynamic tiles": ("moe", {}),
    "demo, static tiles": ("moe", {"tiling": "static"}),
    "attention": ("attention", {}),
    "MoE layer, long": ("moe", MUCH),
}


def measure() -> Table:
    """Write pages in processes of their own, and open them in Chromium where it is there."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (program, settings) in PAGES.items():
            loaded = load(program, settings, tensors=False)
            pushes = Experiment(loaded.graph, loaded.inputs).prediction.pushes
            path = Path(folder) / "page.html"
            words = [word for item in settings.items() for word in ("--set", "=".join(item))]
            luts = ["--no-luts"] if settings is MUCH else []
            report = least(TIMES, "report", program, *words, *luts, "-o", str(path))
            time = least(TIMES, "time", program, *words)
            rows.append(
                (
                    name,
                    f"{sum(map(len, pushes.values())):,}",
                    f"{path.stat().st_size / 1e6:.2f}",
                    f"{report[0]:.1f}",
                    f"{report[1]:.1f}",
                    f"{time[1]:.1f}",
                    f"{report[1] / time[1]:.2f}",
                    _opened(path),
                )
            )
    return Table(
        "n. Pages of runs",
        f"`stepgen report` beside `stepgen time` of the same run, the least of {TIMES} with "
        "everything in the caches; that of the long run without LUTs. CPU is seconds of the "
        "processor, which other work on the machine changes less. Opened by headless Chromium "
        "until all is drawn.",
        (
            "run",
            "beats",
            "MB",
            "report, s",
            "report, CPU s",
            "time, CPU s",
            "report / time",
            "opened, s",
        ),
        rows,
    )


def least(times: int, *words: str) -> tuple[float, float]:
    """Seconds of a command, and those of the processor; the least of some runs."""
    found = [used(*words) for _ in range(times)]
    return min(wall for wall, _ in found), min(cpu for _, cpu in found)


def used(*words: str, **more: Any) -> tuple[float, float]:
    """Seconds of a command, and those of the processor; `more` is for the process."""
    environment = more.pop("env", compiled())
    start, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "stepgen", *words]
    subprocess.run(command, check=True, capture_output=True, env=environment, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return perf_counter() - start, cpu


def compiled() -> dict[str, str]:
    """An environment in which Python keeps what it compiles, as that of a user does."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _opened(path: Path) -> str:
    """Seconds from the start of navigation until all scripts have run."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "no playwright"
    if chromium is None:
        return "no chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = []
        for _ in range(TIMES):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            entry = "performance.getEntriesByType('navigation')[0].loadEventEnd"
            found.append(float(page.evaluate(entry)) / 1000)
            page.close()
        browser.close()
    return f"{min(found):.2f}"
