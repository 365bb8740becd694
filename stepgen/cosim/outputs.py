"""What a run gave, as the streams of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepgen.cosim.payload import Rows, unpack
from stepgen.emit.interface import StreamPort
from stepgen.ir.dtypes import address
from stepgen.ir.graph import Graph
from stepgen.ir.wire import check_numbers
from stepgen.semantics.decoding import from_beats
from stepgen.semantics.tokens import Token, decode


def tokens_of(
    graph: Graph, ports: Sequence[StreamPort], outputs: Mapping[str, Rows]
) -> dict[str, tuple[list[Token], int]]:
    """Tokens and ranks of output streams, of their payloads.

    Parameters
    ----------
    graph : Graph
        The program.
    ports : sequence of StreamPort
        Where they come out.
    outputs : mapping of str to uint8 array of shape [beats, bytes of a payload]
    """
    found = {}
    for port in ports:
        type = graph.outputs[port.name].type
        beats = unpack(outputs[port.name], port)
        if port.element == address.name:
            check_numbers(f"output {port.name}", beats.data, port.bits)
        found[port.name] = from_beats(beats, type), type.rank
    return found


def nested(
    graph: Graph, ports: Sequence[StreamPort], outputs: Mapping[str, Rows]
) -> dict[str, Any]:
    """Output streams as nested lists of tiles; parameters as of `tokens_of`."""
    return {
        name: decode(tokens, rank, name)
        for name, (tokens, rank) in tokens_of(graph, ports, outputs).items()
    }
