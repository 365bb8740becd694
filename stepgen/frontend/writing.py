"""Programs that write: what one token makes is the next one, without a host.

A run goes through any number of tokens, one behind the other. The first ones are given. Each other
one is the number of the largest output of the token before it, which goes back to the front of the
circuit. A token waits for the one before it, and that one for its rows of the caches: what one
token writes, the next one reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepgen.frontend import caches
from stepgen.frontend.cached import NO_INTEGER, NOTHING
from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import POSITIONS
from stepgen.frontend.state import check_room
from stepgen.functions.addressing import RANGE
from stepgen.functions.bases import SCALAR
from stepgen.ir.dtypes import Selector
from stepgen.ir.errors import StepError
from stepgen.ir.feedback import Feedback
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream
from stepgen.ops.partition import partition
from stepgen.ops.reassemble import reassemble

if TYPE_CHECKING:
    from stepgen.frontend.caches import Caches
    from stepgen.frontend.model import Model
    from stepgen.frontend.site import Lowering
    from stepgen.frontend.weight import Array

IDS: Final = "ids"
"""The input that is written; as a stream it has 0 where an id is not given."""

RANGE_OF_TOKENS, LARGEST, GOES_ON = "tokens", "largest", "goes_on"
"""Streams of a run: the positions of its tokens as a range; the largest id that may be written for
each token, which is 0 where it is given; and whether another token follows each."""

WRITTEN: Final = "written"
"""The output of a run: the id that follows each of its tokens."""


def check(model: Model) -> None:
    """Check that a model makes what it reads: numbers of the rows of its table.

    Raises
    ------
    StepError
        If it has other inputs than ids, no caches, or more outputs than ids.
    """
    inputs = ", ".join(model.inputs)
    if {*model.inputs} - {POSITIONS} != {IDS}:
        raise StepError(
            f"{model.name}: phase=write is for models of {IDS}, and its inputs are {inputs}"
        )
    if not caches.places(model):
        raise StepError(
            f"{model.name}: phase=write goes on behind tokens in caches, and it has no attention "
            f"that keeps any"
        )
    output = model.types[model.outputs[0]]
    if len(output.shape) != 2:
        raise StepError(
            f"{model.name}: phase=write needs a row of numbers of each token, and "
            f"{model.outputs[0]} is {output}"
        )
    for placed in model.placed:
        if isinstance(placed.op.kind, Embedding) and placed.op.inputs[0] == IDS:
            rows = placed.given.weights["table"][0]
            if choices(model) > rows:
                raise StepError(
                    f"{model.name}: {model.outputs[0]} has {choices(model)} columns, and the table "
                    f"of {placed.op.name} has {rows} rows: not each number that is written is an id"
                )


def choices(model: Model) -> int:
    """How many ids may be written: those that stand for characters, or all."""
    return len(model.characters) or model.types[model.outputs[0]].width


@dataclass(frozen=True)
class Tokens:
    """The tokens of a run while its program is made.

    Attributes
    ----------
    tokens : Stream
        The range of their positions.
    ids : Stream
        Their ids.
    goes_on : Stream
        Selectors over one consumer, the next token: none for the last token.
    back : Feedback
        The ids that were written.
    """

    tokens: Stream
    ids: Stream
    goes_on: Stream
    back: Feedback

    @classmethod
    def begun(cls, lowering: Lowering, sizes: Caches) -> Tokens:
        """Declare the inputs of a program that writes, and its loop."""
        graph = lowering.graph
        lowering.names |= {IDS, RANGE_OF_TOKENS, LARGEST, GOES_ON, WRITTEN}
        tokens = graph.input(RANGE_OF_TOKENS, RANGE, (1,))
        first = tokens.flat_map(fn.span_first(sizes.rows, one_by_one=True), rank=1)
        lowering.extents |= {str(dim): 1 for dim in graph.span(tokens)}  # bounds are for one token
        # The first token has none before it: any number will do, since its id is given.
        start = tokens.map(fn.span_end())
        goes_on = graph.input(GOES_ON, Selector(1), first.shape[1:])
        back = graph.feedback(SCALAR, (goes_on.count(0),), lowering.name(f"{WRITTEN}_back"))
        before = reassemble([start, back], first, rank=0).flatten(0, 1).flatten(0, 1)
        given, largest = (graph.input(name, SCALAR, before.shape) for name in (IDS, LARGEST))
        ids = given.map(fn.maximum(), before.map(fn.minimum(), largest))
        return cls(tokens, ids, goes_on, back)

    def values(self, model: Model) -> dict[str, Rows]:
        """The inputs of the model."""
        found = {IDS: Rows(self.ids)}
        if POSITIONS in model.inputs:
            found[POSITIONS] = Rows(self.positions())
        return found

    def positions(self) -> Stream:
        """The position of each token in the text."""
        return self.tokens.flat_map(fn.span(), rank=1).flatten(0, 1)

    def end(self, model: Model, lowering: Lowering) -> None:
        """Choose the next token by the output, and close the loop."""
        name = model.outputs[0]
        scores, value = lowering.read(name).whole().stream, model.types[name]
        if choices(model) < value.width:
            nothing = NO_INTEGER * 2 if value.element.startswith("int") else NOTHING
            count = self.ids.map(fn.scale(0)).map(fn.offset(choices(model)))
            scores = scores.map(fn.mask_cols(nothing), count)
        (following,) = partition(scores.map(fn.argmax()), self.goes_on, rank=0)
        self.back.connect(following)
        # As numbers: addresses that leave would take 32 bits on all wires.
        lowering.graph.output(scores.map(fn.argmax("int32")), WRITTEN)


def fed(model: Model, sizes: Caches, given: Array, more: int, filled: int) -> dict[str, Array]:
    """The streams of a run.

    Parameters
    ----------
    model : Model
    sizes : Caches
    given : array
        Ids of the first tokens, at least one.
    more : int
        How many follow, each chosen by the circuit.
    filled : int
        Tokens in the caches.

    Raises
    ------
    StepError
        If none is given, or the caches have no room.
    """
    count = len(given) + more
    if not len(given):
        raise StepError(f"{model.name}: a run that writes needs at least one id")
    check_room(sizes.rows, filled, count, model.name)
    found: dict[str, Array] = {}
    for place in caches.places(model).values():
        found |= place.of_tokens(sizes, filled + np.arange(count))
    padded = np.pad(given, (0, more))
    largest = np.where(np.arange(count) < len(given), 0, choices(model) - 1)
    return {
        RANGE_OF_TOKENS: np.array([[[filled, count]]]),
        IDS: padded.reshape(count, 1, 1),
        LARGEST: largest.reshape(count, 1, 1),
        GOES_ON: np.arange(count)[:, None] < count - 1,
        **found,
    }


def written(nested: Callable[[str], Any]) -> Array:
    """What follows each token of a run, of what it gives by stream, as nested lists of tiles."""
    return np.array(nested(WRITTEN), np.int64).reshape(-1)
