"""Design folders: read back as written, reused if they fit, refused if a file has changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import TEXTS, mutated

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.emit import design_writer
from stepgen.emit.design_writer import Written, write
from stepgen.emit.wraps import FAMILIES
from stepgen.hw.design.table import Design, record_hash
from stepgen.ir.errors import StepError
from stepgen.ir.versions import version
from stepgen.program import program
from stepgen.program.design_folder import (
    COMPONENT,
    INPUTS,
    MANIFEST,
    hash_words,
    listed,
    own_names,
    read,
    read_manifest,
)
from stepgen.program.program import Program

ROOT = Path(sg.__file__).parents[1]
OLD = Path(__file__).parent / "format_1"
"""Written by stepgen 0.1.0."""


def asked_for(design: str) -> set[str]:
    """Files of a folder that options ask for."""
    endings = ("_axi.v", "_wishbone.v", "_host.h", "_host.c", ".core", "_vivado.tcl")
    of_families = (f"_{one}{ending}" for one in FAMILIES for ending in (".v", "_models.v"))
    return {COMPONENT, *(f"{design}{ending}" for ending in (*endings, *of_families))}


def gated(shift: int = 0) -> Program:
    g = sg.Graph("gated")
    x = g.input("x", sg.int8[1, 4], (3,))
    gate = g.input("gate", sg.Selector(1), (3,))
    w = g.tensor("w", (4, 4), sg.int8)
    (passed,) = sg.partition(x, gate, rank=0)
    loaded = sg.linear_offchip_load(w, tile=(4, 4), shape=(1,), stride=(1,), ref=passed)
    product = passed.map(sg.fn.matmul(), loaded.flatten(0, 1))
    g.output(product.map(sg.fn.requantize(shift=shift)), "y")
    given = {"gate": [[1], [0], [1]], "w": np.eye(4, dtype=np.int8) * 3}
    return Program(g, given, "gated", frozenset(given))


PROGRAM = gated()
DESIGN = lower(PROGRAM.graph, lanes=2, depths={"x": 7})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("designs") / "gated"
    assert write(folder, PROGRAM, DESIGN).built
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A design folder of the test's own."""
    return Path(shutil.copytree(written, tmp_path / "gated"))


@pytest.fixture
def build_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> str:
        raise AssertionError("Verilog is made")

    monkeypatch.setattr(design_writer, "verilog", build)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(folder.iterdir())}


def test_it_holds_the_program_and_its_design(folder: Path) -> None:
    found = read(folder)
    assert found.graph == PROGRAM.graph
    assert found.manifest.design == DESIGN
    assert found.inputs.keys() == PROGRAM.inputs.keys()
    loaded = program.load(str(folder))
    experiment = Experiment(loaded.graph, loaded.inputs, built=loaded.design)
    assert (experiment.design, experiment.lanes) == (DESIGN, 2)
    wanted = Experiment(
        PROGRAM.graph,
        {**loaded.inputs, **PROGRAM.inputs},
        lanes=2,
        depths={"x": 7},
    )
    assert experiment.prediction.cycles == wanted.prediction.cycles
    tokens = experiment.reference.streams["y"]
    assert str(tokens) == str(wanted.reference.streams["y"])


def test_the_table_of_files_has_what_is_written(folder: Path) -> None:
    text = (ROOT / "docs" / "file-formats.md").read_text()
    (table,) = re.findall(r"^\| file \| what \|\n((?:\|.*\n)+)", text, re.MULTILINE)
    documented = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    names = sorted(p.name for p in folder.iterdir())
    assert sorted(name.replace("<design>", DESIGN.name) for name in documented) == names


def test_what_fits_is_left_as_it_is(folder: Path, build_nothing: None) -> None:
    before = snapshot(folder)
    assert not write(folder, PROGRAM, DESIGN).built
    assert snapshot(folder) == before
    (folder / "notes.txt").write_text("mine")
    (folder / INPUTS).unlink()  # a folder that is broken has no Verilog to take over
    with pytest.raises(AssertionError):
        write(folder, PROGRAM, DESIGN)


def test_the_verilog_is_taken_over(written: Path, tmp_path: Path, build_nothing: None) -> None:
    new = tmp_path / "new"
    without = write(new, PROGRAM, DESIGN, circuit=False)
    assert "verilog" not in without.files
    assert read(new).manifest.design == DESIGN
    assert write(new, PROGRAM, DESIGN, earlier=[written]) == Written(
        {
            "verilog": "gated.v",
            "lint waivers": "gated.vlt",
            "registers": "gated_registers.h",
            "map": "gated_map.json",
            "design": "design.json",
            "graph": "graph.json",
            "inputs": "inputs.npz",
        },
        DESIGN.hash,
        built=False,
    )
    assert (new / "gated.v").read_bytes() == (written / "gated.v").read_bytes()
    alone = Program(PROGRAM.graph, {}, "gated")
    assert "inputs" not in write(new, alone, DESIGN).files
    assert read(new).inputs == {}


def new_verilog(design: Design) -> str:
    return f"// new, {hash_words(design.hash)}\n"


