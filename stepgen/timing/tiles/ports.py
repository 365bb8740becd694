"""How records of off-chip memories and of the ports to them begin, whichever model answers."""

from __future__ import annotations

from ..kernel import offsets

MEMORY = offsets("kind")
KIND_SIMPLE, KIND_DRAM = range(2)

PORT = offsets("model", "rate", "left", "at", "done")
"""The memory; requests offered in a cycle; what is left to offer of this piece; when to look again;
and when all is offered, when the last answer is there."""
