"""Reading and writing single words of a board."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ADDRESS_BITS", "Access"]

ADDRESS_BITS = 32


class Access(wiring.Signature):
    """One word of 32 bits after the other, seen from where it is asked for.

    ``valid``, and with it what is asked for, stays until ``done``, for one cycle. Then ``found``
    holds the word that was read, and ``refused`` is high if there is no such word.
    """

    def __init__(self):
        super().__init__(
            {
                "valid": Out(1),
                "write": Out(1),
                "address": Out(ADDRESS_BITS),
                "word": Out(32),
                "done": In(1),
                "found": In(32),
                "refused": In(1),
            }
        )
