"""Which streams of address ranges have the same lengths, one by one."""

from __future__ import annotations

from collections.abc import Hashable

from stepgen.ir.stream import Stream


def lengths_of(ranges: Stream) -> Hashable:
    """What decides the lengths of a stream's ranges: equal if all of them are.

    It is the stream in which they were made, or that of the lengths alone, with every repetition
    since. Forks and dims that are added or joined change nothing.
    """
    stream, repeated = ranges, []
    while True:
        node = stream.node
        if node.face.keeps_tiles:
            x = node.inputs[0]
            if stream.totals[0] != x.totals[0]:
                rank = node.face.repeats(node)
                if not rank:
                    break
                repeated.append((rank, *stream.shape))
        elif node.face.computes and (operand := node.attrs["fn"].length_operand) is not None:
            x = node.inputs[operand]
        else:
            break
        stream = x
    return (stream, *repeated) if repeated else stream
