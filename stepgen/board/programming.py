"""A bitstream onto a board, by openFPGALoader."""

from __future__ import annotations

import re
from pathlib import Path

from stepgen.board.description import Board
from stepgen.board.tables import ProgramTable
from stepgen.ir.errors import StepError
from stepgen.tools import children, external

LOADER = "openfpgaloader"
_FORBIDDEN = re.compile(r"permission|not permitted|access denied|LIBUSB_ERROR_ACCESS", re.I)
_ABSENT = re.compile(r"not found|no device|cannot find|can't find", re.I)
RULES = "/etc/udev/rules.d/60-stepgen.rules"


def udev_rule(usb: str) -> str:
    """A rule of udev that gives a USB device to whoever sits at the machine.

    Parameters
    ----------
    usb : str
        Vendor and product, hexadecimal, with a colon between.
    """
    vendor, product = usb.lower().split(":")
    return (
        f'SUBSYSTEM=="usb", ATTRS{{idVendor}}=="{vendor}", ATTRS{{idProduct}}=="{product}", '
        f'TAG+="uaccess"'
    )


def load(board: Board, bitstream: Path) -> None:
    """Load a bitstream into the FPGA of a board, where it stays until power is switched off.

    Raises
    ------
    StepError
        If the loader is missing or fails: no such board, no permission.
    """
    program = board.program or ProgramTable(())
    tool = external.find(LOADER)
    done = children.run([str(tool.path), *program.options, str(bitstream)])
    if not done.returncode:
        return
    said = done.stdout + done.stderr
    usb = program.usb or board.link.usb
    if _FORBIDDEN.search(said):
        raise StepError(
            f"{board.name} can't be programmed without permission for its USB device: put the line "
            f"{udev_rule(usb)} into {RULES}, and plug it in again"
        )
    if done.returncode < 0:
        raise StepError(f"{LOADER} was killed by signal {-done.returncode}")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "no message"
    if _ABSENT.search(said):
        raise StepError(
            f"no {board.name} is plugged in that can be programmed (USB device {usb}): {last}"
        )
    raise StepError(f"{board.name} can't be programmed: {LOADER} says: {last}")
