"""Circuits of operations on bits."""

from amaranth.hdl import Mux

from stepgen.hw.arithmetic.circuits.stages import Stages

__all__ = ["choose", "combine", "logic"]

_COMBINE = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "where": lambda flags, a, b: (flags & a) | (~flags & b),
}


def combine(operation, *operands):
    """An operation on each bit of operands of equal width."""
    return _COMBINE[operation](*operands)


def logic(m, operation, *operands):
    """The same in a stage."""
    s = Stages(m)
    s.then(made=combine(operation, *operands)[: len(operands[0])])
    return s.made, s.count


def choose(m, flag, a, b):
    """`a` where the flag is set, else `b`."""
    s = Stages(m)
    s.then(chosen=Mux(flag, a, b))
    return s.chosen, s.count
