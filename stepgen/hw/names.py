"""Names in Verilog."""

from stepgen.hw.design.table import Channel, Design, Unit

__all__ = [
    "EPILOGUE",
    "FIFO",
    "RESTOP",
    "RUN_CONTROL",
    "epilogue_name",
    "fifo_name",
    "restop_name",
    "top_name",
    "verilog_name",
]

EPILOGUE, FIFO, RESTOP = "epilogue", "fifo", "restop"
"""Kinds of circuits beside units."""

_KEYWORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before
begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class
clocking cmos config const constraint context continue cover covergroup coverpoint cross deassign
default defparam design disable dist do edge else end endcase endchecker endclass endclocking
endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram
endproperty endsequence endspecify endtable endtask enum event eventually expect export extends
extern final first_match for force foreach forever fork forkjoin function generate genvar global
highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include
initial inout input inside instance int integer interconnect interface intersect join join_any
join_none large let liblist library local localparam logic longint macromodule matches medium
modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or
output package packed parameter pmos posedge primitive priority program property protected pull0
pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence
rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct
super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order
wand weak weak0 weak1 while wildcard wire with within wor xnor xor
"""

_PORTS = "clk rst running done cycle csr mem probe probe_push probe_pop"

_BENCH = """
axi_checks axi_memory recorder stepgen_bench stepgen_four_state unknown case_number load dump go
judge error set reset our junk dut memory
"""

_CIRCUIT = """
start stop stopping moves_in moves_out busy starved empty full design part cores faces
reporting signature metadata elaborate submodule detail
"""

RUN_CONTROL = "run_control"
"""The instance that starts and ends runs."""

_TAKEN = frozenset(f"{_KEYWORDS} {_PORTS} {_BENCH} {_CIRCUIT} {RUN_CONTROL}".split())
_BEGINS = ("csr_", "mem_", "judge_", "probe_", "set_", "our_", "junk_", "fifo_")
_ENDS = ("_valid", "_ready", "_payload", "_moves")
_MARK = "n0"


def verilog_name(name: str) -> str:
    """The Verilog name of a user's name, the same in every file.

    Most names stay as they are. Reserved ones (of the language, of a design's own ports, of its
    test bench, and those with underscores in a row or at an end) get the prefix ``n0``, and ``_u``
    for each underscore. Different names stay different.

    Parameters
    ----------
    name : str
        An ASCII identifier.
    """
    taken = (
        name in _TAKEN
        or name.startswith((*_BEGINS, "_", _MARK))
        or name.endswith((*_ENDS, "_"))
        or "__" in name
    )
    return _MARK + name.replace("_", "_u") if taken else name


def top_name(design: Design) -> str:
    """Name of the top module: the design's, as it stands in Verilog."""
    return verilog_name(design.name)


def epilogue_name(unit: Unit) -> str:
    """Name of the instance of a unit's epilogue."""
    return f"{EPILOGUE}_{verilog_name(unit.name)}"


def restop_name(unit: Unit, port: str) -> str:
    """Name of the instance that rewrites stops of an output."""
    return f"{RESTOP}_{verilog_name(unit.name)}_{port}"


def fifo_name(channel: Channel) -> str:
    """Name of the instance of a channel's FIFO."""
    return f"{FIFO}_{channel.name}"
