"""Mutants that do what they did before, with the reason."""

EQUIVALENT = {
    "stepgen/hw/fifo.py: level = Signal(range(depth + 1)) -> level = Signal(range(depth + 2))": (
        "a wider register, whose value is the same"
    ),
    "stepgen/hw/units/axi/model.py: M[a + P.offered] = 1 -> M[a + P.offered] = 2": (
        "only whether it is 0 is asked"
    ),
    "stepgen/hw/units/drop/model.py: if ready(M, flags, t) != READY and then != NEVER: "
    "-> if (ready(M, flags, t) != READY or then != NEVER):": (
        "the step asks more often and acts in the same cycles"
    ),
    "stepgen/hw/units/expand/model.py: beat = make_beat(VALUE, stop - base, 0, 0) -> "
    "beat = make_beat(VALUE, stop - base, 1, 0)": ("the low of a value is read nowhere"),
    "stepgen/hw/units/expand/model.py: count=params.count or 0, -> count=params.count or 1,": (
        "with a reference the count is read nowhere"
    ),
    "stepgen/hw/units/expand/rtl.py: m.d.sync += [ahead.eq(Mux(self.w_en, level + 1, "
    "level)), self.r_valid.eq(1)] -> m.d.sync += [ahead.eq(Mux(self.w_en, level + 1, "
    "level)), []]": ("a word is read in that cycle, so it is 1 already"),
    "stepgen/hw/units/flatten/rtl.py: with m.Elif(low > hi): -> with m.Elif(low >= hi):": (
        "the branch before has taken the case of equality"
    ),
    "stepgen/hw/units/load/model.py: words_per_beat=max(1, beat_bits // word_bits), -> "
    "words_per_beat=max(0, beat_bits // word_bits),": (
        "both the 0 and the 1 mean that a word is no part of a beat"
    ),
    "stepgen/hw/units/load/rtl.py: behind = Signal(range(walk.words + 1), "
    "init=walk.words - first) -> behind = Signal(range(walk.words + 2), init=walk.words "
    "- first)": ("a wider register, whose value is the same"),
    "stepgen/hw/units/memory/model.py: push(M, M[a + P.under_way], t, 0) -> push(M, M[a "
    "+ P.under_way], t, 1)": ("what the beat says is read nowhere"),
    "stepgen/hw/units/memory/model.py: wait = ready(M, M[a + P.owners], t) -> wait = 0": (
        "the owner of a burst is in the queue before its first word can come"
    ),
    "stepgen/hw/units/partition/model.py: M[a + P.ended] = 0 -> pass": (
        "the run is over, and the next one begins with a new model"
    ),
    "stepgen/hw/units/reshape/model.py: if params.level or y.bits != 1: -> if "
    "(params.level and y.bits != 1):": (
        "streams of level 0 have lanes of one bit, others have not"
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
    "stepgen/hw/accelerator.py: clear = Signal() -> clear = Signal(reset_less=True)": (
        "after a reset it is low in the next cycle, and till then there is nothing to clear"
    ),
    "stepgen/timing/kernel.py: looks += 1 -> looks += 0": (
        "only how often Python gets control, and actors are counted too"
    ),
}
