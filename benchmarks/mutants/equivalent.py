"""Mutants that do what they did before, with the reason."""

EQUIVALENT = {
    "stepgen/hw/fifo.py: level, full = Signal(range(depth + 1)), Signal() -> level, full = "
    "Signal(range(depth + 2)), Signal()": ("a wider register, whose value is the same"),
    "stepgen/hw/units/axi/model.py: M[a + P.offered] = 1 -> M[a + P.offered] = 2": (
        "only whether it is 0 is asked"
    ),
    "stepgen/hw/units/drop/model.py: if ready(M, flags, t) != READY and then != NEVER: "
    "-> if (ready(M, flags, t) != READY or then != NEVER):": (
        "the step asks more often and acts in the same cycles"
    ),
    "stepgen/timing/elements.py: beat = make_beat(VALUE, stop - base, 0, 0) -> "
    "beat = make_beat(VALUE, stop - base, 1, 0)": ("the low of a value is read nowhere"),
    "stepgen/hw/units/expand/model.py: count=params.count or 0, -> count=params.count or 1,": (
        "with a reference the count is read nowhere"
    ),
    "stepgen/hw/units/flatten/rtl.py: with m.Elif(low > hi): -> with m.Elif(low >= hi):": (
        "the branch before has taken the case of equality"
    ),
    "stepgen/hw/units/load/rtl.py: behind = Signal(range(many + 1), init=few - first) -> "
    "behind = Signal(range(many + 2), init=few - first)": (
        "a wider register, whose value is the same"
    ),
    "stepgen/hw/units/memory/model.py: push(M, M[a + P.under_way], t, 0) -> push(M, M[a "
    "+ P.under_way], t, 1)": ("what the beat says is read nowhere"),
    "stepgen/hw/units/memory/model.py: wait = ready(M, M[a + P.owners], t) -> wait = 0": (
        "the owner of a burst is in the queue before its first word can come"
    ),
    "stepgen/hw/units/partition/model.py: M[a + P.ended] = 0 -> pass": (
        "the run is over, and the next one begins with a new model"
    ),
    "stepgen/hw/units/retile_col/model.py: if low > TILE_LEVELS: -> if low > (TILE_LEVELS + 1):": (
        "no chunk is empty, so empty groups are above the chunk's level, which is 3 at least"
    ),
    "stepgen/hw/units/retile_col/model.py: if stop >= TILE_LEVELS: -> "
    "if stop >= (TILE_LEVELS + 1):": (
        "what ends in the last tile of a chunk ends a row alone, or the chunk, from level 3 on"
    ),
    "stepgen/hw/units/store/rtl.py: fire.eq(x.valid & wdata.ready & wreq.ready & "
    "bursts.w.ready), -> fire.eq((wdata.ready) & wreq.ready & bursts.w.ready),": (
        "all that a beat does asks for x.valid once more"
    ),
    "stepgen/timing/kernel.py: looks += 1 -> looks += 0": (
        "only how often Python gets control, and actors are counted too"
    ),
    "stepgen/hw/units/memory/model.py: push(M, M[a + P.acks + pop(M, M[a + P.owners], t)], t,"
    " 0) -> push(M, M[a + P.acks + pop(M, M[a + P.owners], t + 1)], t, 0)": (
        "nobody asks it for space: the bursts under way are counted in another queue"
    ),
    "stepgen/hw/units/axi/model.py: pop(M, M[a + P.turns], t) -> pop(M, M[a + P.turns], t + 1)": (
        "nobody asks it for space: the bursts under way are counted in another queue"
    ),
    "stepgen/hw/units/axi/model.py: push(M, M[a + P.written], t, 0) -> push(M, M[a + "
    "P.written], t, 1)": ("what the beat says is read nowhere"),
    "stepgen/hw/units/reshape/model.py: push(M, M[a + P.padding], t, make_beat(VALUE, known, "
    "0, 1)) -> push(M, M[a + P.padding], t, make_beat(VALUE, known, 0, 2))": (
        "of a flag only whether it is 0 is asked"
    ),
    "stepgen/hw/units/one_hot/model.py: push(M, y, t, make_beat(BARE, stop, 1, 0)) -> push(M,"
    " y, t, make_beat(BARE, stop, 1, 1))": ("an empty token has no aux field"),
    "stepgen/hw/units/load/model.py: beat = make_beat(BARE, stop_of(beat) + raised, "
    "low_of(beat) + raised, 0) -> beat = make_beat(BARE, stop_of(beat) + raised, low_of(beat)"
    " + raised, 1)": ("an empty token has no aux field"),
    "stepgen/hw/units/drop/model.py: M[a + P.held] = make_beat(BARE, stop_of(beat), "
    "TILE_LEVELS + 1, 0) -> M[a + P.held] = make_beat(BARE, stop_of(beat), TILE_LEVELS + 1, "
    "1)": ("an empty token has no aux field"),
    "stepgen/hw/units/load/model.py: return ANY if seen < 0 and known <= 0 else t + 1 -> "
    "return ANY if seen < 1 and known <= 0 else t + 1": ("it is not READY there, which is 0"),
    "stepgen/hw/units/partition/model.py: if kind_of(selector) == DONE or above != "
    "(kind_of(selector) == BARE): -> if (kind_of(selector) == DONE and above != "
    "(kind_of(selector) == BARE)):": ("it holds for no valid program"),
    "stepgen/hw/units/store/rtl.py: left = Signal(range(capacity + 1), init=capacity) -> left"
    " = Signal(range(capacity + 2), init=capacity)": ("a wider register, whose value is the same"),
    "stepgen/hw/units/accumulate/rtl.py: self._put = Signal() # a beat updates the state -> "
    "self._put = Signal(reset_less=True) # a beat updates the state": (
        "what a beat before the reset still writes, the next chunk writes before it reads"
    ),
    "stepgen/hw/units/accumulate/rtl.py: stop = Signal.like(y.payload.stop) -> stop = "
    "Signal.like(y.payload.stop, reset_less=True)": ("a payload, which is read while it is valid"),
    "stepgen/hw/units/top_k/model.py: aux = 0 -> aux = 1": (
        "a score is neither a flag nor a selector, and only their aux fields are read"
    ),
    "stepgen/hw/units/matmul/model.py: layout.horizon = max(layout.horizon, longest + 2) -> "
    "layout.horizon = max(layout.horizon, longest + 1)": (
        "a step waits for less than a turn, which is less than either"
    ),
    "stepgen/hw/units/retile_col/rtl.py: row = Signal(range(rows + 1)) -> row = "
    "Signal(range(rows + 2))": ("a wider register, whose value is the same"),
    "stepgen/hw/units/accumulate/rtl.py: leaving, low = leaving[: len(stop)], low[: "
    "len(stop)] -> leaving, low = leaving[: len(low)], low[: len(stop)]": (
        "what is more than a stop is cut off where it is assigned"
    ),
    "stepgen/hw/units/matmul/n_inside.py: out = stop - folds * (stop > TILE_LEVELS) -> out = "
    "stop - folds * (stop > (TILE_LEVELS - 1))": (
        "of a sum of tiles no beat with that stop is sent"
    ),
    "stepgen/hw/units/accumulate/rtl.py: sending, blank, empty = Signal(), Signal(), "
    "Signal() -> sending, blank, empty = Signal(), Signal(), Signal(reset_less=True)": (
        "it is read while a state is sent, and set when that begins"
    ),
    "stepgen/hw/units/source/rtl.py: closed, is_open = Signal(), Signal() -> closed, "
    "is_open = Signal(reset_less=True), Signal()": (
        "after a reset nothing runs, and while nothing runs it is cleared"
    ),
    "stepgen/hw/counters.py: ring = Signal(BANK) -> ring = Signal(BANK, reset_less=True)": (
        "what a reset leaves in it adds zeros, and has left it before a run can start"
    ),
    "stepgen/hw/units/eager_merge/model.py: later |= room(M, c, t) > 0 -> later |= room(M, c, t) "
    ">= 0": ("the step asks more often and acts in the same cycles"),
    "stepgen/hw/units/matmul/model.py: if M[a + C.free] >= 0: -> if M[a + C.free] >= 1:": (
        "it is -1 or the address of a channel, which is not 0"
    ),
    "stepgen/hw/units/matmul/model.py: if wait == READY and M[a + C.starts] >= 0: -> if wait == "
    "READY and M[a + C.starts] >= 1:": ("it is -1 or the address of a channel, which is not 0"),
    "stepgen/hw/units/matmul/model.py: used=-1, -> used=-2,": (
        "only whether it is negative counts"
    ),
    'stepgen/timing/design_layout.py: number, levels = -1 if self.logged == "nothing" else index, '
    'rewritten.get(c.name, 0) -> number, levels = -2 if self.logged == "nothing" else index, '
    "rewritten.get(c.name, 0)": ("only whether it is negative counts"),
    "stepgen/hw/units/count/model.py: beat = make_beat(VALUE, stop - closing, 0, number) -> beat = "
    "make_beat(VALUE, stop - closing, 1, number)": ("the low of a value is read nowhere"),
    'stepgen/hw/units/calculate/rtl.py: return Mux(larger if operation == "larger" else ~larger, '
    'a, b), Const(0, 1) -> return Mux(larger if operation == "larger" else ~larger, a, b), '
    "Const(0, 0)": ("zeros of no bits are a zero, too"),
    "stepgen/hw/run_control.py: m.d.comb += starts.eq(self.start & ~(self.running | self.stop | "
    "self.stopping | clear[-1])) -> m.d.comb += starts.eq(self.start & ~(self.running | self.stop "
    "| self.stopping | clear[-2]))": ("while the parts are reset it is stopping, too"),
    "stepgen/hw/units/locate/rtl.py: (delayed(m, one, 1, reset_less=True), Const(n, max(1, (lanes "
    "- 1).bit_length()))) -> (delayed(m, one, 1, reset_less=True), Const(n, max(2, (lanes - "
    "1).bit_length())))": ("a wider number, whose value is the same"),
    'stepgen/hw/units/loader/rtl.py: own, last = f"count_{k}", Signal() -> own, last = '
    'f"count_{k}", Signal(reset_less=True)': ("it is no register"),
    "stepgen/hw/units/loader/rtl.py: is_tile, comes, sends = Signal(), Signal(), Signal() -> "
    "is_tile, comes, sends = Signal(reset_less=True), Signal(), Signal()": ("it is no register"),
    "stepgen/hw/units/turn_slices/rtl.py: address = Signal(range(banks[0].depth)) # of the slice "
    "-> address = Signal(range(banks[1].depth)) # of the slice": ("all banks are as deep"),
    "stepgen/hw/units/span/rtl.py: m.d.comb += y.payload.data.eq(0) -> pass": (
        "it is 0 where nothing drives it"
    ),
    'stepgen/hw/units/calculate/rtl.py: return Mux(larger if operation == "larger" else ~larger, '
    'a, b), Const(0, 1) -> return Mux(larger if operation == "larger" else ~larger, a, b), '
    "Const(0, 2)": ("two zeros are a zero, too"),
}
