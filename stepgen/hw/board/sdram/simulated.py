"""The simulated SDRAM, ``sim/verilator/sdram.sv``."""

from amaranth.hdl import ClockSignal, Instance, Module, Signal
from amaranth.lib.wiring import Out

from stepgen.hw.primitives import delayed
from stepgen.ir.sdram_timing import SdramTiming

__all__ = ["simulated_chip"]


def simulated_chip(timing: SdramTiming, pins, *, put, get) -> Module:
    """An instance of it, and the way from there to the controller.

    Parameters
    ----------
    timing : SdramTiming
        That it checks.
    pins : SdramPins
        The controller's.
    put, get : Value
        Whether contents are read from a file, or written to another one.
    """
    m, read = Module(), Signal(timing.data_bits)
    wires = {
        f"i_{name}": getattr(pins, name)
        for name, member in pins.signature.members.items()
        if member.flow == Out and name not in ("cke", "cs_n")
    }
    m.d.comb += pins.dq_i.eq(delayed(m, read, timing.late, reset_less=True))
    m.submodules.chip = Instance(
        "sdram",
        p_DATA_BITS=timing.data_bits,
        p_COLUMN_BITS=timing.column_bits,
        p_ROW_BITS=timing.row_bits,
        p_ADDRESS_BITS=timing.address_bits,
        p_CAS=timing.cas,
        p_RCD=timing.rcd,
        p_RP=timing.rp,
        p_RAS=timing.ras,
        p_RC=timing.rc,
        p_WR=timing.wr,
        p_RFC=timing.rfc,
        p_MRD=timing.mrd,
        p_REFI=timing.refi,
        p_WAKE=timing.wake,
        i_clk=ClockSignal(),
        i_put=put,
        i_get=get,
        o_dq_i=read,
        **wires,
    )
    return m
