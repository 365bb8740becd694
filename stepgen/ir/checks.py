"""Checks of a complete program."""

from __future__ import annotations

from stepgen.ir.dtypes import Buffer
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph


def check(graph: Graph) -> None:
    """Check that a program is complete.

    Parameters
    ----------
    graph : Graph
        The program.

    Raises
    ------
    StepError
        If the program has no output or store, a feedback is not connected, or a stream is unused.
    """
    for feedback in graph.feedbacks:
        if feedback.source is None:
            raise StepError(
                f"feedback {feedback.label} at {feedback.where} of {feedback.declared} is never "
                f"connected, give it its stream with connect()"
            )
    if not any(node.face.is_sink for node in graph.nodes):
        raise StepError(
            f"the graph {graph.name} has no output and stores nothing, add graph.output(stream, "
            f"name) or a store"
        )
    used = {stream for node in graph.nodes for stream in node.inputs}
    for node in graph.nodes:
        face = node.face
        for port, stream in enumerate(node.outputs):
            optional = port in face.optional_outputs and (face.is_sink or len(node.outputs) > 1)
            if stream not in used and not optional:
                refers = isinstance(stream.dtype, Buffer)
                what = "what streamify reads of it" if refers else "it"
                raise StepError(
                    f"{node.op} at {node.where}: nothing reads {stream.name}, {stream}; use it or "
                    f"make {what} an output of the graph"
                )
