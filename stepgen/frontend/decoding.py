"""Decoding: programs of a model, run after run on one memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, Literal

import numpy as np

from stepgen.frontend.lowering import COLUMNS, fed, lower, sizes_of
from stepgen.frontend.model import Model
from stepgen.frontend.sharing import Sharing
from stepgen.frontend.state import check_room
from stepgen.frontend.weight import Array
from stepgen.frontend.writing import WRITTEN, written
from stepgen.ir.dtypes import ElementType, bf16
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.lanes import Lanes
from stepgen.ir.wire import LANES
from stepgen.semantics import executor


class Programs:
    """Programs of a model on one memory: one decodes, another takes chunks of a prompt.

    Parameters
    ----------
    model : Model
    phase : {"decode", "write"}
        What a run of the first program does.
    element, columns, cache, tile, batch, last, tile_rows, tile_cols, array
        As for `stepgen.frontend.lower`.
    chunk : int or None
        Tokens of a chunk; without it there is no program for them.
    lanes : int or mapping of str to int
        Lanes of a slice, which decide the order of floating-point sums.

    Attributes
    ----------
    model : Model
    graph : Graph
        The program that decodes: a run takes one token of each request. Or the one that writes.
    prefill : Graph or None
        The program for chunks.
    memory : dict of str to array
        The contents of their tensors, with the caches as they are now.

    Raises
    ------
    StepError
        If the model can't be lowered.
    """

    def __init__(
        self,
        model: Model,
        *,
        phase: Literal["decode", "write"] = "decode",
        element: ElementType | Literal["bf16", "f32"],
        columns: int,
        cache: int | None,
        tile: int | None,
        batch: int,
        chunk: int | None,
        last: bool,
        lanes: Lanes,
        tile_rows: int | None,
        tile_cols: int | None,
        array: Sharing,
    ) -> None:
        self.model, self.lanes = model, lanes
        given: dict[str, Any] = {"cache": cache, "tile": tile, "batch": batch}
        named: dict[str, Any] = {**given, "element": element, "columns": columns}
        named |= {"tile_rows": tile_rows, "tile_cols": tile_cols, "array": array}
        self.graph, self.memory = lower(model, phase=phase, **named)
        self.prefill: Graph | None = None
        sizes = sizes_of(model, phase, **given)
        assert sizes is not None
        self.sizes = self.chunks = sizes
        if chunk is not None:
            several: dict[str, Any] = {"phase": "prefill", "rows": chunk, "last": last}
            self.prefill, more = lower(model, **several, **named, data=False)
            self.memory |= more  # contents that decide what runs
            chunks = sizes_of(model, **several, **given)
            assert chunks is not None
            self.chunks = chunks

    def program(self, tokens: int) -> Graph:
        """That for a run of so many tokens of a request."""
        return self.graph if tokens == 1 or self.prefill is None else self.prefill

    def pieces(self, filled: int, count: int) -> Iterator[int]:
        """How many of so many tokens each run takes, behind those in the caches of a request.

        Chunks begin behind a multiple of their tokens; others are decoded one by one.
        """
        chunk, end = self.chunks.chunk or 1, filled + count
        while filled < end:
            size = 1 if filled % chunk else min(chunk, end - filled)
            yield size
            filled += size

    def keep(self, graph: Graph, result: executor.Result) -> dict[str, Array]:
        """Go on with the memory of a run of a program; give its outputs."""
        self.memory |= {name: result.tensors[name] for name in result.stored}
        return self.values(graph, result.nested)

    def values(self, graph: Graph, nested: Callable[[str], Any]) -> dict[str, Array]:
        """The model's outputs as real numbers, of what a run of a program gives by stream.

        Of a program that writes, ``written``: the id that follows each token.
        """
        if self.sizes.writes:
            return {WRITTEN: written(nested)}
        found = {}
        for name, stream in zip(self.model.outputs, graph.outputs, strict=True):
            value = self.model.types[name]
            made = np.array(nested(stream), np.float64)
            found[name] = value.real(made.reshape(-1, *value.shape[1:]))
        return found


class Decoder(Programs):
    """A model that decodes: the memory after one run is that of the next.

    Parameters
    ----------
    model : Model
    element, columns, cache, tile, tile_rows, tile_cols, array
        As for `stepgen.frontend.lower`.
    chunk : int, optional
        Tokens that a run takes of a prompt, on the same memory; without it, one. Tiles of the
        caches have a multiple of them.
    last : bool
        Whether chunks give outputs of their last tokens alone, so that `run` gives one row.
    writes : bool
        Whether a run takes any number of ids and chooses those that follow, without a host: each
        the number of the largest output, of those that stand for characters if some do. Its output
        is ``written``, the id behind each of its tokens.
    lanes : int or mapping of str to int
        Lanes of a slice, which decide the order of floating-point sums.

    Attributes
    ----------
    model : Model
    graph, prefill : Graph
        The program that decodes, and with `chunk` that for chunks.
    memory : dict of str to array
        The contents of their tensors, with the caches as they are now.
    rows : int
        Tokens in the caches.
    outputs : dict of str to array
        What the last run gave.

    Raises
    ------
    StepError
        If the model can't be lowered.

    Examples
    --------
    >>> decoder = sg.frontend.Decoder(model, cache=64, chunk=16)
    >>> logits = decoder.run({"ids": prompt})["logits"]
    >>> logits = decoder.run({"ids": [logits[-1].argmax()]})["logits"]
    >>> writer = sg.frontend.Decoder(model, cache=64, writes=True)
    >>> text = writer.run({"ids": prompt}, more=16)["written"]
    """

    def __init__(
        self,
        model: Model,
        *,
        element: ElementType | Literal["bf16", "f32"] = bf16,
        columns: int = COLUMNS,
        cache: int | None = None,
        tile: int | None = None,
        chunk: int | None = None,
        last: bool = False,
        writes: bool = False,
        lanes: Lanes = LANES,
        tile_rows: int | None = None,
        tile_cols: int | None = None,
        array: Sharing = "own",
    ) -> None:
        if writes and (last or chunk is not None):
            raise StepError(
                f"{model.name}: a program that writes takes all of a prompt token by token: leave "
                "chunk and last out"
            )
        super().__init__(
            model,
            phase="write" if writes else "decode",
            element=element,
            columns=columns,
            cache=cache,
            tile=tile,
            batch=1,
            chunk=chunk,
            last=last,
            lanes=lanes,
            tile_rows=tile_rows,
            tile_cols=tile_cols,
            array=array,
        )
        self.rows = 0
        self.outputs: dict[str, Array] = {}

    def inputs(self, given: Mapping[str, Any], more: int = 0) -> dict[str, Any]:
        """Contents of all input streams and tensors for the next run.

        Parameters
        ----------
        given : mapping of str to array
            The model's inputs, of one token, or of those of a chunk.
        more : int
            How many tokens follow, of a program that writes.

        Raises
        ------
        StepError
            If they do not fit, an id is past its table, or the caches are full.
        """
        return {**self.memory, **self.streams(given, more)}

    def streams(self, given: Mapping[str, Any], more: int = 0) -> dict[str, Any]:
        """Contents of the input streams alone, for a machine that keeps the tensors.

        Parameters and errors as of `inputs`.
        """
        several = any(len(np.asarray(array)) > 1 for array in given.values())
        sizes = self.chunks if several else self.sizes
        return fed(self.model, given, sizes, self.rows, more=more)

    def took(self, outputs: Mapping[str, Any], tokens: int = 1) -> dict[str, Array]:
        """Go on behind a run of so many tokens on a machine that keeps the tensors.

        Parameters
        ----------
        outputs : mapping
            Nested lists of tiles by the names of output streams.
        tokens : int

        Returns
        -------
        dict of str to array
            The model's outputs for these tokens.
        """
        self.rows += tokens
        found = self.values(self.program(tokens), outputs.__getitem__)
        self.outputs = {name: array[:tokens] for name, array in found.items()}
        return self.outputs

    def after(self, result: executor.Result, tokens: int = 1) -> dict[str, Array]:
        """Go on with the memory of a run of so many tokens; give the model's outputs for them."""
        self.rows += tokens
        found = self.keep(self.program(tokens), result)
        self.outputs = {name: array[:tokens] for name, array in found.items()}
        return self.outputs

    def run(self, inputs: Mapping[str, Any], more: int = 0) -> dict[str, Array]:
        """Tokens one after the other, or in chunks, by the reference.

        Parameters
        ----------
        inputs : mapping of str to array
            The model's inputs, of any number of tokens that fits the caches.
        more : int
            How many tokens follow, of a program that writes: the last `more` + 1 that it gives are
            new.

        Returns
        -------
        dict of str to array
            Outputs, as `Model.run` gives them; with `last` those of the last token.

        Raises
        ------
        StepError
            As of `inputs`.
        """
        made = []
        for one in self.tokens(inputs):
            count = len(next(iter(one.values()))) + more
            inputs_of_run = self.inputs(one, more)
            result = executor.run(self.program(count), inputs_of_run, lanes=self.lanes)
            made.append(self.after(result, count))
        if self.chunks.last:
            return {name: array[-1:] for name, array in made[-1].items()}
        return {name: np.concatenate([one[name] for one in made]) for name in made[0]}

    def tokens(self, inputs: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
        """Inputs of each run: of a token by itself, or of a chunk.

        Raises
        ------
        StepError
            If they do not fit, before the first run.
        """
        arrays = {name: self.model.taken(name, inputs[name]) for name in inputs}
        count = len(fed(self.model, inputs)[next(iter(inputs))])
        check_room(self.sizes.rows, self.rows, count, self.model.name)
        pieces = [count] if self.sizes.writes else self.pieces(self.rows, count)
        ends = accumulate(pieces, initial=0)
        return (
            {name: array[begin:end] for name, array in arrays.items()}
            for begin, end in pairwise(ends)
        )
