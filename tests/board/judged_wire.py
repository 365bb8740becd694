"""Inside the simulator: a board's wires between models of a serial port that are not ours."""

import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.uart import UartSink, UartSource

from stepgen.board.frames import decode, encode
from stepgen.board.link import WINDOW
from stepgen.hw.board.protocol import MOST_WORDS, WORD, Operation, Space, Status

PERIOD, SYMBOL_BITS = 10, 10
BIT_CYCLES = int(os.environ["BIT_CYCLES"])
FRAMES = 3
LEAST_SHARE = 0.8
"""Of the symbols of one direction that words take while they are moved."""


class Host:
    """Requests, as many at once as the real host has, without a pause between."""

    def __init__(self, dut):
        baud = 1_000_000_000 // (PERIOD * BIT_CYCLES)
        self.source, self.sink = UartSource(dut.rx, baud=baud), UartSink(dut.tx, baud=baud)
        self.number, self.came = 100, bytearray()

    def request(self, operation, space, address, more=b""):
        head = bytes([operation | space << 4]) + self.number.to_bytes(2, "little")
        self.number += 1
        return encode(head + address.to_bytes(4, "little") + more)

    async def answer(self):
        while 0 not in self.came:
            self.came += await with_timeout(self.sink.read(), 1, "ms")
        frame, _, self.came = self.came.partition(b"\0")
        content = decode(bytes(frame))
        assert content is not None
        assert content[-1] == Status.OK
        return content[2:-1]

    async def carry_out(self, requests):
        rest, answers, open_ = deque(requests), [], 0
        while rest or open_:
            while rest and open_ < WINDOW:
                self.source.write_nowait(rest.popleft())
                open_ += 1
            answers.append(await self.answer())
            open_ -= 1
        return answers

    async def share(self, requests):
        """Answers, and words moved in the place of all symbols that there was time for."""
        begun = get_sim_time("ns")
        answers = await self.carry_out(requests)
        symbols = (get_sim_time("ns") - begun) / (PERIOD * BIT_CYCLES * SYMBOL_BITS)
        return answers, FRAMES * MOST_WORDS * WORD / symbols


@cocotb.test()
async def words_through_the_wires(dut):
    cocotb.start_soon(Clock(dut.clk, PERIOD, "ns").start())
    host = Host(dut)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    host.source.write_nowait(b"\0")
    await host.carry_out([host.request(Operation.SYNC, Space.IDENTITY, 0)])
    rng = random.Random(5)
    size = MOST_WORDS * WORD
    sent = [rng.randbytes(size) for _ in range(FRAMES)]
    sent[1] = bytes(size)  # all of it is encoded
    places = [k * MOST_WORDS for k in range(FRAMES)]
    writes = [
        host.request(Operation.WRITE, Space.MEMORY, place, data)
        for place, data in zip(places, sent, strict=True)
    ]
    _, written = await host.share(writes)
    more = bytes([MOST_WORDS - 1])
    reads = [host.request(Operation.READ, Space.MEMORY, place, more) for place in places]
    answers, read = await host.share(reads)
    assert answers == sent
    dut._log.info("share of the symbols: written %.3f, read %.3f", written, read)
    assert min(written, read) >= LEAST_SHARE
