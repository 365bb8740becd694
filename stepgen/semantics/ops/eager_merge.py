"""eager_merge: merges chunks of several streams in order of arrival."""

from __future__ import annotations

import numpy as np

from stepgen.ir.wire import DONE
from stepgen.semantics.numbers import DTYPES
from stepgen.semantics.process import Process, Reader, Steps, Use, Wait


def run(use: Use) -> Process:
    """For each chunk also sends a one-hot selector of its input.

    The order is that of `choices`, if given. Otherwise the inputs are read one after the other,
    each to its end; on a cycle, where one input may depend on another, round robin.
    """
    data, names = use.outputs
    rank = use["rank"]
    open_inputs = list(range(len(use.inputs)))
    while True:
        index = yield from _choose(use, open_inputs)
        if index is None:
            break
        reader = use.inputs[index]
        one_hot = np.zeros(len(use.inputs), DTYPES["bool"])
        one_hot[index] = True
        names.value(one_hot)
        while True:
            token = yield from reader.take()
            data.put(token)
            if token.stop == rank:
                break
    data.done()
    names.done()


def _choose(use: Use, waiting: list[int]) -> Steps[int | None]:
    """The input of the next chunk, None when all have ended.

    `waiting` lists the inputs that have not ended, the next in turn first.
    """
    while True:
        for i in [i for i in waiting if _ended(use.inputs[i])]:
            yield from use.inputs[i].take()
            waiting.remove(i)
        if not waiting:
            return None
        if use.choices is not None:
            index = next(use.choices, None)
            if use.guesses and use.cyclic:  # what was guessed may depend on what was not
                yield Wait(tuple(use.inputs[i] for i in waiting), idle=True)
                if index in waiting and not use.inputs[index].queue:
                    index = None
            if index is not None and index in waiting:
                head = yield from use.inputs[index].peek()
                if head.kind != DONE:
                    return index
            if use.guesses:
                use.choices = None
                continue
            if index is not None:
                use.fail(
                    f"the order of arrival that was given names input {index}, which has ended"
                )
            head = yield from use.inputs[waiting[0]].peek()
            if head.kind != DONE:  # otherwise the ends of others may be still to come
                use.fail("the order of arrival that was given ends before the inputs do")
            continue
        if use.cyclic:
            yield Wait(tuple(use.inputs[i] for i in waiting), idle=True)
            index = next(i for i in waiting if use.inputs[i].queue)
            head = use.inputs[index].queue[0]
        else:
            index = waiting[0]
            head = yield from use.inputs[index].peek()
        if head.kind != DONE:
            if use.cyclic:
                waiting.remove(index)
                waiting.append(index)
            return index


def _ended(reader: Reader) -> bool:
    return bool(reader.queue) and reader.queue[0].kind == DONE
