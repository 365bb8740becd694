"""Sweeps: each point is evaluated once, its result is cached by hash; interrupted ones resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from stepgen.study.evaluate import Numbers, evaluate
from stepgen.study.point import Point
from stepgen.tools.atomic import atomic_file
from stepgen.tools.cache import cache_folder, digest, prune
from stepgen.tools.shipped import shipped
from stepgen.tools.waiting import Progress, quiet
from stepgen.tools.workers import ALONE, Workers

KEPT_VERSIONS = 4
"""Versions of stepgen whose results are kept."""

_PACKAGE = Path(__file__).resolve().parents[1]
_MATTERS = (
    "ir",
    "semantics",
    "functions",
    "compile",
    "timing",
    "hw",
    "synth",
    "synth/measured.json",
    "cosim/experiment.py",
    "program/tiles.py",
    "study/evaluate.py",
    "study/circuit.py",
)


@cache
def sources() -> str:
    """Key of the code that decides results: engine, transforms, programs; not what draws them."""
    roots = [*(_PACKAGE / name for name in _MATTERS), shipped("examples")]
    files = [
        f for root in roots for f in ([root] if root.is_file() else sorted(root.rglob("*.py")))
    ]
    return digest(*(part for f in files for part in (f.name, f.read_bytes())))


def folder() -> Path:
    """Cache folder of the results of this version of stepgen."""
    return cache_folder() / "study" / sources()


def sweep(
    points: Sequence[Point],
    *,
    workers: Workers = ALONE,
    evaluate: Callable[[Point], Numbers] = evaluate,
    progress: Progress = quiet,
    place: Path | None = None,
) -> list[Numbers]:
    """Evaluate points.

    Every result is cached as soon as it is available, so that an interrupted sweep resumes.
    Equal points are evaluated once.

    Parameters
    ----------
    points : sequence of Point
    workers : Workers
        Who evaluates; by default this process.
    evaluate : callable
        From a point to its numbers.
    progress : Progress
        Called after every point.
    place : Path, optional
        Where results are kept; by default `folder`.

    Returns
    -------
    list of dict
        Numbers, in the order of `points`.

    Raises
    ------
    StepError
        If a point can't be evaluated; finished ones stay cached.
    """
    place = folder() if place is None else place
    keys = [point.key for point in points]
    wanted = dict(zip(keys, points, strict=True))
    done = {key: numbers for key in wanted if (numbers := _kept(place, key)) is not None}
    missing = [key for key in wanted if key not in done]
    if missing:
        place.mkdir(parents=True, exist_ok=True)
        prune(place.parent, KEPT_VERSIONS)
    progress(_said(done, wanted), len(done) / max(1, len(wanted)))
    for key, numbers in _evaluated(workers, evaluate, missing, wanted):
        done[key] = numbers
        _keep(place, key, wanted[key], numbers)
        progress(_said(done, wanted), len(done) / len(wanted))
    return [done[key] for key in keys]


def _evaluated(
    workers: Workers,
    evaluate: Callable[[Point], Numbers],
    missing: list[str],
    wanted: dict[str, Point],
) -> Iterator[tuple[str, Numbers]]:
    if missing:
        for index, numbers in workers.run(evaluate, [wanted[key] for key in missing]):
            yield missing[index], numbers


def _said(done: dict[str, Numbers], wanted: dict[str, Point]) -> str:
    return f"timing programs ({len(done)}/{len(wanted)})"


def _kept(place: Path, key: str) -> Numbers | None:
    """A cached result; None if there is none that can be read."""
    try:
        numbers = json.loads((place / f"{key}.json").read_text(encoding="utf-8"))["numbers"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return numbers if isinstance(numbers, dict) else None


def _keep(place: Path, key: str, point: Point, numbers: Numbers) -> None:
    document = {"point": json.loads(point.text), "numbers": numbers}
    with atomic_file(place / f"{key}.json") as file:
        file.write_text(json.dumps(document), encoding="utf-8")
