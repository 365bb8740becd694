"""Decoding: the program of a model, token after token on one memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from ..ir.dtypes import ElementType, bf16
from ..ir.wire import LANES
from ..semantics import executor
from . import caches
from .lowering import COLUMNS, fed, lower
from .model import Model
from .state import check_room
from .weight import Array


class Decoder:
    """A model that decodes: the memory after one token is that of the next.

    Parameters
    ----------
    model : Model
    element, columns, cache, tile
        As for `stepgen.frontend.lower`.
    lanes : int
        Lanes of a slice, which decide the order of floating-point sums.

    Attributes
    ----------
    model : Model
    graph : Graph
        The program, of which each run takes one token.
    memory : dict of str to array
        The contents of its tensors, with the caches as they are now.
    rows : int
        Tokens in the caches.

    Raises
    ------
    StepError
        If the model can't be lowered.

    Examples
    --------
    >>> decoder = sg.frontend.Decoder(model, cache=64)
    >>> logits = decoder.run({"ids": prompt})["logits"]
    >>> logits = decoder.run({"ids": [logits[-1].argmax()]})["logits"]
    """

    def __init__(
        self,
        model: Model,
        *,
        element: ElementType | Literal["bf16", "f32"] = bf16,
        columns: int = COLUMNS,
        cache: int | None = None,
        tile: int | None = None,
        lanes: int = LANES,
    ) -> None:
        self.model, self.lanes, self.rows = model, lanes, 0
        self.graph, self.memory = lower(
            model, phase="decode", element=element, columns=columns, cache=cache, tile=tile
        )
        self.caches = caches.sized(model, cache, tile)

    def inputs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Contents of all input streams and tensors for the next token.

        Parameters
        ----------
        given : mapping of str to array
            The model's inputs, with T = 1.

        Raises
        ------
        StepError
            If they do not fit, an id is past its table, or the caches are full.
        """
        return {**self.memory, **fed(self.model, given, self.caches, self.rows)}

    def after(self, result: executor.Result) -> dict[str, Array]:
        """Go on with the memory of a run; give the model's outputs, with T = 1."""
        self.memory |= {name: result.tensors[name] for name in result.stored}
        self.rows += 1
        found = {}
        for name, port in zip(self.model.outputs, self.graph.outputs, strict=True):
            value = self.model.types[name]
            made = np.array(result.nested(port), np.float64)
            found[name] = value.real(made.reshape(1, *value.shape[1:]))
        return found

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Tokens one after the other, by the reference.

        Parameters
        ----------
        inputs : mapping of str to array
            The model's inputs, of any number of tokens that fits the caches.

        Returns
        -------
        dict of str to array
            Outputs, as `Model.run` gives them.

        Raises
        ------
        StepError
            As of `inputs`.
        """
        made = [
            self.after(executor.run(self.graph, self.inputs(one), lanes=self.lanes))
            for one in self.tokens(inputs)
        ]
        return {name: np.concatenate([one[name] for one in made]) for name in made[0]}

    def tokens(self, inputs: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
        """Inputs of each token by itself.

        Raises
        ------
        StepError
            If they do not fit.
        """
        arrays = {name: self.model.taken(name, inputs[name]) for name in inputs}
        count = len(fed(self.model, inputs)[next(iter(inputs))])
        check_room(self.caches.rows, self.rows, count, self.model.name)
        for n in range(count):
            yield {name: array[n : n + 1] for name, array in arrays.items()}
