"""Rewrites RTLIL with explicit operand widths, so that the Verilog is clean for linters.

RTLIL and Verilog extend and truncate the operands of most operators implicitly. That is well
defined, but linters warn about it, because in hand-written code it is often a mistake. Here each
operand gets the width at which its operator works.
"""

import re

__all__ = ["explicit"]

_COMPARE = ("$eq", "$ne", "$lt", "$le", "$gt", "$ge")
_ARITHMETIC = ("$add", "$sub", "$and", "$or", "$xor", "$xnor")
_UNARY = ("$not", "$neg", "$pos")
_SHIFT = ("$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx")

_CELL = re.compile(r"^  cell (\S+) (\S+)\n((?:    .*\n)*)  end\n", re.MULTILINE)
_FIELD = re.compile(r"^    (parameter|connect) \\(\w+) (.*)\n", re.MULTILINE)
_CONSTANT = re.compile(r"\d+'([01]+)")


class _Cell:
    """A cell as its parameters and connections."""

    def __init__(self, match):
        self.kind, self.name, body = match.groups()
        fields = _FIELD.findall(body)
        self.parameters = {name: value for what, name, value in fields if what == "parameter"}
        self.ports = {name: value for what, name, value in fields if what == "connect"}

    def __str__(self):
        return "".join(
            [
                f"  cell {self.kind} {self.name}\n",
                *(f"    parameter \\{name} {value}\n" for name, value in self.parameters.items()),
                *(f"    connect \\{name} {value}\n" for name, value in self.ports.items()),
                "  end\n",
            ]
        )

    def width(self, port):
        """Bits of a port."""
        return int(self.parameters[f"{port}_WIDTH"])

    def signed(self, *ports):
        """Whether operands are extended by their signs: all of them, or none."""
        return all(self.parameters[f"{port}_SIGNED"] != "0" for port in ports)

    def named(self, port, width):
        """Declare a wire for an operand that is put together, so that it is written once."""
        value, wire = self.ports[port], f"{self.name}${port}"
        if not (value.startswith("{") or _CONSTANT.fullmatch(value)):
            return ""
        self.ports[port] = wire
        return f"  wire width {width} {wire}\n  connect {wire} {value}\n"

    def resize(self, port, width, *, signed):
        """Give an operand another width."""
        bits, value = self.width(port), self.ports[port]
        constant = _CONSTANT.fullmatch(value)
        if constant:
            sign = constant[1][0] if signed else "0"
            value = f"{width}'{constant[1].rjust(width, sign)[-width:]}"
        elif bits > width:
            value = f"{value} [{width - 1}:0]"
        elif bits < width:
            more = f"{value} [{bits - 1}]" if signed else "1'0"
            value = f"{{ {f'{more} ' * (width - bits)}{value} }}"
        self.parameters[f"{port}_WIDTH"] = str(width)
        self.ports[port] = value


def explicit(rtlil: str) -> str:
    """The same circuit, each operand extended or truncated to the width of its operator.

    Parameters
    ----------
    rtlil : str
        Modules without processes, as Yosys writes them.

    Returns
    -------
    str
        Modules in which both operands of a comparison have one width, and operands of sums and
        bitwise operators that of the result; no comparison is constant; a multiplexer of several
        inputs is a chain of 2-to-1 multiplexers.
    """
    return _CELL.sub(_rewritten, rtlil)


def _rewritten(match):
    kind = match[1]
    if kind in _COMPARE:
        return _compare(_Cell(match))
    if kind == "$logic_not":
        return _is_zero(_Cell(match))
    if kind == "$pmux":
        return _choose(_Cell(match))
    if kind not in (*_ARITHMETIC, *_UNARY, *_SHIFT):
        return match[0]
    if kind in _SHIFT:
        return _shift(_Cell(match))
    cell = _Cell(match)
    width = cell.width("Y")
    operands = "A" if kind in _UNARY else "AB"
    signed = cell.signed(*operands)
    for port in operands:
        cell.resize(port, width, signed=signed)
        cell.parameters[f"{port}_SIGNED"] = "0"
    return str(cell)


def _compare(cell):
    signed = cell.signed("A", "B")
    width = max(cell.width("A"), cell.width("B"))
    for port in "AB":
        cell.resize(port, width, signed=signed)
        cell.parameters[f"{port}_SIGNED"] = str(int(signed and cell.kind not in ("$eq", "$ne")))
    constant = _CONSTANT.fullmatch(cell.ports["B"])
    if constant and not signed:
        least, most = "1" not in constant[1], "0" not in constant[1]
        if {"$ge": least, "$lt": least, "$le": most, "$gt": most}.get(cell.kind):
            result = f"{int(cell.kind in ('$ge', '$le')):0{cell.width('Y')}b}"
            return f"  connect {cell.ports['Y']} {len(result)}'{result}\n"
    return str(cell)


def _shift(cell):
    """Shift at the wider of both widths, then truncate."""
    whole, kept = max(cell.width("A"), cell.width("Y")), cell.width("Y")
    cell.resize("A", whole, signed=cell.signed("A"))
    if whole == kept:
        return str(cell)
    wire = f"{cell.name}$whole"
    cut = f"  connect {cell.ports['Y']} {wire} [{kept - 1}:0]\n"
    cell.ports["Y"] = wire
    cell.parameters["Y_WIDTH"] = str(whole)
    return f"  wire width {whole} {wire}\n{cell}{cut}"


def _is_zero(cell):
    width = cell.width("A")
    if width > 1:
        cell.kind = "$eq"
        cell.parameters |= {"A_SIGNED": "0", "B_SIGNED": "0", "B_WIDTH": str(width)}
        cell.ports["B"] = f"{width}'{'0' * width}"
    return str(cell)


def _choose(cell):
    """A chain of 2-to-1 multiplexers; the selection is one-hot, its lowest bit has priority."""
    width, count = int(cell.parameters["WIDTH"]), int(cell.parameters["S_WIDTH"])
    text = cell.named("B", width * count) + cell.named("S", count)
    options = [f"{cell.ports['B']} [{(k + 1) * width - 1}:{k * width}]" for k in range(count)]
    otherwise = cell.ports["A"]
    if set(otherwise.partition("'")[2]) == {"x"}:  # never happens
        otherwise = options.pop()
    for k in reversed(range(len(options))):
        chosen = cell.ports["Y"] if k == 0 else f"{cell.name}${k}"
        if k:
            text += f"  wire width {width} {chosen}\n"
        text += (
            f"  cell $mux {cell.name}$mux{k}\n    parameter \\WIDTH {width}\n"
            f"    connect \\A {otherwise}\n    connect \\B {options[k]}\n"
            f"    connect \\S {cell.ports['S']} [{k}]\n    connect \\Y {chosen}\n  end\n"
        )
        otherwise = chosen
    return text
