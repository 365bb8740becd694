"""Writes design folders; what is there already and still fits is not made again."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepgen.emit.elaborate import made_by, verilog
from stepgen.emit.families import for_families
from stepgen.emit.host import host_library
from stepgen.emit.kernels import kernel_files
from stepgen.emit.lint import control_file
from stepgen.emit.packages import check_packages, packaged
from stepgen.emit.registers import c_header
from stepgen.emit.wrap import system_map, wrapper
from stepgen.hw.design.table import Design
from stepgen.hw.names import verilog_name
from stepgen.hw.verilog_kernel.params import sources_of
from stepgen.ir import text
from stepgen.ir.errors import StepError
from stepgen.ir.records import written
from stepgen.ir.versions import stamped
from stepgen.program import inputs
from stepgen.program.design_folder import (
    FORMAT,
    GRAPH,
    INPUTS,
    MANIFEST,
    Manifest,
    check_target,
    content_hash,
    is_folder,
    listed_hashes,
    own_names,
    read,
    read_manifest,
)
from stepgen.program.program import Program
from stepgen.tools.atomic import atomic_folder


@dataclass(frozen=True)
class Written:
    """What `write` did.

    Attributes
    ----------
    files : dict of str to str
        Names of the files by what they are.
    hash : str
        Of the design.
    built : bool
        Whether the Verilog was made, not found.
    removed : tuple of str
        Names of files that an earlier call wrote, and this one was not asked for.
    edited : tuple of str
        Those of them that were changed since, and so are left.
    """

    files: dict[str, str]
    hash: str
    built: bool
    removed: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def write(
    folder: Path,
    program: Program,
    design: Design,
    *,
    circuit: bool = True,
    wraps: Collection[str] = (),
    host: bool = False,
    packages: Collection[str] = (),
    families: Collection[str] = (),
    bench: Collection[str] = (),
    earlier: Iterable[Path] = (),
    change: bool = True,
) -> Written:
    """Write the design folder of a program.

    Parameters
    ----------
    folder : Path
        Made where it is missing; files in it that are right already stay untouched.
    program : Program
        Its graph and the inputs that came with it are written.
    design : Design
        What the program became.
    circuit : bool
        Whether to make the Verilog where it is not there yet.
    wraps : collection of str
        Of `stepgen.emit.wraps.WRAPS`: modules around the design are written too.
    host : bool
        Whether a host library in C is written too.
    packages : collection of str
        Of `stepgen.emit.wraps.PACKAGES`: descriptions of the folder for tools of others.
    families : collection of str
        Of `stepgen.emit.wraps.FAMILIES`: Verilog with their hard blocks is written too.
    bench : collection of str
        Files of a test bench in the folder, for these.
    earlier : iterable of Path
        Other design folders whose Verilog may be taken over, beside the one to write.
    change : bool
        Whether a folder may change in which files are missing or are others.

    Raises
    ------
    StepError
        If the folder can't be written, is one of others with files of these names, or may not
        change; or the design can't be built.
    """
    check_packages(packages, wraps)
    maker, name = made_by(design), design.name
    check_target(folder, {MANIFEST, *own_names(name), *sources_of(design)})
    found = (_verilog_in(place, design, maker) for place in (folder, *earlier))
    known = next((data for data in found if data is not None), None)
    if known is None and not change:
        raise _unchanged(folder, [f"{name}.v"])
    circuit_text = verilog(design) if known is None and circuit else known
    words: dict[str, str] = {}
    files: dict[str, bytes] = {}
    if circuit_text is not None:
        header = f"{name}_registers.h"
        words |= {"verilog": f"{name}.v", "lint waivers": f"{name}.vlt", "registers": header}
        files[header] = c_header(
            verilog_name(name),
            channels=[channel.name for channel in design.channels],
            units=[unit.name for unit in design.units],
        ).encode()
        files[f"{name}.v"] = circuit_text.encode()
        files[f"{name}.vlt"] = control_file(circuit_text, f"{name}.v").encode()
        words["map"] = f"{name}_map.json"
        files[words["map"]] = system_map(design).encode()
        for wrap in wraps:
            words[f"{wrap} wrapper"], around = wrapper(design, wrap)
            files[words[f"{wrap} wrapper"]] = around.encode()
        for what, key, content in for_families(design, families):
            words[what] = key
            files[key] = content.encode()
        for key, library in host_library(design).items() if host else ():
            words["host library" if key.endswith(".c") else "its header"] = key
            files[key] = library.encode()
        kernels = kernel_files(design, circuit_text)
        for kernel, verilog_text in kernels.items():
            words[f"Verilog kernel {kernel}"] = kernel
            files[kernel] = verilog_text.encode()
        for what, key, described in packaged(design, packages, list(files), kernels, bench):
            words[what] = key
            files[key] = described.encode()
    words |= {"design": MANIFEST, "graph": GRAPH}
    files[GRAPH] = f"{text.dumps(program.graph)}\n".encode()
    if program.given:
        words["inputs"] = INPUTS
        files[INPUTS] = _packed(program)
    hashes = {key: content_hash(files[key]) for key in sorted(files)}
    manifest = Manifest(design.hash, maker, hashes, design)
    files[MANIFEST] = _text(manifest).encode()
    stale = [key for key, content in files.items() if not _has(folder / key, content)]
    kept = set() if _has_program(folder, program, files.get(INPUTS)) else {GRAPH, INPUTS}
    if stale and not change:
        raise _unchanged(folder, stale, kept)
    _check_unlisted(folder, stale)
    before = sorted(listed_hashes(folder).keys() - files.keys())
    gone = _left_over(folder, name, files)
    anew = (files.keys() | gone) - kept
    with atomic_folder(folder, anew=anew, last=MANIFEST, gone=gone) as place:
        for key in stale:
            (place / key).write_bytes(files[key])
    edited = (key for key in before if key not in gone and (folder / key).exists())
    return Written(words, design.hash, circuit and known is None, (*sorted(gone),), (*edited,))


def _has(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _check_unlisted(folder: Path, stale: Iterable[str]) -> None:
    """Check that what is replaced in a design folder was written with it."""
    known = {MANIFEST, *listed_hashes(folder)}
    for key in stale:
        if key not in known and (folder / key).exists():
            raise StepError(
                f"can't write {folder}: its {key} is not in the list of {MANIFEST}, and would be "
                f"replaced: remove it or name another folder"
            )


def _left_over(folder: Path, name: str, files: Container[str]) -> set[str]:
    """Files of the design that a folder had before, which the one that is written lacks.

    Raises
    ------
    StepError
        If one would be taken for a file of the new design, but was not written with the old.
    """
    listed = listed_hashes(folder)
    gone = {
        key
        for key, wanted in listed.items()
        if key not in files
        and (folder / key).is_file()
        and content_hash((folder / key).read_bytes()) == wanted
    }
    for key in sorted(own_names(name) - gone):
        place = folder / key
        if key not in files and (place.exists() or place.is_symlink()):
            why = "not the one that" if key in listed else "none that"
            raise StepError(
                f"can't write {folder}: its {key} is {why} its {MANIFEST} lists, and would be "
                f"taken for a file of the new design: remove it or name another folder"
            )
    return gone


def _has_program(folder: Path, program: Program, packed: bytes | None) -> bool:
    """Whether a folder has a program and its inputs, maybe as another version wrote them."""
    try:
        found = read(folder)
    except (OSError, StepError):
        return False
    there = Program(found.graph, found.inputs, given=frozenset(found.inputs))
    return found.graph == program.graph and packed == (_packed(there) if found.inputs else None)


def _unchanged(folder: Path, stale: Sequence[str], kept: Container[str] = ()) -> StepError:
    where = f"-o {folder} writes it anew there"
    if any(name in kept for name in stale):
        where = "name another folder by -o"
    return StepError(f"{folder} lacks {', '.join(stale)} as stepgen would write it now: {where}")


def outdated(folder: Path, design: Design) -> str | None:
    """Why the circuit of a design folder is not the one that would be made of its design now.

    Parameters
    ----------
    folder : Path
    design : Design
        What was read from it.

    Returns
    -------
    str or None
        None if it is the one, or the folder has none.
    """
    manifest, name = read_manifest(folder), f"{design.name}.v"
    if name not in manifest.files:
        return None
    if manifest.made_by != made_by(design):
        return f"{folder / name} was made by other circuits than those that are here now"
    for kernel, content in sources_of(design).items():
        if manifest.files.get(kernel) != content_hash(content.encode()):
            return (
                f"{folder / kernel} is another Verilog kernel than the file that its unit names now"
            )
    return None


def _verilog_in(folder: Path, design: Design, maker: str) -> str | None:
    """The Verilog of a design from a folder, if it is there as this stepgen would make it."""
    name = f"{design.name}.v"
    try:
        if not is_folder(folder):
            return None
        manifest = read_manifest(folder)
        if (manifest.hash, manifest.made_by) == (design.hash, maker) and name in manifest.files:
            return (folder / name).read_bytes().decode()
    except (OSError, StepError, UnicodeError):
        pass  # what does not fit together is made anew
    return None


def _packed(program: Program) -> bytes:
    given = {name: program.inputs[name] for name in program.given}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / INPUTS
        inputs.save_given(path, program.graph, given)
        return path.read_bytes()


def _text(manifest: Manifest) -> str:
    fields = {f.name: getattr(manifest, f.name) for f in dataclasses.fields(manifest)}
    fields["design"] = manifest.design.to_record()
    return written(stamped(FORMAT, fields), indent=1) + "\n"
