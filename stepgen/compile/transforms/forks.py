"""Inserts forks, so that every stream has one consumer."""

from __future__ import annotations

from stepgen.compile.transforms.rewrite import Rewrite, Transformed, deep
from stepgen.ir.arguments import checked
from stepgen.ir.feedback import Feedback
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream


@checked
def insert_forks(program: Graph | Transformed) -> Transformed:
    """Put a fork behind every stream that is used several times.

    A use's FIFO depth moves to the copy that the use reads.

    Parameters
    ----------
    program : Graph or Transformed
        May have streams that are read by several operators, or several times by one.

    Returns
    -------
    Transformed
        The same program with one consumer for each stream.
    """
    before = Transformed.of(program)
    rewrite = _Forking(before.graph)
    for node in rewrite.nodes():
        rewrite.copy(node)
        for stream in node.outputs:
            rewrite.fork(stream)
    return before.then(rewrite.new)


class _Forking(Rewrite):
    """Assigns the copies of a stream in the order of its uses.

    A feedback is one use of its source; its readers get copies of the feedback.
    """

    def __init__(self, old: Graph) -> None:
        super().__init__(old)
        self._copies: dict[Stream, list[Stream]] = {}

    def fork(self, stream: Stream) -> None:
        """Make the copies of a stream of the old graph."""
        uses = sum(use not in self.fed for use in self.old.consumers(stream))
        uses += sum(feedback.source == stream for feedback in self.old.feedbacks)
        self._fork(stream, self.streams[stream], uses, stream.node.where)

    def open(self, feedback: Feedback) -> None:
        """Make a feedback, and the copies of it."""
        super().open(feedback)
        made = self.feedbacks[feedback]
        self._fork(feedback, made, len(feedback.uses), feedback.where)

    def close(self, feedback: Feedback, source: Stream) -> None:
        """Connect a feedback to its copy."""
        copies = self._copies.get(source)
        real = self.use(source) if copies is None else deep(copies.pop(0), source.depth)
        self.feedbacks[feedback].connect(real)

    def input(self, node: Node, index: int) -> Stream:
        """The copy for this input, if there are several."""
        stream = self.fed.get((node, index), node.inputs[index])
        copies = self._copies.get(stream)
        if copies is None:
            return super().input(node, index)
        return deep(copies.pop(0), node.inputs[index].depth)

    def _fork(self, old: Stream, new: Stream, uses: int, where: str) -> None:
        if uses > 1:
            made = self.add("fork", [new], {"n": uses}, where=where)
            self._copies[old] = list(made.outputs)
