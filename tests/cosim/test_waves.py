"""Waveforms that people read: beats as numbers at their cycles, of chosen cycles and units."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from pylibfst import ffi, fstReaderIterBlocks, get_scopes_signals2, lib, string

import stepgen as sg
from stepgen.cosim import fst, waves
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.fst import TICKS
from stepgen.ir.stalls import Stalls
from stepgen.semantics.tokens import values


class Wave(NamedTuple):
    """What is in a file: changes by name, and the power of ten of its unit of time."""

    changes: dict[str, list[tuple[int, str]]]
    timescale: int

    def at(self, name: str, ticks: int) -> str:
        """The value at a time."""
        return [value for when, value in self.changes[name] if when <= ticks][-1]


def read(path: Path) -> Wave:
    """A file by GTKWave's own reader."""
    context = lib.fstReaderOpen(str(path).encode())
    assert context != ffi.NULL, path
    _, signals = get_scopes_signals2(context)
    of: dict[int, list[tuple[int, str]]] = {}
    lib.fstReaderSetFacProcessMaskAll(context)
    fstReaderIterBlocks(
        context,
        lambda _, time, handle, value: of.setdefault(handle, []).append((time, string(value))),
    )
    scale = lib.fstReaderGetTimescale(context)
    lib.fstReaderClose(context)
    return Wave({n: of.get(s.handle, []) for n, s in signals.by_name.items()}, scale)


def experiment(seed: int = 1) -> Experiment:
    """Rows of f32 in, those that a gate lets pass out."""
    g = sg.Graph("gate")
    x = g.input("x", sg.Tile(1, 3, sg.f32), (4,))
    rows = g.input("rows", sg.Selector(1), (4,))
    (passed,) = sg.partition(x, rows, rank=0)
    g.output(passed, "y")
    given = {
        "x": [[[1.5, -2.0, 0.25]], [[9.0, 9.0, 9.0]], [[4.0, 5.0, 6.0]], [[0.0, 0.5, -(2.0**40)]]],
        "rows": [[1], [0], [1], [1]],
    }
    return Experiment(g, given, lanes=2, stalls=Stalls(seed, {"y": 0.5}))


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, Path]:
    """One build, all of a run."""
    one, folder = experiment(), tmp_path_factory.mktemp("waves")
    verdict = one.test(folder / "t", driver="cpp", opt=LEAST_BUILD, waveform=folder / "gate.fst")
    assert verdict.good, verdict.outcome.faults
    assert [path.name for path in folder.glob("gate*")] == ["gate.fst"]
    return one, folder


def beats(wave: Wave, channel: str, cycles: int) -> dict[int, tuple[str, ...]]:
    """The beats that leave a channel, by cycle: kind and lanes."""
    place = f"gate.channels.{channel}"
    lanes = sorted(name for name in wave.changes if name.startswith(f"{place}.lane_"))
    found = {}
    for cycle in range(cycles):
        # What holds until the next rising edge.
        now = TICKS * cycle + TICKS - 1
        if wave.at(f"{place}.r__valid", now) == wave.at(f"{place}.r__ready", now) == "1":
            found[cycle] = tuple(wave.at(name, now) for name in (f"{place}.kind", *lanes))
    return found


def test_beats_are_numbers_at_the_cycles_of_the_prediction(tested) -> None:
    one, folder = tested
    wave, prediction = read(folder / "gate.fst"), one.prediction
    assert wave.timescale == -10
    for channel in one.design.channels:
        found = beats(wave, channel.name, prediction.cycles)
        assert [*found] == [int(cycle) for cycle in prediction.pops[channel.name]]
    (unit,) = (unit for unit in one.design.units if unit.name == "partition_0")
    (name,) = unit.outputs.values()
    found = [*beats(wave, name, prediction.cycles).values()]
    lanes = [float(lane) for kind, *row in found if int(kind, 2) == 0 for lane in row]
    tiles = [tile.ravel() for tile in values(one.reference.streams["y"])]
    assert len(tiles) == 3
    del lanes[3::4]  # padding behind a row
    assert lanes == [float(n) for row in tiles for n in row]
    assert int(found[-1][0], 2) == 2
    assert int(wave.at("gate.cycle", TICKS * 5), 2) == 5
    # Units have their own names, not those that Verilog gives them, and no stages of delays.
    units = {name.split(".")[2] for name in wave.changes if name.startswith("gate.units.")}
    assert {unit.name for unit in one.design.units} <= units
    assert not [name for name in wave.changes if "delayed" in name]
    assert not [unit for unit in units if "$" in unit]


