"""Mutants that do what they did before, with the reason."""

EQUIVALENT = {
    "stepgen/hw/units/memory/model.py: wait = ready(M, M[a + P.owners], t) -> wait = 0": (
        "the owner of a burst is in the queue before its first word can come"
    ),
    "stepgen/timing/kernel.py: looks += 1 -> looks += 0": (
        "only how often Python gets control, and actors are counted too"
    ),
    "stepgen/hw/units/reshape/model.py: if params.level or y.bits != 1: -> "
    "if (params.level and y.bits != 1):": "streams of level 0 have lanes of one bit, others not",
    "stepgen/hw/units/partition/model.py: M[a + P.ended] = 0 -> pass": (
        "the run is over, and the model of the next one is a new one"
    ),
}
