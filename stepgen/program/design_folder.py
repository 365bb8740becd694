"""Design folders: a program, the design that it became, and all that was made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepgen.hw.design.table import Design, record_hash
from stepgen.ir import text
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.records import parsed, record
from stepgen.ir.versions import unstamped
from stepgen.program import inputs
from stepgen.tools.atomic import check_place
from stepgen.tools.cache import MADE

MANIFEST, GRAPH, INPUTS = "design.json", "graph.json", "inputs.npz"
BENCH = "bench"
"""Folder of a test bench in it."""
COMPONENT = "component.xml"
"""What Vivado looks for in a folder with an IP."""

FORMAT = 1
"""Of the manifest."""

_FAMILIES = ("ecp5", "gowin", "ice40", "xilinx")
"""Those of `stepgen.emit.wraps`, for which a folder may have Verilog."""


@dataclass(frozen=True)
class Manifest:
    """What ``design.json`` says beside its stamp.

    Attributes
    ----------
    hash : str
        Of the table in `design`, as `stepgen.hw.design.table.record_hash` makes it.
    made_by : str
        SHA-256 of all that the Verilog depends on beside the table.
    files : mapping of str to str
        The other files of the folder by name, with the SHA-256 of each.
    design : Design
        The design table, with the memory map.
    """

    hash: str
    made_by: str
    files: Mapping[str, str]
    design: Design


@dataclass(frozen=True)
class DesignFolder:
    """A design folder, read and checked.

    Attributes
    ----------
    manifest : Manifest
    graph : Graph
        The program.
    inputs : dict of str to object
        Those that came with the program.
    """

    manifest: Manifest
    graph: Graph
    inputs: dict[str, Any] = field(default_factory=dict)


def is_folder(path: Path) -> bool:
    """Whether a folder is a design folder."""
    return (path / MANIFEST).is_file()


def check_target(path: Path, names: Container[str] | None = None) -> None:
    """Check that a design folder may be written to a place: no files of others are replaced.

    Parameters
    ----------
    path : Path
    names : container of str, optional
        What will be written; by default it may be anything.

    Raises
    ------
    StepError
        If another folder is there, which has something of these names.
    """
    with suppress(OSError):  # the writer reports what is wrong
        found = sorted(p.name for p in path.iterdir() if names is None or p.name in names)
        if not found or _is_written(path):
            return
        for name in found if names is not None else ():
            check_place(path / name)
        raise StepError(
            f"can't write {path}: it is not a design folder, and its {found[0]} might be replaced: "
            f"name a new folder"
        )


def _is_written(path: Path) -> bool:
    """Whether a manifest is there, even one that does not fit its files."""
    if not is_folder(path):
        return False
    with suppress(OSError, ValueError, StepError):
        data = parsed((path / MANIFEST).read_text(encoding="utf-8"), str(path))
        return isinstance(data, dict) and {"hash", "design"} <= data.keys()
    return False


def content_hash(data: bytes) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """Read what a design folder holds, and check that it is as it was written.

    Raises
    ------
    StepError
        If the manifest is damaged or of another format, or a file is missing, was changed, is not
        in its list or is of another design.
    """
    place = path / MANIFEST
    what = f"{place} is not a manifest of a design"
    data = parsed(_content(place, f"{place} can't be read").decode(errors="replace"), what)
    if not isinstance(data, dict) or "design" not in data:
        raise StepError(f"{what}: it lacks 'design'")
    if "hash" in data and record_hash(data["design"]) != data["hash"]:
        raise StepError(f"{place} was changed since stepgen wrote it: write the folder anew")
    with unstamped(data, FORMAT, str(place), stamp=True) as fields:
        manifest = record(fields, Manifest, str(place))
    for name, wanted in manifest.files.items():
        if Path(name).name != name:
            raise StepError(f"{place} names a file {shown(name)}, which is not beside it")
        there = _content(path / name, f"{place} names {shown(name)}, which can't be read")
        if content_hash(there) != wanted:
            raise StepError(
                f"{path / name} was changed since stepgen wrote it with {place}, or writing was "
                f"cut off: write the folder anew"
            )
    name = manifest.design.name
    for other in sorted(own_names(name) - manifest.files.keys()):
        if (path / other).exists():
            raise StepError(
                f"{path / other} is not in the list of files of {place}: remove it, or write the "
                f"folder anew"
            )
    circuit = f"{name}.v"
    if circuit in manifest.files:
        with (path / circuit).open(encoding="utf-8", errors="replace") as lines:
            title = lines.readline()
        if not title.endswith(f"{hash_words(manifest.hash)}\n"):
            raise StepError(
                f"{path / circuit} is the Verilog of another design than that in {place}, by the "
                f"hash in its first line: write the folder anew"
            )
    return manifest


def _content(path: Path, refused: str) -> bytes:
    """What is in a regular file; of a device or a pipe the end may never come."""
    try:
        if path.exists() and not path.is_file():
            raise StepError(f"{refused}: it is not a regular file")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StepError(f"{refused}: {why}") from None


def own_names(design: str) -> set[str]:
    """Names of the files that a folder of a design may have, but for Verilog kernels."""
    endings = (
        ".v",
        ".vlt",
        "_registers.h",
        "_map.json",
        "_axi.v",
        "_wishbone.v",
        "_host.h",
        "_host.c",
        ".core",
        "_vivado.tcl",
        *(f"_{family}{ending}" for family in _FAMILIES for ending in (".v", "_models.v")),
    )
    return {GRAPH, INPUTS, COMPONENT, *(f"{design}{ending}" for ending in endings)}


def hash_words(design_hash: str) -> str:
    """The end of the first line of the Verilog of a design."""
    return f"hash of the design {design_hash}"


def read(path: Path) -> DesignFolder:
    """Read a design folder.

    Raises
    ------
    StepError
        If there is none, or one of its files is missing, was changed or is of a newer format.
    """
    if not (path / MANIFEST).exists():
        raise StepError(
            f"the folder {path} holds no design: it lacks {MANIFEST}, which stepgen verilog writes"
        )
    manifest = read_manifest(path)
    if GRAPH not in manifest.files:
        raise StepError(f"{path / MANIFEST} lacks the hash of {GRAPH}")
    graph = text.load(path / GRAPH)
    given = inputs.load(path / INPUTS, graph) if INPUTS in manifest.files else {}
    return DesignFolder(manifest, graph, given)


def listed_hashes(path: Path) -> dict[str, str]:
    """The files that a manifest lists, with their hashes, even if they are others now."""
    with suppress(StepError):
        place = path / MANIFEST
        data = parsed(_content(place, str(place)).decode(errors="replace"), str(place))
        files = data.get("files") if isinstance(data, dict) else None
        if isinstance(files, dict):
            return {name: wanted for name, wanted in files.items() if Path(name).name == name}
    return {}


def listed(path: Path) -> list[Path]:
    """The files of a design folder, as far as its manifest can be read, and of boards in it."""
    try:
        names = read_manifest(path).files
    except StepError:
        names = dict.fromkeys((GRAPH, INPUTS), "")
    boards = [file for made in path.glob(f"*/{MADE}") for file in made.parent.iterdir()]
    return [*(path / name for name in (MANIFEST, *names)), *boards]
