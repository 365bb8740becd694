"""What is in a circuit before synthesis, counted in what Yosys says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FOREIGN = "foreign"
"""In what was counted: instances of which nothing is known, modules in Verilog."""

LOGIC = (
    *("select", "gate", "add", "step", "equal", "equal_constant", "order", "order_constant"),
    *("reduce", "shift", "rows"),
)
"""Kinds of logic that are counted, see `contents`; `stepgen.synth.estimate` weighs them."""

BLOCKS = {"DP16KD": "block_ram", "MULT18X18D": "multiplier"}
"""Hard blocks of an ECP5."""

_LOGIC = ("$and", "$or", "$xor", "$xnor")
_REDUCTIONS = ("$reduce_or", "$reduce_and", "$reduce_bool", "$reduce_xor", "$logic_not")
_EQUAL = ("$eq", "$ne", "$eqx", "$nex")
_ORDER = ("$lt", "$le", "$gt", "$ge")
_SHIFTS = ("$shift", "$shiftx", "$shl", "$shr", "$sshl", "$sshr")
_RAM_ROWS, _RAM_BITS = 16, 4
"""Of a block of LUT RAM."""
_BLOCK_ROWS, _BLOCK_BITS = 512, 36
MOST_FREE = 48
"""Rows of the largest memory that Yosys makes of LUT RAM when it may choose."""


@dataclass(frozen=True)
class Counted:
    """What is in the circuits of a design, by part.

    Attributes
    ----------
    units, channels : mapping of str to Counter
        Contents of each unit and of each channel's FIFO, by name; see `contents`.
    control : Counter
        Of control registers, counters, and the logic that starts and ends a run.
    """

    units: Mapping[str, Counter[str]]
    channels: Mapping[str, Counter[str]]
    control: Counter[str]


def contents(module: Mapping[str, Any]) -> Counter[str]:
    """What is in a module, in bits.

    Parameters
    ----------
    module : mapping
        From Yosys, as JSON, flat but for memories.

    Returns
    -------
    Counter
        ``ff`` (registers), ``block_ram``, ``multiplier`` (hard blocks), ``lut_ram`` (blocks of 16
        rows of 4 bits), and of logic: ``select`` (of two), ``gate``, ``add``, ``step`` (an addition
        of a constant), ``equal``, ``order`` (comparisons, ``…_constant`` those with a constant),
        ``reduce`` (of a vector to a bit), ``shift`` (bits times levels), ``rows`` (selections
        among blocks of LUT RAM).
    """
    found: Counter[str] = Counter()
    memories: dict[str, dict[str, Any]] = {}
    for cell in module["cells"].values():
        kind, ports = cell["type"], cell["connections"]
        if kind in BLOCKS:
            found[BLOCKS[kind]] += 1
        elif kind.startswith("$mem"):
            _port(memories, kind, cell["parameters"], ports)
        elif "dff" in kind:
            found["ff"] += len(set(ports["Q"]))
        else:
            _logic(found, kind, ports)
    for name, memory in memories.items():
        attributes = module["memories"][name.removeprefix("\\")]["attributes"]
        _memory(found, memory, free="ram_style" not in attributes)
    return found


def _logic(found: Counter[str], kind: str, ports: Mapping[str, list[Any]]) -> None:
    bits = {port: _variable(wires) for port, wires in ports.items()}
    a, b = bits.get("A", 0), bits.get("B", 0)
    constant = "" if a and b else "_constant"
    if kind == "$mux":
        pairs = zip(ports["A"], ports["B"], strict=True)
        found["select"] += sum(x != y and (_varies(x) or _varies(y)) for x, y in pairs)
    elif kind in _LOGIC:
        found["gate"] += min(a, b)
    elif kind in ("$add", "$sub", "$neg"):
        found["add" if a and b else "step"] += min(len(ports["Y"]), max(a, b))
    elif kind in _EQUAL:
        found[f"equal{constant}"] += max(0, max(a, b) - bool(constant))
    elif kind in _ORDER:
        found[f"order{constant}"] += max(0, max(a, b) - bool(constant))
    elif kind in _REDUCTIONS:
        found["reduce"] += max(0, a - 1)
    elif kind in _SHIFTS:
        found["shift"] += len(ports["Y"]) * b
    elif kind == "$mul":
        if min(a, b) > 1:
            found["multiplier"] += 1
        else:
            found["gate"] += max(a, b)


def _varies(wire: object) -> bool:
    """Whether a bit is not a constant."""
    return isinstance(wire, int)


def _variable(wires: list[Any]) -> int:
    return sum(map(_varies, wires))


def _port(
    memories: dict[str, dict[str, Any]],
    kind: str,
    parameters: Mapping[str, str],
    ports: Mapping[str, list[Any]],
) -> None:
    memory = memories.setdefault(parameters["MEMID"], {"rows": 0, "written": False, "reads": []})
    if kind == "$meminit_v2":
        memory["rows"] = int(parameters["WORDS"], 2)
    elif kind == "$memwr_v2":
        memory["written"] = True
    else:
        memory["reads"].append((len(ports["DATA"]), parameters["CLK_ENABLE"][-1] == "1"))


def _memory(found: Counter[str], memory: Mapping[str, Any], *, free: bool) -> None:
    """A memory of LUT RAM, of registers if it has one row, or of what Yosys chooses if `free`."""
    if not memory["written"]:
        return
    rows = memory["rows"]
    blocks = -(-rows // _RAM_ROWS)
    for width, clocked in memory["reads"]:
        if free and clocked and rows > MOST_FREE:
            found["block_ram"] += -(-rows // _BLOCK_ROWS) * -(-width // _BLOCK_BITS)
            continue
        if clocked:
            found["ff"] += width
        if rows == 1:
            found["ff"] += width
        else:
            found["lut_ram"] += blocks * -(-width // _RAM_BITS)
            found["rows"] += (blocks - 1) * width
