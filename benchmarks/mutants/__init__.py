"""(g) Mutants: the share of drawn mistakes in circuits and models that suite or fuzzer find."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from pathlib import Path
from statistics import median

from benchmarks.mutants.equivalent import EQUIVALENT
from benchmarks.mutants.rules import ROOT, UNITS, Mutant, drawn
from benchmarks.mutants.session import FUZZER, NO_CIRCUIT, SAME, SUITE, Tried, digest, session
from benchmarks.table import Table

SEED, COUNT = 1, 370
FOLDER = ROOT / "build/mutants"


def tried(
    seed: int, count: int, jobs: int = 1, *, file: str = "", by: str | None = None
) -> list[Tried]:
    """Try the mutants that were not tried before; what is found is kept from mutant to mutant.

    Parameters
    ----------
    seed, count : int
        Which mutants are drawn.
    jobs : int
        How many are tried at once.
    file : str
        Part of the path of the files that are broken.
    by : str, optional
        Who alone looks; by default suite and fuzzer, until one has found it.
    """
    mutants = [m for m in drawn(seed, count) if file in m.path]
    return attempted(mutants, FOLDER / f"{by or 'both'}.jsonl", jobs, by=by)


def attempted(
    mutants: list[Mutant],
    path: Path,
    jobs: int = 1,
    *,
    by: str | None = None,
    programs: int | None = None,
) -> list[Tried]:
    """What becomes of mutants.

    Parameters
    ----------
    mutants : list of Mutant
    path : Path
        Where results are kept, a line each; those that it has are not tried again.
    jobs, by
        As for `tried`.
    programs : int, optional
        How many programs of the fuzzer are drawn.
    """
    before = read(path)
    left = [m for m in mutants if not _is_known(m, before)]
    for models in (True, False):
        some = [m for m in left if m.is_model == models]
        order = (by,) if by else (FUZZER, SUITE) if models else (SUITE, FUZZER)
        if some:
            # Spawned: what one process has changed in numba, another one does not have.
            process = multiprocessing.get_context("spawn").Process(
                target=session, args=(some, jobs, path, order, programs)
            )
            process.start()
            process.join()
    found = read(path)
    return [found[m.id] for m in mutants if _is_known(m, found)]


def known(seed: int, count: int) -> list[Tried]:
    """What became of the drawn mutants that were tried."""
    found = read(FOLDER / "both.jsonl")
    return [found[m.id] for m in drawn(seed, count) if _is_known(m, found)]


def _is_known(mutant: Mutant, found: dict[str, Tried]) -> bool:
    return mutant.id in found and found[mutant.id].digest == digest(mutant.path)


def read(path: Path) -> dict[str, Tried]:
    """What was found so far."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["id"]: Tried(**line) for line in lines}


def measure() -> list[Table]:
    """The mutants of `SEED`; those that were tried before are not tried again."""
    return tables(tried(SEED, COUNT))


def tables(found: list[Tried]) -> list[Table]:
    """How many of what was broken were found, and by whom; and those that were not."""
    rows = [_row(area, [one for one in found if _area(one) == area]) for area in AREAS]
    hung = sum(one.hangs for one in found)
    counts = Table(
        "g1. Mutants",
        f"Drawn mistakes, of seed {SEED}, each in a process of its own: levels and stops swapped, "
        "counts and comparisons off by one, conditions negated, ready and valid early or late, "
        "statements dropped, payloads read while valid is low, registers without reset. The tests "
        "of the unit and the programs of the fuzzer that use it look (a circuit: tests first; a "
        "model: programs first), until one has found it. Not counted are mutants without a circuit "
        "(elaboration refuses them), those whose circuit is the same as before, byte for byte, and "
        "those that are equivalent for the reason given below. Programs: median of those that the "
        "fuzzer took to find one, the smallest first. Each mutant gets some 40 to 60 seconds "
        f"of processor time for tests, and for programs. {hung} were found because a simulation "
        "did not end in time.",
        (
            *("broken", "drawn", NO_CIRCUIT, SAME, "equivalent", "counted", "by the suite"),
            *("by the fuzzer", "programs", "survive", "found"),
        ),
        [*rows, _row("all", found)],
    )
    rest = [one for one in found if not one.by or one.by in (NO_CIRCUIT, SAME)]
    reasons = sorted((_reason(one), one.key) for one in rest)
    listed = Table(
        "g2. Mutants that nothing finds",
        "Each with the reason why there is nothing to find, or as one that survives.",
        ("reason", "mutant"),
        [(reason, f"`{key.replace('|', '¦')}`") for reason, key in reasons],
    )
    return [counts, listed]


AREAS = ("circuits of units", "circuits in common", "models of units", "timing in common")


def _area(one: Tried) -> str:
    of_unit = one.id.startswith(UNITS)
    if one.id.startswith("stepgen/timing") or "/model.py" in one.id:
        return AREAS[2] if of_unit else AREAS[3]
    return AREAS[0] if of_unit else AREAS[1]


def _row(area: str, found: list[Tried]) -> tuple[object, ...]:
    by = Counter(one.by for one in found)
    equivalent = sum(not one.by and one.key in EQUIVALENT for one in found)
    caught = by[SUITE] + by[FUZZER]
    counted = caught + by[""] - equivalent
    programs = [one.programs for one in found if one.by == FUZZER]
    return (
        *(area, len(found), by[NO_CIRCUIT], by[SAME], equivalent, counted, by[SUITE], by[FUZZER]),
        *(f"{median(programs):.0f}" if programs else "", counted - caught),
        f"{100 * caught / counted:.1f} %" if counted else "",
    )


def _reason(one: Tried) -> str:
    if one.by == SAME:
        return f"same circuit ({one.same} programs)"
    if one.by == NO_CIRCUIT:
        return "no circuit"
    return EQUIVALENT.get(one.key, "survives")