@pytest.mark.parametrize("what", ["design", "generator", "text"])
def test_what_does_not_fit_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(design_writer, "verilog", new_verilog)
    design = DESIGN
    if what == "design":
        design = DESIGN.with_depths({"x": 8})
    elif what == "generator":
        monkeypatch.setattr(design_writer, "made_by", lambda design: "another")
    else:
        (folder / "gated.v").write_text("// mine\n")
    assert write(folder, PROGRAM, design).built
    assert (folder / "gated.v").read_text() == new_verilog(design)
    assert read(folder).manifest.hash == design.hash


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes with a name")
@pytest.mark.parametrize("name", [MANIFEST, "gated.v"])
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StepError, match=rf"{name}.* can't be read: it is not a regular file"):
        program.load(str(folder))
    assert listed(folder)


def changed(folder: Path, change: dict[str, Any]) -> None:
    place = folder / MANIFEST
    place.write_text(json.dumps(json.loads(place.read_text()) | change))


def test_a_changed_file_is_refused_by_name(folder: Path) -> None:
    for name in read(folder).manifest.files:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole + b"\n")
        with pytest.raises(StepError, match=rf"gated/{name} was changed since stepgen wrote it"):
            program.load(str(folder))
        (folder / name).unlink()
        with pytest.raises(StepError, match=rf"names '{name}', which can't be read: No such file"):
            program.load(str(folder))
        (folder / name).write_bytes(whole)
    data = json.loads((folder / MANIFEST).read_text())
    data["design"]["channels"][0]["depth"] += 1
    data["design"]["lanes"] *= 10**12
    changed(folder, data)
    with pytest.raises(StepError, match=r"gated/design.json was changed since stepgen wrote it"):
        program.load(str(folder))
    with pytest.raises(StepError, match=r"^the folder \S+ holds no design: it lacks design.json"):
        program.load(str(folder.parent))


def test_verilog_for_families_comes_and_goes(tmp_path: Path) -> None:
    program, place = gated(), tmp_path / "gated"
    files = {f"gated_{one}{ending}" for one in FAMILIES for ending in (".v", "_models.v")}
    assert files <= {*write(place, program, DESIGN, families=FAMILIES).files.values()}
    assert files <= read_manifest(place).files.keys()
    write(place, program, DESIGN)
    assert not files & {path.name for path in place.iterdir()}


def edited(place: Path) -> None:
    place.write_bytes(place.read_bytes() + b"// mine\n")


def a_folder(place: Path) -> None:
    place.unlink()
    place.mkdir()


def a_pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def a_link_to_nothing(place: Path) -> None:
    place.unlink()
    place.symlink_to("nothing")


@pytest.mark.parametrize("change", [edited, a_folder, a_pipe, a_link_to_nothing])
def test_what_became_of_verilog_for_a_family_is_not_left(change, tmp_path: Path) -> None:
    """It would be Verilog of another design beside the new one."""
    assert asked_for("gated") < own_names("gated")
    program, place = gated(), tmp_path / "gated"
    write(place, program, DESIGN, families=["xilinx"])
    change(place / "gated_xilinx.v")
    before = (place / MANIFEST).read_bytes()
    with pytest.raises(StepError, match=r"its gated_xilinx\.v is not the one that its design.json"):
        write(place, program, DESIGN.with_depths({"x": 8}))
    assert (place / MANIFEST).read_bytes() == before


def test_of_a_link_the_link_is_removed(tmp_path: Path) -> None:
    program, place = gated(), tmp_path / "gated"
    write(place, program, DESIGN, families=["ecp5"])
    mine = tmp_path / "mine.v"
    (place / "gated_ecp5.v").rename(mine)
    (place / "gated_ecp5.v").symlink_to(mine)
    write(place, program, DESIGN)
    assert mine.exists()
    assert not (place / "gated_ecp5.v").is_symlink()


