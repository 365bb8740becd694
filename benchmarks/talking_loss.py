"""(o2) The model that talks, in real numbers and in integers, on text that it has not seen."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.table import Table
from stepgen.frontend import files, from_checkpoint
from stepgen.frontend.quantizing.calibration import cut, losses
from stepgen.frontend.quantizing.quantize import TEXT, quantize
from stepgen.tools.shipped import shipped

TRAINING = shipped("examples") / "talk" / "train.py"
SEEN = 1024
"""Characters of the training text on which places are chosen."""

WINDOWS, CHARACTERS = 10, 1000
"""Of the unseen text, evenly spread."""


def measure() -> Table:
    """Train, import and quantize as `docs/talk.md` says, and compare; needs the extra ``torch``."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "talk"
        subprocess.run([sys.executable, str(TRAINING), str(place)], check=True)
        seen, unseen = (np.load(place / f"{name}.npy") for name in ("seen", "unseen"))
        exact = from_checkpoint(place)
        integers = quantize(exact, seen[:SEEN])
        same = integers == files.load(str(TRAINING.with_name("talk.stepgen")))
        starts = np.linspace(0, len(unseen) - CHARACTERS, WINDOWS).astype(int)
        found = []
        for start in starts:
            texts = [*cut(unseen[start : start + CHARACTERS], TEXT)]
            (before, count), (after, _) = (losses(model, texts) for model in (exact, integers))
            found.append((before, after, after - before))
    rows = [
        (f"from {start:,}", *_nats(row)) for start, row in zip(starts.tolist(), found, strict=True)
    ]
    rows.append(("mean", *_nats(map(statistics.mean, zip(*found, strict=True)))))
    rows.append(("standard deviation", *_nats(map(statistics.stdev, zip(*found, strict=True)))))
    spread = statistics.stdev(row[-1] for row in found)
    return Table(
        "o2. The loss of the model that talks",
        f"The model that `examples/talk/train.py` trains here, quantized on {SEEN:,} characters "
        f"that it was trained on; its integers are {'' if same else 'not '}those of "
        f"`talk.stepgen`. Loss in nats a character on {WINDOWS} windows of {CHARACTERS:,} "
        f"characters that it has not seen, of {len(unseen):,}, each of {count} losses in texts of "
        f"{TEXT}. One window shows the difference to within {2 * spread:.4f} (two standard "
        f"deviations), the mean of all to within {2 * spread / WINDOWS**0.5:.4f}.",
        ("window", "real numbers", "integers", "difference"),
        rows,
    )


def _nats(row: Iterable[float]) -> tuple[str, str, str]:
    before, after, difference = row
    return f"{before:.4f}", f"{after:.4f}", f"{difference:+.4f}"
