"""Tiles of a tensor that are cut, joined, buffered, repeated: in the innermost dims of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from stepgen.ir.function import Function
from stepgen.ir.stream import Stream


@dataclass(frozen=True)
class Tiles:
    """The innermost dims of a stream, which bring a tensor; the outer ones stay as they are.

    What is made of one stream twice is the same operator, so two readings of the same chunks share
    a buffer.

    Attributes
    ----------
    stream : Stream
    inner : int
        Number of dims that bring the tensor. They are static; with 0 each tile is one.
    """

    stream: Stream
    inner: int

    @property
    def outer(self) -> int:
        """Number of the dims that stay."""
        return len(self.stream.shape) - self.inner

    @property
    def dims(self) -> list[int]:
        """Extents of the inner dims."""
        return [dim.static or 0 for dim in self.stream.shape[self.outer :]]

    def in_dims(self, dims: Sequence[int]) -> Tiles:
        """The same tiles in other dims."""
        if not (dims or self.outer):
            dims = [1]  # a stream has a dim
        if self.dims == [*dims]:
            return self
        x, high = self.stream, self.inner - 1
        if not self.inner:
            x = _once(x, "promote", lambda: self.stream.promote(0), level=0)
        if high > 0:
            x = _once(x, "flatten", lambda: self.stream.flatten(0, high), lo=0, hi=high)
        if not dims:
            return Tiles(_flat(x), 0)
        for level, extent in enumerate(reversed(dims[1:])):
            x = _reshaped(x, level, extent)
        return Tiles(x, len(dims))

    def cut(self, function: Function) -> Tiles:
        """Each tile as those that a function makes of it."""
        x = self.in_dims([prod(self.dims)]) if self.inner > 1 else self
        rank = int(not x.inner)
        made = _once(
            x.stream, "flat_map", lambda: x.stream.flat_map(function, rank=rank), fn=function
        )
        return Tiles(made, 1)

    def joined(self, count: int, function: Function) -> Tiles:
        """So many tiles at a time as the one that a function makes of them."""
        total = prod(self.dims)
        whole = total == count and self.outer > 0
        x = self.in_dims([count] if whole else [total // count, count])
        made = _once(
            x.stream, "accum", lambda: x.stream.accum(function, rank=1), fn=function, rank=1
        )
        return Tiles(made, x.inner - 1)

    def read(self, shape: Sequence[int], stride: Sequence[int]) -> Tiles:
        """The tiles of the innermost dim in a buffer, and read from there."""
        x = self.stream
        buffer = _once(x, "bufferize", lambda: x.bufferize(rank=1), rank=1)
        return Tiles(buffer.streamify(shape=shape, stride=stride), self.inner - 1 + len(shape))

    def repeated(self, count: int) -> Tiles:
        """Each tile so many times."""
        return Tiles(self.stream.promote(0).expand(count=count), self.inner + 1)


def _flat(x: Stream) -> Stream:
    return _once(x, "flatten", lambda: x.flatten(0, 1), lo=0, hi=1)


def _reshaped(x: Stream, level: int, chunk: int) -> Stream:
    def make() -> Stream:
        made: Any = x.reshape(dim=level, chunk=chunk)
        reshaped: Stream = made[0] if isinstance(made, tuple) else made
        return reshaped

    return _once(x, "reshape", make, dim=level, chunk=chunk)


def _once(x: Stream, op: str, make: Callable[[], Stream], **attrs: Any) -> Stream:
    """What such an operator makes of a stream, that of the program if it has one."""
    for node, _ in x.graph.consumers(x):
        same = all(node.attrs.get(name) == value for name, value in attrs.items())
        if node.op == op and len(node.inputs) == 1 and same:
            return node.outputs[0]
    return make()
