"""What is wrong in a board's file is reported in one sentence, when it is read."""

from __future__ import annotations

import random
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepgen.board import description
from stepgen.board.description import boards, named
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.synth import part
from stepgen.tools.shipped import shipped

from ..toml import keys, toml

FILES = {path.stem: path.read_text() for path in sorted(shipped("boards").glob("*.toml"))}
SEVERAL = (
    "alveo-u55c",
    "icebreaker",
    "icepi-zero-sdram",
    "tang-nano-20k-sdram",
    "ulx3s-85f",
    "zcu104",
)
"""Files that together have all keys, for what has many cases."""

OPTIONAL = {"counters", "standards", "tied", "program/usb", "memory/pins/cke", "memory/pins/cs_n"}
WHOLE = ("data_bits", "column_bits", "row_bits", "cas", "mrd")
FREE = ("standards", "tied", "vivado/design")
"""Tables of any keys."""

Read = Callable[[str, dict[str, Any] | str | bytes], description.Board]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a file, in a folder of its own, under the name of a board."""
    shutil.copytree(shipped("boards/parts"), tmp_path / "boards" / "parts")
    for module in (description, part):
        monkeypatch.setattr(module, "shipped", lambda name: tmp_path / name)

    def reads(name: str, content: dict[str, Any] | str | bytes) -> description.Board:
        text = toml(content) if isinstance(content, dict) else content
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "boards" / f"{name}.toml").write_bytes(data)
        return named(name)

    return reads


def changed(name: str, path: str, value: Any = None) -> dict[str, Any]:
    """The content of a shipped file with another value; without the key, where there is none."""
    data = tomllib.loads(FILES[name])
    at, (*tables, key) = data, path.split("/")
    for table in tables:
        at = at.setdefault(table, {})
    if value is None:
        del at[key]
    else:
        at[key] = value
    return data


def refused(read: Read, name: str, content: dict[str, Any] | str | bytes, *expected: str) -> None:
    with pytest.raises(StepError) as caught:
        read(name, content)
    text = str(caught.value)
    assert text.startswith(f"boards/{name}.toml"), text
    assert len(text.splitlines()) == 1
    for words in expected:
        assert words in text, (words, text)


def others(path: str, value: Any) -> list[Any]:
    """Values of other types."""
    if path.startswith("memory/chip/") and path.rpartition("/")[2] not in WHOLE:
        value = float(value)
    if isinstance(value, bool):
        return ["true", 1, [True], {}]
    if isinstance(value, int):
        return [str(value), value + 0.5, True, [value], {}, 1 << 70]
    if isinstance(value, float):
        return [str(value), True, [value], {}]
    if isinstance(value, str):
        return [5, 0.5, False, [5], {}]
    if isinstance(value, list):
        return [5, [*value[:-1], {}], {}, [True]]
    return [5, "text", [value]]


def test_what_is_written_here_is_what_is_shipped(read: Read) -> None:
    """So that what is refused below is refused for what was changed."""
    for name, board in boards().items():
        assert read(name, tomllib.loads(FILES[name])) == board


@pytest.mark.parametrize("name", FILES)
def test_keys_that_are_missing_or_unknown(read: Read, name: str) -> None:
    data = tomllib.loads(FILES[name])
    for path, value in keys(data):
        table, _, key = path.rpartition("/")
        if path in OPTIONAL or table in FREE:
            assert read(name, changed(name, path)).name == data["name"]
        else:
            refused(read, name, changed(name, path), *table.split("/"), f"lacks {key}")
        if isinstance(value, dict) and path not in FREE:
            refused(read, name, changed(name, f"{path}/colour", 3), *path.split("/"), "'colour'")
    refused(read, name, changed(name, "colour", 3), "no field 'colour', it has name, part")
    refused(read, name, changed(name, "key", "other"), "no field 'key'")


@pytest.mark.parametrize("name", SEVERAL)
def test_values_of_another_type(read: Read, name: str) -> None:
    """A list of sites, too, is checked to its last one."""
    for path, value in keys(tomllib.loads(FILES[name])):
        table, _, key = path.rpartition("/")
        for other in others(path, value):
            expected = [
                *table.split("/"),
                key,
                *([shown(other)] if isinstance(other, int | str) else []),
            ]
            refused(read, name, changed(name, path, other), *expected)


VALUES: dict[str, list[Any]] = {
    "name": ["", "two\nlines", 'a "board"', "[exit]"],
    "page": ["", "two\nlines"],
    "part": ["ecp6", "../ulx3s-85f", ""],
    "package": ["", "CA BGA"],
    "standard": ["", "LVCMOS33;"],
    "counters": ["", "some"],
    "speed": [0, -6, 99],
    "clock/hz": [0, -1, 25, 10**10],
    "clock/design_hz": [0, -1, 25, 10**10],
    "clock/pin": ["", [], ["A1", "A2", "A3"], "A 1"],
    "link/rx": ["", " ", "A;1"],
    "link/tx": ["", "A\n1"],
    "link/baud": [0, -9600, 10**9, 30_000_000],
    "link/usb": ["", "zz", "0403", "0403:60g5", "0403:60155", "0x0403:0x6015"],
    "memory/kind": ["", "ddr9", "Block"],
    "streams/beats": [0, 1, -2048, 1000, 32_768, 1 << 40],
    "led/running": ["", "A-1"],
    "standards/elsewhere": ["LVCMOS33"],
    "standards/rx": ["", "no such"],
    "tied/elsewhere": ["Z1"],
    "tied/cs_n__x": ["Z1"],
    "tied/alarm__cattrip": ["", "Z 1"],
}
BLOCK: dict[str, list[Any]] = {
    "memory/bytes": [0, -4, 512, 1000, 100_001, 1 << 40],
    "memory/kind": ["sdram"],
}
SDRAM: dict[str, list[Any]] = {
    "memory/kind": ["block", "spram"],
    "memory/bytes": [4096],
    "memory/chip/data_bits": [0, 8, 64, -16],
    "memory/chip/column_bits": [0, -1, 11],
    "memory/chip/row_bits": [0, -1, 17, 60],
    "memory/chip/cas": [0, 1, 4, -2],
    "memory/chip/mrd": [0, -1, 1000],
    **{
        f"memory/chip/{key}": [0, -1, -0.5, 1e30, float("inf")]
        for key in ("rcd", "rp", "ras", "rc", "wr", "rfc", "wake_us")
    },
    "memory/chip/refi": [0, -7812.5, 1e30, 100],
    "memory/way/setup": [-1, 1e30, 500],
    "memory/way/hold": [-0.5, 500],
    "memory/way/round_trip": [[], [5.5], [1, 2, 3], [11.5, 5.5], [-1, 3], [500, 900]],
    "memory/pins/a": [["A1"], [], [f"Z{k}" for k in range(14)]],
    "memory/pins/ba": [["Z1"], ["Z1", "Z2", "Z3"]],
    "memory/pins/dq": [["Z1"], []],
    "memory/pins/dqm": [["Z1"], []],
    "memory/pins/clk": ["", "A 1"],
    "memory/pins/cke": [""],
    "tied/sdram__clk__cke": [""],
}
VIVADO: dict[str, list[Any]] = {
    "vivado/part": ["", "a b", "[exit]"],
    "vivado/device": ["", "{x}"],
    "vivado/design/CFGBVS": ["", "[exit]"],
    "vivado/design/A B": ["VCCO"],
}
OPEN: dict[str, list[Any]] = {
    "program/options": [[""], ["--board", "a\nb"]],
    "program/usb": ["zz", "0403:601"],
    "clock/pin": [["Z1", "Z2"]],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_values_that_can_not_be(read: Read, name: str) -> None:
    data = tomllib.loads(FILES[name])
    kinds = [VALUES, VIVADO if "vivado" in data else OPEN]
    kinds.append(SDRAM if data["memory"]["kind"] == "sdram" else BLOCK)
    for wrong in kinds:
        for path, values in wrong.items():
            table, _, key = path.rpartition("/")
            for value in values:
                expected = [*table.split("/"), key]
                if isinstance(value, str | int) and table != "tied":
                    expected.append(shown(value))
                if path == "memory/kind":  # the message may name what is missing for another kind
                    expected = ["memory", "kind"]
                elif value == 4096:  # it is the kind that is wrong
                    expected = ["memory can't have bytes, as its kind is sdram"]
                elif path in ("tied/elsewhere", "standards/elsewhere"):
                    expected = [table, "'elsewhere'"]
                elif path == "vivado/design/A B":
                    expected = [key]
                refused(read, name, changed(name, path, value), *expected)


@pytest.mark.parametrize("seed", range(20))
def test_no_site_is_there_twice(read: Read, seed: int) -> None:
    """Of two drawn pins."""
    rng = random.Random(seed)
    name = rng.choice(list(FILES))
    data = tomllib.loads(FILES[name])
    pins = {"clock/pin", "link/rx", "link/tx", "led/running"}
    pins |= {path for path, _ in keys(data) if path.startswith(("memory/pins/", "tied/"))}
    found = dict(keys(data))
    first, second = rng.sample(sorted(pins), 2)
    sites = [found[path] if isinstance(found[path], list) else [found[path]] for path in pins]
    site = found[first] if isinstance(found[first], str) else rng.choice(found[first])
    assert sum(site in each for each in sites) == 1
    value: Any = site
    if isinstance(found[second], list):
        value = list(found[second])
        value[rng.randrange(len(value))] = site
    content = changed(name, second, value)
    both = (path.replace("/", ": ") for path in (first, second))
    refused(read, name, content, *both, repr(site))


def test_memory_of_one_port_is_only_there_on_ice40(read: Read) -> None:
    for name, text in FILES.items():
        memory = tomllib.loads(text)["memory"]
        if memory["kind"] == "block":
            refused(read, name, changed(name, "memory/kind", "spram"), "memory", "kind", "'spram'")
    assert read("icebreaker", FILES["icebreaker"]).memory.kind == "spram"
    refused(read, "icebreaker", changed("icebreaker", "memory/bytes", 1 << 18), "262144")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hello\n", "is not TOML: "),
        ("hz = " + "9" * 5000, "is not TOML: "),
        ("a = " + "[" * 20_000, "nested too deeply"),
        ("", "lacks name"),
        (b"name = '\xff'\n", "is not UTF-8: "),
        ("clock = 5\nclock = 6\n", "is not TOML: "),
    ],
)
def test_what_is_no_file_of_a_board(read: Read, content: str | bytes, expected: str) -> None:
    refused(read, "mine", content, expected)


def test_the_name_of_a_file_is_that_of_its_board(read: Read) -> None:
    assert read("mine", FILES["ulx3s-85f"]).key == "mine"
    refused(read, "my board", FILES["ulx3s-85f"], "'my board'")


def test_a_board_is_built_by_what_places_its_part(read: Read) -> None:
    arty, ulx3s = FILES["arty-a7-100"], FILES["ulx3s-85f"]
    refused(read, "mine", arty[: arty.index("[vivado]")], "lacks vivado, as no open tools place")
    refused(read, "mine", ulx3s + arty[arty.index("[vivado]") :], "has vivado, but open tools")
    refused(read, "mine", ulx3s[: ulx3s.index("[program]")], "lacks program")


def test_all_boards_are_read_at_once(read: Read) -> None:
    read("fine", FILES["ulx3s-85f"])
    with pytest.raises(
        StepError, match=r"boards/wrong\.toml: clock: hz must be an integer, not 'x'"
    ):
        read("wrong", changed("ulx3s-85f", "clock/hz", "x"))
    with pytest.raises(StepError, match=r"boards/wrong\.toml: clock: hz must be an integer"):
        boards()