def test_a_window_has_its_cycles_and_units_alone(tested) -> None:
    one, folder = tested
    one.test(
        folder / "short",
        driver="cpp",
        opt=LEAST_BUILD,
        waveform=folder / "short.fst",
        waveform_cycles="4:9",
        waveform_units=["partition_0"],
    )
    whole, short = read(folder / "gate.fst"), read(folder / "short.fst")
    times = {time for changes in short.changes.values() for time, _ in changes}
    assert min(times) == 4 * TICKS
    assert max(times) < 9 * TICKS
    units = {name.split(".")[2] for name in short.changes if ".units." in name}
    assert units == {"partition_0"}
    assert {*short.changes} < {*whole.changes}
    for name, changes in short.changes.items():
        for time, value in changes:
            if "clk" not in name and "lane" not in name and "kind" not in name:
                assert value == whole.at(name, time), (name, time)


@pytest.mark.parametrize("seed", [2, 3])
def test_what_registers_hold_before_the_reset_is_no_run(tested, seed) -> None:
    """They are drawn from the seed, `running` high in every other one."""
    _, folder = tested
    one = experiment(seed)
    for first, cycles in ((0, None), (4, "4:9")):
        path = folder / f"{seed}.fst"
        one.test(
            folder / str(seed), driver="cpp", opt=LEAST_BUILD, waveform=path, waveform_cycles=cycles
        )
        wave = read(path)
        assert [int(v, 2) for _, v in wave.changes["gate.cycle"][:3]] == [*range(first, first + 3)]
        assert wave.changes["gate.cycle"][0][0] == TICKS * first


def test_cycles_behind_every_end_are_refused(tested) -> None:
    one, folder = tested
    with pytest.raises(sg.StepError, match=r"from cycle 900 on has nothing: gate ends by cycle"):
        one.test(
            folder / "far",
            driver="cpp",
            opt=LEAST_BUILD,
            waveform=folder / "far.fst",
            waveform_cycles="900:901",
        )


def test_it_is_small(tested) -> None:
    one, folder = tested
    one.test(folder / "raw", driver="cpp", opt=LEAST_BUILD, waveform=folder / "all.vcd")
    assert (folder / "gate.fst").stat().st_size * 5 < (folder / "all.vcd").stat().st_size


@pytest.mark.parametrize("cycles", ["", "0", "5:5", "7:2", "-1", "a", "1:2:3", "٣", "9" * 30, 0])
def test_cycles_that_are_none_are_refused(cycles) -> None:
    with pytest.raises(sg.StepError, match=r"are N, for the first N, or A:B, with A below B, not"):
        waves.span(cycles)
    assert waves.span("3:7") == (3, 7)
    assert waves.span(7) == (0, 7)


def test_units_that_are_not_there_are_refused() -> None:
    with pytest.raises(sg.StepError, match="no unit 'partition' in gate for the waveform, such as"):
        waves.window(None, ["partition"], experiment().design)


def test_without_pylibfst_it_is_a_vcd(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waves.suffix() == ".fst"
    monkeypatch.setattr(waves, "available", lambda: False)
    assert waves.suffix() == ".vcd"
    with pytest.raises(sg.StepError, match="needs pylibfst: pip install pylibfst"):
        waves.suffix(["x"])
    assert fst.available()
