"""A serial port as the wire of a link."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stepgen.board.link import LinkError
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from serial import Serial

PATIENCE = 0.5
"""Seconds; a serial port may lose bytes."""

BITS_OF_A_BYTE = 10
"""On the wire: a start bit, 8 data bits, a stop bit."""


@dataclass
class SerialWire:
    """A serial port; a terminal of a simulated board looks like one.

    Parameters
    ----------
    name : str
        The port, as the system calls it.
    baud : int
        Bits per second.
    patience : float
        Seconds after which a request without an answer is sent again.

    Raises
    ------
    StepError
        If there is no such port, it is in use, or the user may not use it.
    """

    name: str
    baud: int
    patience: float = field(default_factory=lambda: PATIENCE)
    _port: Serial = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the port, also anew.

        Raises
        ------
        StepError
            See `SerialWire`.
        """
        import serial

        try:
            self._port = serial.Serial(self.name, self.baud, timeout=0, exclusive=True)
        except (OSError, ValueError) as error:
            raise StepError(f"the serial port {self.name} can't be opened: {_why(error)}") from None

    def send(self, data: bytes) -> None:
        """Send bytes."""
        try:
            self._port.write(data)
        except OSError as error:
            raise self._gone(error) from None

    def receive(self, seconds: float) -> bytes:
        """Bytes that have come, as soon as there are any; none after some time."""
        try:
            self._port.timeout = seconds
            first = self._port.read(1)
            return bytes(first + self._port.read(self._port.in_waiting)) if first else b""
        except OSError as error:
            raise self._gone(error) from None

    def now(self) -> float:
        """Seconds by the clock of this computer."""
        return time.monotonic()

    def close(self) -> None:
        """Give the port back."""
        self._port.close()

    def reopen(self, name: str) -> None:
        """Open the port after it was lost, under the name that it has now.

        Raises
        ------
        StepError
            See `SerialWire`.
        """
        self.close()
        self.name = name
        self.open()

    def _gone(self, error: OSError) -> LinkError:
        return LinkError(f"the serial port {self.name} is gone: {_why(error)}")


def _why(error: Any) -> str:
    number = getattr(error, "errno", None)
    text = str(getattr(error, "strerror", None) or error)
    if number == errno.EACCES or "Permission denied" in text:
        return "permission denied: join the group that owns it, or let a udev rule give it to you"
    if number == errno.EAGAIN:
        return "another program uses it"
    if "configure port" in text or number == errno.ENOTTY:
        return "it is not a serial port"
    return text if number is None else os.strerror(number)


def find(board: str, usb: str) -> str:
    """The serial port at which a board is plugged in.

    Parameters
    ----------
    board : str
        Its name, for messages.
    usb : str
        Vendor and product of its USB device, hexadecimal, with a colon between.

    Raises
    ------
    StepError
        If there is none, or more than one.
    """
    ports = plugged_in(usb)
    if not ports:
        raise StepError(
            f"no {board} is plugged in: no serial port has the USB device {usb}; --port "
            f"names another one"
        )
    if len(ports) > 1:
        raise StepError(
            f"{len(ports)} serial ports may be {board}: {', '.join(ports)}; --port names one"
        )
    return ports[0]


def plugged_in(usb: str) -> list[str]:
    """Serial ports of a USB device, see `find`."""
    from serial.tools import list_ports

    wanted = tuple(int(number, 16) for number in usb.split(":"))
    return sorted(p.device for p in list_ports.comports() if (p.vid, p.pid) == wanted)