def test_what_is_another_circuit_or_not_listed_is_refused(folder: Path) -> None:
    place = folder / MANIFEST
    whole = place.read_text()
    data = json.loads(whole)
    assert data["files"].keys() == own_names("gated") - asked_for("gated")
    for name in data["files"]:
        left = {key: wanted for key, wanted in data["files"].items() if key != name}
        changed(folder, {"files": left})
        with pytest.raises(StepError, match=rf"gated/{name} is not in the list of files of \S+: r"):
            read(folder)
    data["design"]["channels"][0]["depth"] += 1
    changed(folder, {"design": data["design"], "hash": record_hash(data["design"])})
    changed(folder, {"files": data["files"]})
    with pytest.raises(StepError, match=r"gated/gated.v is the Verilog of another design than th"):
        read(folder)
    place.write_text(whole[: len(whole) // 2])
    with pytest.raises(StepError) as error:
        read(folder)
    assert str(error.value).count(str(place)) == 1
    place.write_text(whole)
    assert read(folder).manifest.design == DESIGN


def test_files_of_the_design_before_are_removed(folder: Path) -> None:
    g = sg.Graph("other")
    g.output(g.input("x", sg.int8[1, 4], (3,)).promote(), "y")
    other = Program(g, {}, "other")
    design = lower(g, lanes=2)
    (folder / "notes.txt").write_text("mine")
    (folder / INPUTS).write_bytes(b"mine")
    before = snapshot(folder)
    with pytest.raises(StepError, match=r"can't write \S+: its inputs.npz is not the one that its"):
        write(folder, other, design)
    assert snapshot(folder) == before
    (folder / INPUTS).unlink()
    (folder / "other_axi.v").write_text("mine")
    with pytest.raises(StepError, match=r"can't write \S+: its other_axi.v is none that its desi"):
        write(folder, other, design)
    (folder / "other_axi.v").unlink()
    (folder / "gated.vlt").write_text("mine")
    assert write(folder, other, design).edited == ("gated.vlt",)
    names = own_names("other") - asked_for("other") - {INPUTS} | {MANIFEST}
    assert {p.name for p in folder.iterdir()} == names | {"notes.txt", "gated.vlt"}
    assert read(folder).manifest.design == design
    before = snapshot(folder)
    with pytest.raises(StepError, match=r"can't write \S+: its gated.vlt is not in the list of"):
        write(folder, PROGRAM, DESIGN)
    assert snapshot(folder) == before
    (folder / "gated.vlt").unlink()
    write(folder, PROGRAM, DESIGN)
    write(folder, other, design)  # this time with inputs to be removed
    assert {p.name for p in folder.iterdir()} == names | {"notes.txt"}


def test_a_folder_is_never_right_before_all_its_files_are_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever move of files it is killed before."""
    design = DESIGN.with_depths({"x": 8})
    real, moves = os.replace, []
    for moment in range(2):

        def move(source: Path, place: Path, moment: int = moment) -> None:
            if Path(place).parent == folder:
                if len(moves) == moment:
                    raise RuntimeError
                moves.append(place)
            real(source, place)

        moves.clear()
        monkeypatch.setattr(os, "replace", move)
        with pytest.raises(RuntimeError):
            write(folder, PROGRAM, design)
        monkeypatch.setattr(os, "replace", real)
        if moment:
            with pytest.raises(StepError, match=r"was changed since .*, or writing was cut off: "):
                read(folder)
        else:
            assert read(folder).manifest.design == DESIGN
    write(folder, PROGRAM, design)
    assert read(folder).manifest.design == design


def test_another_format_is_refused_with_both_versions(folder: Path) -> None:
    this = f"but this is stepgen {re.escape(version())}, which reads format 1$"
    changed(folder, {"format": 2, "stepgen": "9.8.7"})
    with pytest.raises(StepError, match=rf"design.json is in format 2 of stepgen 9.8.7, {this}"):
        program.load(str(folder))
    changed(folder, {"format": 0})
    with pytest.raises(StepError, match=rf"design.json is in format 0 of stepgen 9.8.7, {this}"):
        program.load(str(folder))
    place = folder / MANIFEST
    whole = json.loads(place.read_text())
    place.write_text(json.dumps({key: value for key, value in whole.items() if key != "format"}))
    with pytest.raises(StepError, match=rf"design.json has no 'format' of stepgen 9.8.7, {this}"):
        program.load(str(folder))
    changed(folder, {"format": 1, "unknown": 3})
    with pytest.raises(StepError, match=rf"written by stepgen 9.8.7, this is stepgen {version()}"):
        program.load(str(folder))


def test_a_folder_of_the_first_format_is_read() -> None:
    loaded = program.load(str(OLD))
    assert loaded.design is not None
    assert loaded.given == {"gate", "w"}
    assert Experiment(loaded.graph, loaded.inputs, built=loaded.design).prediction.cycles > 0


def test_a_wrong_manifest_is_one_sentence_or_right(folder: Path) -> None:
    place = folder / MANIFEST
    data = json.loads(place.read_text())
    cases = [(text[:20], text) for text in TEXTS]
    cases += [(what, json.dumps(made)) for what, made in mutated(data, seed=2, count=150)]
    top = {key: value for key, value in data.items() if key != "design"}
    cases += [(w, json.dumps(m | {"design": data["design"]})) for w, m in mutated(top, 3, 150)]
    for what, text in cases:
        place.write_text(text)
        said = ""
        try:
            assert read(folder).manifest.design == DESIGN
        except StepError as error:
            said = str(error)
        except Exception as error:
            error.add_note(what)
            raise
        assert "\n" not in said, what
        assert len(said) < 700, what


SMALL = [f"--set={name}" for name in ("tokens=4", "experts=2", "width=8", "hidden=8", "columns=8")]


@pytest.mark.slow
def test_verilog_is_the_same_in_every_process(tmp_path: Path) -> None:
    folders = []
    for seed in ("1", "2718"):
        folders.append(tmp_path / seed)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        line = [sys.executable, "-m", "stepgen", "verilog", "moe", *SMALL, "-o", folders[-1]]
        subprocess.run(line, env=environment, check=True, capture_output=True)
    first, second = ({p.name: p.read_bytes() for p in f.iterdir()} for f in folders)
    assert "moe_dynamic.v" in first
    assert first == second
