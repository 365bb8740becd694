"""Writes the Verilog of a row times a constant matrix, as da4ml makes it, into a folder.

Run as ``python constant_matrix.py FOLDER SIZE CUTOFF`` by a Python that has da4ml: rows and columns
of the matrix, and da4ml's ``latency_cutoff``, from which it places registers.
"""

import sys

import numpy as np
from da4ml.codegen import RTLModel
from da4ml.trace import FixedVariableArrayInput, comb_trace

SEED, ROWS = 0, 100
"""Of the drawn matrix; rows that are multiplied to check what was traced."""


def main(folder, size, cutoff):
    """Write the design ``constant_matrix``."""
    rng = np.random.default_rng(SEED)
    matrix = rng.integers(-128, 128, (size, size)).astype(np.float64)
    # A sign, 7 bits and no fraction: int8.
    x = FixedVariableArrayInput((size,)).quantize(
        np.ones(size, int), np.full(size, 7, int), np.zeros(size, int)
    )
    traced = comb_trace(x, x @ matrix)
    rows = rng.integers(-128, 128, (ROWS, size)).astype(np.float64)
    if not all(np.array_equal(np.ravel(traced(row)), row @ matrix) for row in rows):
        raise SystemExit("the traced circuit computes another product")
    RTLModel(traced, "constant_matrix", folder, flavor="verilog", latency_cutoff=cutoff).write()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
