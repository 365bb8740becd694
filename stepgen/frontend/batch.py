"""Batches: requests that decode together, and join and leave between tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from stepgen.frontend.decoding import Programs
from stepgen.frontend.lowering import COLUMNS, fed
from stepgen.frontend.model import Model
from stepgen.frontend.run import POSITIONS
from stepgen.frontend.sharing import Sharing
from stepgen.frontend.state import check_room
from stepgen.frontend.weight import Array
from stepgen.ir.dtypes import ElementType, bf16
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import Lanes
from stepgen.ir.wire import LANES
from stepgen.semantics import executor

IDS = "ids"


class Request:
    """A text in a batch.

    Attributes
    ----------
    place : int
        The number of its caches.
    ids : list of int
        Its tokens.
    rows : int
        How many of them are in its caches.
    """

    def __init__(self, place: int, ids: Sequence[int]) -> None:
        self.place, self.ids, self.rows = place, list(ids), 0

    def append(self, token: int) -> None:
        """Add a token, which the next step takes."""
        self.ids.append(int(token))

    def __repr__(self) -> str:
        return f"<request {self.place}: {self.rows} of {len(self.ids)} tokens>"


class Batch(Programs):
    """Requests with caches of their own: a run decodes a token of each.

    Linears read their weights once for all requests; attention sees the caches of one after the
    other, each of its own length. A place without a request decodes a token that nobody reads.

    Parameters
    ----------
    model : Model
        Its only input are ids, and positions.
    requests : int
        Most of them at a time.
    element, columns, cache, tile, tile_rows, tile_cols, array
        As for `stepgen.frontend.lower`; each request has `cache` rows.
    chunk : int, optional
        Tokens of a prompt that a run takes by another program, when a request is admitted. Without
        it prompts are decoded with the others, token by token.
    lanes : int or mapping of str to int
        Lanes of a slice, which decide the order of floating-point sums.

    Attributes
    ----------
    model : Model
    graph, prefill : Graph
        The program that decodes, and with `chunk` that for chunks.
    memory : dict of str to array
        The contents of their tensors, with the caches as they are now.
    requests : list of Request
        Those that are there.

    Raises
    ------
    StepError
        If the model can't be lowered, or has other inputs.

    Examples
    --------
    >>> batch = sg.frontend.Batch(model, requests=4, cache=64)
    >>> for prompt in prompts:
    ...     batch.admit(prompt)
    >>> while batch.requests:
    ...     for request, found in batch.step().items():
    ...         request.append(found["logits"].argmax())
    ...         if len(request.ids) == 32:
    ...             batch.leave(request)
    """

    def __init__(
        self,
        model: Model,
        *,
        requests: int = 4,
        element: ElementType | Literal["bf16", "f32"] = bf16,
        columns: int = COLUMNS,
        cache: int | None = None,
        tile: int | None = None,
        chunk: int | None = None,
        lanes: Lanes = LANES,
        tile_rows: int | None = None,
        tile_cols: int | None = None,
        array: Sharing = "own",
    ) -> None:
        if IDS not in model.inputs or not set(model.inputs) <= {IDS, POSITIONS}:
            raise StepError(
                f"{model.name}: requests are texts, so a model has the input {IDS} alone, not "
                f"{', '.join(model.inputs)}"
            )
        super().__init__(
            model,
            element=element,
            columns=columns,
            cache=cache,
            tile=tile,
            batch=requests,
            chunk=chunk,
            last=chunk is not None,
            lanes=lanes,
            tile_rows=tile_rows,
            tile_cols=tile_cols,
            array=array,
        )
        self.requests: list[Request] = []

    def admit(self, prompt: Sequence[int]) -> Request:
        """Let a request join; with `chunk`, take all tokens but the last one by the reference.

        Parameters
        ----------
        prompt : sequence of int
            Its first tokens, at least one.

        Raises
        ------
        StepError
            If all places are taken, or the prompt is empty, too long, or has ids past the table.
        """
        request = self.join(prompt)
        while (inputs := self.filling(request)) is not None:
            assert self.prefill is not None
            self.filled(request, executor.run(self.prefill, inputs, lanes=self.lanes))
        return request

    def join(self, prompt: Sequence[int]) -> Request:
        """As `admit`, without runs: those that `filling` has inputs of come before the next step.

        Raises
        ------
        StepError
            As of `admit`.
        """
        ids = np.asarray(self.model.taken(IDS, prompt))
        taken = {request.place for request in self.requests}
        free = [place for place in range(self.sizes.requests) if place not in taken]
        if not free:
            raise StepError(
                f"{self.model.name}: all {len(taken)} places are taken: let a request leave, or "
                f"make requests {len(taken) + 1}"
            )
        fed(self.model, {IDS: ids})  # checks them
        check_room(self.sizes.rows, 0, len(ids), self.model.name)
        request = Request(free[0], ids.tolist())
        self.requests.append(request)
        return request

    def filling(self, request: Request) -> dict[str, Any] | None:
        """Contents of streams and tensors for a run of `prefill` on a request's next tokens.

        Returns
        -------
        dict of str to array, or None
            None if the next step takes what is left: without `chunk` all, else the last token.
        """
        left = len(request.ids) - 1 - request.rows
        if self.prefill is None or left < 1:
            return None
        size = next(self.pieces(request.rows, left))
        ids = {IDS: np.array(request.ids[request.rows : request.rows + size])}
        inputs = fed(self.model, ids, self.chunks, request.rows, request.place)
        return {**self.memory, **inputs}

    def filled(self, request: Request, result: executor.Result) -> None:
        """Go on with the memory of such a run."""
        assert self.prefill is not None
        request.rows += next(self.pieces(request.rows, len(request.ids) - 1 - request.rows))
        self.keep(self.prefill, result)

    def leave(self, request: Request) -> None:
        """Let a request leave; its place is free.

        Raises
        ------
        StepError
            If it is not there.
        """
        if request not in self.requests:
            raise StepError(f"{self.model.name}: {request!r} is not in the batch")
        self.requests.remove(request)

    def step(self) -> dict[Request, dict[str, Array]]:
        """Decode a token of each request, by the reference.

        Returns
        -------
        dict of Request to dict of str to array
            The outputs for each request whose tokens are all in its caches now, as `Model.run`
            gives them for one token, without the dim of tokens.

        Raises
        ------
        StepError
            As of `inputs`.
        """
        return self.after(executor.run(self.graph, self.inputs(), lanes=self.lanes))

    def inputs(self) -> dict[str, Any]:
        """Contents of all input streams and tensors for the next step.

        Raises
        ------
        StepError
            If there is no request, one has no more tokens, or its caches are full.
        """
        if not self.requests:
            raise StepError(f"{self.model.name}: there is no request: admit one")
        ids, filled = np.zeros((2, self.sizes.requests), np.int64)
        for request in self.requests:
            if request.rows == len(request.ids):
                raise StepError(
                    f"{self.model.name}: {request!r} has no token to decode: append one, or let it "
                    "leave"
                )
            ids[request.place], filled[request.place] = request.ids[request.rows], request.rows
        return {**self.memory, **fed(self.model, {IDS: ids}, self.sizes, filled.tolist())}

    def after(self, result: executor.Result) -> dict[Request, dict[str, Array]]:
        """Go on with the memory of a step; give the outputs as `step` does."""
        made, found = self.keep(self.graph, result), {}
        for request in self.requests:
            request.rows += 1
            if request.rows == len(request.ids):
                found[request] = {name: array[request.place] for name, array in made.items()}
        return found
