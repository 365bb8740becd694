"""The functions of stepgen, and the base classes for functions of users' own.

Each is one class: parameters, type rule, operation counts, golden model.
"""

from stepgen.functions import (
    addressing,
    arithmetic,
    choosing,
    cutting,
    elementwise,
    locating,
    logic,
    masking,
    products,
    reductions,
    retiling,
)
from stepgen.functions.bases import Binary, Constant, Folding, Running, Unary
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.dtypes import FLOATS, NUMBERS
from stepgen.ir.function import Cut, Folded, Mapped, Scanned
from stepgen.ir.pieces import Pieces
from stepgen.ir.setting import Setting

__all__ = [
    "FLOATS",
    "NUMBERS",
    "Binary",
    "Constant",
    "Cut",
    "Folded",
    "Folding",
    "Lane",
    "Mapped",
    "Pieces",
    "Running",
    "Scanned",
    "Setting",
    "Unary",
    "addressing",
    "arithmetic",
    "choosing",
    "cutting",
    "elementwise",
    "locating",
    "logic",
    "masking",
    "products",
    "reductions",
    "retiling",
]
