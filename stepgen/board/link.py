"""The host's end of the link to a board: nothing wrong is ever taken for right."""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from stepgen.board.frames import decode, encode
from stepgen.hw.board.protocol import MOST_WORDS, REPEATS, WORD, Operation, Space, Status
from stepgen.ir.errors import StepError

WINDOW = 2
"""Requests on their way at once: while one is carried out, the next one arrives."""

TRIES = 6
"""How often a request is sent before the board is given up."""

_SEQUENCES = 1 << 16
_SAID: dict[int, str] = {
    Status.REFUSED: "has nothing at that address, or its memory is in use by a run",
    Status.MALFORMED: "does not know that request",
}


class Wire(Protocol):
    """What bytes go over: a serial port."""

    @property
    def name(self) -> str:
        """For messages."""

    def send(self, data: bytes) -> None:
        """Send bytes."""

    def receive(self, seconds: float) -> bytes:
        """Bytes that have come, as soon as there are any; none after some time."""

    def now(self) -> float:
        """Seconds of a clock that is not the board's."""

    @property
    def patience(self) -> float:
        """Seconds after which a request without an answer is sent again."""


class LinkError(StepError):
    """The board does not answer, or answers something else."""


class OtherBoard(LinkError):
    """The board answers, and holds something else than it must: no patience helps."""


_Asked = tuple[Operation, Space, int, bytes, int]
"""Of a request: what, where, more of its frame, and the words that its answer holds."""


@dataclass
class _Request:
    sequence: int
    frame: bytes
    words: int  # that the answer holds
    what: str
    sent: float = 0.0
    tries: int = 0
    answer: bytes | None = None
    out_of_order: bool = False


@dataclass
class Traffic:
    """What went over a link.

    Attributes
    ----------
    requests, repeated : int
        Requests carried out, and how often one was sent again.
    damaged : int
        Frames that came and were no answer.
    sent, received : int
        Bytes.
    """

    requests: int = 0
    repeated: int = 0
    damaged: int = 0
    sent: int = 0
    received: int = 0


class Link:
    """Reads and writes words of a board.

    Each request is repeated until its answer comes, and the board carries it out once.

    Parameters
    ----------
    wire : Wire

    Raises
    ------
    LinkError
        If no board answers.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.traffic = Traffic()
        self._next = 0
        self._came = bytearray()
        self._counts_apart = False
        self.synchronize()

    def synchronize(self) -> None:
        """Begin to count requests anew, whatever came before."""
        self._next = random.randrange(_SEQUENCES)
        self._came.clear()
        self.wire.send(b"\0")  # ends what another host may have left
        self._exchange([(Operation.SYNC, Space.IDENTITY, 0, b"", 0)])
        self._counts_apart = False

    def read(self, space: Space, address: int, count: int) -> list[int]:
        """Words at an address and behind it.

        Raises
        ------
        LinkError
            If the board does not answer, or has no such words.
        """
        answers = self._carry_out(
            (Operation.READ, space, address + k, bytes([n - 1]), n)
            for k in range(0, count, MOST_WORDS)
            for n in [min(MOST_WORDS, count - k)]
        )
        data = b"".join(answers)
        return [int.from_bytes(data[k : k + WORD], "little") for k in range(0, len(data), WORD)]

    def write(self, space: Space, address: int, words: Sequence[int]) -> None:
        """Write words at an address and behind it.

        Raises
        ------
        LinkError
            If the board does not answer, or refuses.
        """
        data = b"".join(word.to_bytes(WORD, "little") for word in words)
        size = WORD * MOST_WORDS
        self._carry_out(
            (Operation.WRITE, space, address + k // WORD, data[k : k + size], 0)
            for k in range(0, len(data), size)
        )

    def _carry_out(self, asked: Iterable[_Asked]) -> list[bytes]:
        """Send requests; where one failed before, host and board agree on their numbers first."""
        if self._counts_apart:
            self.synchronize()
        try:
            return self._exchange(asked)
        except BaseException:
            self._counts_apart = True
            raise

    def _request(
        self, operation: Operation, space: Space, address: int, more: bytes, words: int
    ) -> _Request:
        sequence, self._next = self._next, (self._next + 1) % _SEQUENCES
        head = bytes([operation | space << 4]) + sequence.to_bytes(2, "little")
        frame = encode(head + address.to_bytes(4, "little") + more)
        verb = {Operation.SYNC: "a greeting", Operation.READ: "a read of"}.get(
            operation, "a write of"
        )
        what = verb if operation is Operation.SYNC else f"{verb} {space.name.lower()} {address:#x}"
        return _Request(sequence, frame, words, what)

    def _exchange(self, asked: Iterable[_Asked]) -> list[bytes]:
        """Send requests, `WINDOW` of them at once, until each has its answer."""
        answers, open_ = [], deque[_Request]()
        rest = iter(asked)
        more = True
        while more or open_:
            while more and len(open_) < WINDOW:
                one = next(rest, None)
                if one is None:
                    more = False
                else:
                    open_.append(self._request(*one))
                    self._send(open_[-1])
            if not open_:
                break
            self._receive(open_)
            while open_ and open_[0].answer is not None:
                answers.append(self._checked(open_.popleft()))
        return answers

    def _send(self, request: _Request) -> None:
        if request.tries == TRIES and request.out_of_order:
            raise LinkError(
                f"the board at {self.wire.name} has lost count of the requests, at {request.what}: "
                f"it was reset, or another program uses it"
            )
        if request.tries == TRIES:
            raise LinkError(
                f"the board at {self.wire.name} does not answer {request.what}, which was sent "
                f"{TRIES} times: is it on, programmed and connected?"
            )
        self.traffic.repeated += bool(request.tries)
        self.traffic.sent += len(request.frame)
        request.tries += 1
        request.sent = time.monotonic()
        self.wire.send(request.frame)

    def _receive(self, open_: deque[_Request]) -> None:
        """Take what has come; where nothing comes in time, send all open requests again.

        The time grows with each try: a simulated board, or a busy machine, may only be slow.
        """
        patience = self.wire.patience * open_[0].tries
        wait = open_[0].sent + patience - time.monotonic()
        data = self.wire.receive(max(wait, 0.0)) if wait > 0 else b""
        self.traffic.received += len(data)
        self._came += data
        if not data and time.monotonic() - open_[0].sent >= patience:
            for request in open_:
                self._send(request)
        *frames, self._came[:] = self._came.split(b"\0")
        for frame in frames:
            if frame:
                self._take(decode(bytes(frame)), open_)

    def _take(self, content: bytes | None, open_: deque[_Request]) -> None:
        """Give an answer to its request; answers to repeated requests may come twice."""
        if content is None or len(content) < 3:
            self.traffic.damaged += 1
            return
        sequence, status = int.from_bytes(content[:2], "little"), content[-1]
        for request in open_:
            if request.sequence == sequence and request.answer is None:
                request.out_of_order = status == Status.ORDER
                if not request.out_of_order:
                    request.answer = content[2:]
                elif request is open_[0]:
                    request.sent = -math.inf  # no other one can still come before it
                # One that overtook one that was lost is sent again with that one.
                return

    def _checked(self, request: _Request) -> bytes:
        """The words of an answer."""
        answer = request.answer
        assert answer is not None
        self.traffic.requests += 1
        status, words = answer[-1], answer[:-1]
        if status != Status.OK or len(words) != WORD * request.words:
            said = _SAID.get(status, "answers what it was not asked")
            raise LinkError(f"the board at {self.wire.name} {said}: {request.what}")
        return words


assert WINDOW <= REPEATS
