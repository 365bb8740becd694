"""Reads and writes of control registers in Amaranth's simulator."""

CONTROL, STATUS, CODE, DETAIL, CYCLES, READS, WRITES = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x18, 0x1C
COUNTERS = 0x1000
"""The addresses as literal numbers, on purpose: the software of hosts depends on them."""


async def until(ctx, *signals, limit=1000):
    """Wait until all signals are high."""
    for _ in range(limit):
        if all(map(ctx.get, signals)):
            return
        await ctx.tick()
    raise AssertionError(f"no answer after {limit} cycles")


async def write(ctx, dut, address, value):
    """Write a register, with the address before the data."""
    ctx.set(dut.csr_awaddr, address)
    ctx.set(dut.csr_awvalid, 1)
    ctx.set(dut.csr_wdata, value)
    ctx.set(dut.csr_wstrb, 15)
    await ctx.tick()
    ctx.set(dut.csr_wvalid, 1)  # the address may come first
    await until(ctx, dut.csr_awready, dut.csr_wready)
    await ctx.tick()
    ctx.set(dut.csr_awvalid, 0)
    ctx.set(dut.csr_wvalid, 0)
    assert ctx.get(dut.csr_bvalid)
    await ctx.tick()
    assert ctx.get(dut.csr_bvalid)  # until it is taken
    ctx.set(dut.csr_bready, 1)
    await ctx.tick()
    assert not ctx.get(dut.csr_bvalid)
    ctx.set(dut.csr_bready, 0)


async def read(ctx, dut, address):
    """The value of a register, which is held until it is taken."""
    ctx.set(dut.csr_araddr, address)
    ctx.set(dut.csr_arvalid, 1)
    await until(ctx, dut.csr_arready)
    await ctx.tick()
    ctx.set(dut.csr_arvalid, 0)
    ctx.set(dut.csr_araddr, 0xFFFF)
    await until(ctx, dut.csr_rvalid)
    value = ctx.get(dut.csr_rdata)
    await ctx.tick()
    assert ctx.get(dut.csr_rvalid)
    assert ctx.get(dut.csr_rdata) == value
    ctx.set(dut.csr_rready, 1)
    await ctx.tick()
    ctx.set(dut.csr_rready, 0)
    return value
