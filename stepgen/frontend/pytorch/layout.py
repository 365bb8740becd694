"""Operations of an exported program that move numbers: views, transpositions, parts."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from stepgen.frontend.kinds.heads import Heads
from stepgen.frontend.kinds.split import Split
from stepgen.frontend.pytorch.values import Val, Values


class Layout(Values):
    """Follows which dim is which; heads and splits become operations of the model."""

    def _on_view(self, x: Any, *_: Any) -> Val:
        value = self._value(x)
        core = [
            int(n) if isinstance(n, int) else "T" for n in self.node.meta["val"].shape if n != 1
        ]
        old = value.dims.replace("1", "")
        wide = [n for n in core if n != "T"]
        if "T" not in core or old[:1] != "T" or core[0] != "T":
            raise self._fail("it mixes tokens with other dims")
        if len(core) == len(old) or (value.heads and len(core) == 2 and len(old) == 2):
            dims, made = old, value
        elif len(core) == len(old) - 1 and old == "THD":
            made = replace(self._rows(value), width=int(wide[0]))
            dims = "TD"
        elif len(core) == len(old) + 1 and old == "TD":
            made = replace(value, width=int(wide[-1]), heads=True)
            made = replace(made, handle=self._add(Heads(int(wide[-1])), value))
            dims = "THD"
        else:
            raise self._fail(f"it makes {core} of a value of dims {value.dims}")
        return replace(made, dims=_with_ones(dims, self.node.meta["val"].shape))

    _on_reshape = _on__unsafe_view = _on_flatten = _on_unflatten = _on_view

    def _on_transpose(self, x: Any, a: int, b: int) -> Val:
        value = self._value(x)
        dims = [*value.dims]
        dims[a], dims[b] = dims[b], dims[a]
        return replace(value, dims="".join(dims))

    def _on_permute(self, x: Any, order: Any) -> Val:
        value = self._value(x)
        return replace(value, dims="".join(value.dims[i] for i in order))

    def _on_unsqueeze(self, x: Any, dim: int) -> Val:
        value = self._value(x)
        at = dim % (len(value.dims) + 1)
        return replace(value, dims=f"{value.dims[:at]}1{value.dims[at:]}")

    def _on_squeeze(self, x: Any, dim: int) -> Val:
        value = self._value(x)
        at = dim % len(value.dims)
        return replace(value, dims=value.dims[:at] + value.dims[at + 1 :])

    def _on_select(self, x: Any, dim: int, index: int) -> Val:
        value = self._value(x)
        if value.dims[dim] != "1":
            raise self._fail(f"it takes one of the dim {value.dims[dim]}")
        return self._on_squeeze(x, dim)

    def _on_expand(self, x: Any, *_: Any, **__: Any) -> Val:
        value = self._value(x)
        if tuple(x.meta["val"].shape) != tuple(self.node.meta["val"].shape):
            raise self._fail("it repeats a value")
        return value

    def _on_slice(
        self, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
    ) -> Val:
        value, size = self._value(x), x.meta["val"].shape[dim]
        whole = start in (None, 0) and (end is None or end == sys.maxsize or end is size)
        if whole and step == 1:
            return value
        columns = dim % len(value.dims) == len(value.dims) - 1 and value.dims[-1] == "D"
        if not columns or step != 1 or value.heads:
            raise self._fail(f"it takes a part of the dim {value.dims[dim]}")
        first = (start or 0) % value.width
        last = value.width if end in (None, sys.maxsize) else end % (value.width + 1)
        return self._columns(value, first, last - first)

    def _columns(self, value: Val, first: int, count: int) -> Val:
        return replace(value, handle=self._add(Split(first, count), value), width=count)

    def _on_split(self, x: Any, *_: Any) -> None:
        value, first = self._rows(self._value(x)), 0
        parts = []
        for tensor in self.node.meta["val"]:
            count = int(tensor.shape[-1])
            parts.append(self._columns(value, first, count))
            first += count
        if first != value.width:
            raise self._fail("it splits another dim than the last one")
        self.parts[self.node] = parts

    _on_split_with_sizes = _on_chunk = _on_split


def _with_ones(dims: str, shape: Any) -> str:
    """Letters of dims for a shape, of which those of one are between them."""
    left, made = [*dims], ""
    for extent in shape:
        made += "1" if extent == 1 else left.pop(0)
    return made + "".join(left)
