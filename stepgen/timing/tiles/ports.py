"""First fields of the records of off-chip memories and their ports, for both memory models."""

from __future__ import annotations

from stepgen.timing.kernel import offsets

MEMORY = offsets("kind")
KIND_SIMPLE, KIND_DRAM = range(2)

PORT = offsets("model", "rate", "left", "at", "done")
"""The memory; requests issued per cycle; requests left of this transfer; the cycle of the next
step; and, when all requests are issued, the cycle of the last response."""
