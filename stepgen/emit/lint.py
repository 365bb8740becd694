"""Lint waivers for the Verilog of a design."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate

from stepgen.tools.shipped import shipped

_NAMED = re.compile(
    r"^module \\?(?P<module>[^\s(]+)"
    r"|^  (?:input|output|wire|reg)(?: signed)?(?: \[\d+:\d+\])? \\?(?P<signal>[^\s;]+)"
)


@dataclass(frozen=True)
class Waiver:
    """A rule of ``verilator --lint-only -Wall`` that is waived, and where.

    Parameters
    ----------
    rule : str
        Name of the rule, such as ``UNUSEDSIGNAL``.
    module, signal : str
        Shell patterns; an empty signal matches the module itself.
    why : str
        The reason.
    """

    rule: str
    module: str
    signal: str
    why: str


def waivers() -> list[Waiver]:
    """All waivers."""
    text = shipped("sim/verilator/waivers.toml").read_text(encoding="utf-8")
    return [Waiver(**entry) for entry in tomllib.loads(text)["waiver"]]


def control_file(verilog: str, name: str) -> str:
    """The waivers of a design as a Verilator control file.

    Parameters
    ----------
    verilog : str
        The design, as `stepgen.emit.elaborate.verilog` wrote it: the waivers name its lines.
    name : str
        Of its file.

    Returns
    -------
    str
        Contents of a ``.vlt`` file, to be given before the design.
    """
    waived: dict[Waiver, list[int]] = {waiver: [] for waiver in waivers()}
    signals = {waiver: re.compile(translate(waiver.signal)) for waiver in waived}
    here: list[Waiver] = []
    for number, line in enumerate(verilog.splitlines(), 1):
        found = _NAMED.match(line)
        if found is None:
            continue
        if found["module"]:
            here = [waiver for waiver in waived if fnmatchcase(found["module"], waiver.module)]
        for waiver in here:
            if signals[waiver].match(found["signal"] or ""):
                waived[waiver].append(number)
    text = "`verilator_config\n"
    for waiver, places in waived.items():
        if places:
            text += f"// {waiver.module} {waiver.signal}: {waiver.why}\n"
        for first, last in _ranges(places):
            text += f'lint_off -rule {waiver.rule} -file "*{name}" -lines {first}-{last}\n'
    return text


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Numbers in a row, as pairs of first and last."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
