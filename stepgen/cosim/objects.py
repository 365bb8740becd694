"""Compiles C++: several files at once; files that do not depend on the design are cached."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepgen.ir.errors import StepError
from stepgen.tools import children
from stepgen.tools.cache import cache_folder, digest, kept_file
from stepgen.tools.external import compiler, verilator
from stepgen.tools.waiting import Progress, quiet


def execute(command: Sequence[str | Path], *, cwd: Path, what: str) -> str:
    """Run a tool and return its output.

    Raises
    ------
    StepError
        Where it fails, with the first line of its output that contains "error".
    """
    environment = {**os.environ, "VERILATOR_ROOT": str(verilator().root)}
    done = children.run(command, cwd=cwd, env=environment)
    said = done.stdout + done.stderr
    if done.returncode:
        lines = said.splitlines()
        first = next(
            (x for x in lines if "error" in x.lower()), lines[0] if lines else "no message"
        )
        raise StepError(f"{what} failed with exit code {done.returncode}: {first.strip()}")
    return said


@dataclass(frozen=True)
class Source:
    """One C++ file.

    Parameters
    ----------
    path : Path
    flags : tuple of str
        Flags of this file beside those of all files.
    fixed_by : str or None
        For a file that does not depend on the design: what else its object depends on (versions).
        Its object is kept in the cache folder. None for a file of the design.
    """

    path: Path
    flags: tuple[str, ...]
    fixed_by: str | None = None


def compile_all(
    sources: Sequence[Source],
    folder: Path,
    *,
    flags: Sequence[str],
    progress: Progress = quiet,
    span: tuple[float, float] = (0.0, 1.0),
) -> list[Path]:
    """Compile files, as many at once as there are processors.

    Parameters
    ----------
    sources : sequence of Source
    folder : Path
        Where the objects of the design go, and the working directory of the compiler.
    flags : sequence of str
        For all files.
    progress : Progress
    span : tuple of float
        Share of the total work that is completed before and after.

    Returns
    -------
    list of Path
        The objects, in the order of `sources`.
    """
    done = 0

    def one(source: Source) -> Path:
        name = f"{source.path.stem}.o"
        arguments = [*flags, *source.flags]
        if source.fixed_by is None:
            target = folder / name
            _compile(source.path, arguments, target, folder)
            return target
        key = digest(str(compiler().version), source.fixed_by, *arguments, source.path.read_bytes())
        return _kept(f"{source.path.stem}-{key}.o", source.path, arguments, folder)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # The largest files first, so that no processor waits long for the last one.
        order = sorted(sources, key=lambda s: (s.fixed_by is None, -s.path.stat().st_size))
        waiting = {pool.submit(one, s): s for s in order}
        objects: dict[Source, Path] = {}
        try:
            for future in concurrent.futures.as_completed(waiting):
                objects[waiting[future]] = future.result()
                done += 1
                share = span[0] + (span[1] - span[0]) * done / len(sources)
                progress(f"compiling C++ ({done}/{len(sources)})", share)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            while any(future.running() for future in waiting):
                children.end_all()  # which those threads wait for
                time.sleep(0.01)
            raise
    return [objects[s] for s in sources]


def precompiled(header: Path, *, flags: Sequence[str], fixed_by: str) -> Path:
    """A header to include first, whose compiled form is kept in the cache folder.

    Parameters
    ----------
    header : Path
    flags : sequence of str
        Those of the files that include it: with others the compiler ignores the compiled form.
    fixed_by : str
        What else it depends on (versions).

    Returns
    -------
    Path
        To include; it includes `header`, and its compiled form lies beside it.
    """
    key = digest(str(compiler().version), fixed_by, *flags, str(header))
    name = f"{header.stem}-{key}.h"

    def write(file: Path) -> None:
        file.write_text(f'#include "{header}"\n', encoding="utf-8")

    place = kept_file(cache_folder() / "objects" / name, write)
    _kept(f"{name}.gch", place, [*flags, "-x", "c++-header"], place.parent)
    return place


def _kept(name: str, source: Path, arguments: Sequence[str], folder: Path) -> Path:
    """Compile to a file of the cache folder, if it is not there yet."""
    return kept_file(
        cache_folder() / "objects" / name, lambda file: _compile(source, arguments, file, folder)
    )


def _compile(source: Path, arguments: Sequence[str], target: Path, folder: Path) -> None:
    execute(
        [str(compiler().path), *arguments, "-c", source, "-o", target],
        cwd=folder,
        what=f"compiling {source.name}",
    )


def link(objects: Sequence[Path], target: Path, *, flags: Sequence[str] = ()) -> None:
    """Link a program."""
    execute(
        [str(compiler().path), *objects, "-o", target, "-pthread", *flags],
        cwd=target.parent,
        what=f"linking {target.name}",
    )
