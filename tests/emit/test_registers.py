"""The map of control registers: header, interface and docs agree with it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from stepgen.emit.interface import Interface
from stepgen.emit.registers import c_header
from stepgen.hw.design.registers import (
    CHANNEL_BASE,
    CHANNEL_STRIDE,
    COUNTERS,
    END,
    REGISTERS,
    WORD,
    counter_address,
    register_map,
)
from stepgen.ir.errors import StepError
from stepgen.tools.external import compiler

ROOT = Path(__file__).parents[2]


def test_no_two_are_in_one_place() -> None:
    for group, end in ((REGISTERS, END), (COUNTERS, CHANNEL_STRIDE)):
        offsets = [offset for register in group for offset in register.offsets]
        assert sorted(set(offsets)) == offsets
        assert all(offset % WORD == 0 and offset + WORD <= end for offset in offsets)
        assert len({register.name for register in group}) == len(group)
        for register in group:
            positions = [bit.position for bit in register.bits]
            assert sorted(set(positions)) == positions
            assert all(position < 8 * WORD for position in positions)
    assert END <= CHANNEL_BASE


def test_c_header(tmp_path: Path) -> None:
    """A C compiler takes it without a warning, twice in a file, and sees the map."""
    channels, units = ["x", "x_data"], ["s", "d"]
    expected = {}
    for register in REGISTERS:
        ends = [""] if register.words == 1 else ["_LOW", "_HIGH"]
        for end, offset in zip(ends, register.offsets, strict=True):
            expected[f"{register.name}{end}"] = offset
        expected |= {f"{register.name}_{bit.name}": bit.mask for bit in register.bits}
    expected |= {
        f"channel_{counter.name}({n} + {n})": counter_address(2 * n, k)
        for k, counter in enumerate(COUNTERS)
        for n in (0, 3)
    }
    expected |= {"end": END, "channels": len(channels), "units": len(units)}
    names = [re.sub(r"^\w+", lambda m: f"GATED_{m[0]}".upper(), name) for name in expected]
    (tmp_path / "gated_registers.h").write_text(c_header("gated", channels=channels, units=units))
    (tmp_path / "main.c").write_text(
        '#include "gated_registers.h"\n#include "gated_registers.h"\n#include <stdio.h>\n'
        "static const char *const names[] = GATED_CHANNEL_NAMES;\n"
        "static const char *const units[] = GATED_UNIT_NAMES;\nint main(void)\n{\n"
        + "".join(f'    printf("%u\\n", {name});\n' for name in names)
        + '    printf("%s %s %s %s\\n", names[0], names[1], units[0], units[1]);\n'
        + "    return 0;\n}\n"
    )
    flags = ["-x", "c", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler().path, *flags, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    *values, text = said.splitlines()
    assert dict(zip(expected, map(int, values), strict=True)) == expected
    assert text == "x x_data s d"


def test_the_interface_has_the_map() -> None:
    text = Interface("d", channels=("x",)).to_json()
    data = json.loads(text)
    assert data["registers"] == register_map()
    assert "registers" not in json.loads(Interface("d", control=False).to_json())
    del data["registers"]  # as written before it was there
    assert Interface.from_json(json.dumps(data)) == Interface.from_json(text)
    data["registers"] = register_map() | {"word_bytes": 8}
    with pytest.raises(StepError, match="control registers are not those of this version"):
        Interface.from_json(json.dumps(data))


@pytest.mark.parametrize("place", ["sim/verilator/driver.cpp", "stepgen"])
def test_addresses_are_in_the_map_alone(place: str) -> None:
    root = ROOT / place
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    address = re.compile(rf"0x(?:0*{CHANNEL_BASE:x}|0[048cC]|1[048cC])\b", re.I)
    found = {str(p.relative_to(ROOT)) for p in files if address.search(p.read_text())}
    assert files
    assert found <= {"stepgen/hw/design/registers.py"}
