"""Memories on the chip of a board, in each cycle against the rules of ``docs/memory-timing.md``."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.sim import Simulator
from seeds import some_slow

from stepgen.hw.board.memory import BLOCK_TIMING, SINGLE_TIMING, BlockMemory, SingleMemory

BITS, WORDS, LONGEST, CYCLES = 32, 64, 8, 500
KINDS = {"two ports": (BlockMemory, BLOCK_TIMING), "one port": (SingleMemory, SINGLE_TIMING)}


class Rules:
    """What has been taken, and so what is offered."""

    def __init__(self, timing) -> None:
        self.timing = timing
        self.reads: list[tuple[int, int]] = []  # cycle of the address, and words, of each
        self.writes: list[tuple[int, int]] = []
        self.given: list[int] = []  # cycles of words, and of answers
        self.taken: list[int] = []
        self.answers: list[int] = []

    def ends(self, bursts, moved) -> list[int]:
        """Cycles of the last words of bursts that are over."""
        lasts = np.cumsum([n for _, n in bursts])
        return [moved[k - 1] for k in lasts if k <= len(moved)]

    def offered(self, t: int) -> dict[str, bool]:
        timing = self.timing
        burst = np.repeat([a for a, _ in self.reads], [n for _, n in self.reads])
        after = self.given[-1] + timing.read_interval if self.given else 0
        r = len(self.given) < len(burst) and t >= max(
            burst[len(self.given)] + timing.read_latency, after
        )
        room = sum(n for _, n in self.writes) > len(self.taken)
        w = room and t >= (self.taken[-1] + timing.write_interval if self.taken else 0)
        over, answered = self.ends(self.writes, self.taken), len(self.answers)
        b = answered < len(over) and t >= max(
            over[answered] + timing.write_latency, self.answers[-1] + 1 if self.answers else 0
        )
        open_reads = len(self.reads) - len(self.ends(self.reads, self.given))
        return {
            "arready": open_reads < timing.read_outstanding,
            "awready": len(self.writes) - answered < timing.write_outstanding,
            "rvalid": bool(r),
            "wready": bool(w),
            "bvalid": bool(b),
        }


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
@pytest.mark.parametrize("kind", KINDS)
def test_every_handshake_is_as_the_rules_say(kind: str, seed: int) -> None:
    """Of drawn requests of both directions at once, which don't share words."""
    make, timing = KINDS[kind]
    memory = make(BITS.bit_length() + 4, BITS, WORDS)
    rng, rules, port = np.random.default_rng(seed), Rules(timing), memory.port
    lazy = {name: float(rng.choice([0.1, 0.5, 0.95, 1])) for name in ("ar", "r", "aw", "w", "b")}
    half = seed % 2  # that is read; the other one is written
    content: dict[int, int] = {}
    expected: list[int] = []
    places: list[int] = []
    moved = 0

    async def bench(ctx) -> None:
        nonlocal moved
        held = {}
        for t in range(CYCLES):
            for name in ("ar", "aw"):
                if name not in held and rng.random() < lazy[name]:
                    count = int(rng.integers(1, LONGEST + 1))
                    first = int(rng.integers(0, WORDS // 2 - count + 1))
                    held[name] = (first + (WORDS // 2) * (half ^ (name == "aw")), count)
                first, count = held.get(name, (0, 1))
                ctx.set(getattr(port, f"{name}valid"), name in held)
                ctx.set(getattr(port, f"{name}addr"), first * BITS // 8)
                ctx.set(getattr(port, f"{name}len"), count - 1)
            if "w" not in held and rng.random() < lazy["w"]:
                held["w"] = (int.from_bytes(rng.bytes(4), "little"), int(rng.integers(16)))
            word, strobes = held.get("w", (0, 0))
            ctx.set(port.wvalid, "w" in held)
            ctx.set(port.wdata, word)
            ctx.set(port.wstrb, strobes)
            ctx.set(port.rready, rng.random() < lazy["r"])
            ctx.set(port.bready, rng.random() < lazy["b"])
            offered = rules.offered(t)
            seen = {name: bool(ctx.get(getattr(port, name))) for name in offered}
            assert seen == offered, t
            if seen["rvalid"] and ctx.get(port.rready):
                assert ctx.get(port.rdata) == expected[len(rules.given)]
                rules.given.append(t)
                moved += 1
            if seen["bvalid"] and ctx.get(port.bready):
                rules.answers.append(t)
            if seen["wready"] and "w" in held:
                spot = places[len(rules.taken)]
                mask = sum(255 << 8 * k for k in range(4) if strobes >> k & 1)
                content[spot] = content.get(spot, 0) & ~mask | word & mask
                rules.taken.append(t)
                del held["w"]
            for name, bursts in (("ar", rules.reads), ("aw", rules.writes)):
                if name in held and seen[f"{name}ready"]:
                    first, count = held.pop(name)
                    bursts.append((t, count))
                    spots = range(first, first + count)
                    if name == "ar":
                        expected.extend(content.get(spot, 0) for spot in spots)
                    else:
                        places.extend(spots)
            await ctx.tick()
        # What was written is read, whatever it was.
        for name in ("arvalid", "awvalid", "wvalid"):
            ctx.set(getattr(port, name), 0)
        ctx.set(port.rready, 1)
        ctx.set(port.bready, 1)
        await ctx.tick().repeat(CYCLES)
        for spot in sorted(content):
            ctx.set(port.araddr, spot * BITS // 8)
            ctx.set(port.arlen, 0)
            ctx.set(port.arvalid, 1)
            await ctx.tick()
            ctx.set(port.arvalid, 0)
            while not ctx.get(port.rvalid):
                await ctx.tick()
            assert ctx.get(port.rdata) == content[spot]
            await ctx.tick()

    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert moved > 30
