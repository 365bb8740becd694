"""zip: two streams side by side."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.ir.dtypes import TupleType
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Out, Stream


class Zip(Operator):
    """x and y ``[D_a..D_0]`` -> the same shape of tuples."""

    def infer(self, call: Call) -> Sequence[Out]:
        """The shapes must be equal."""
        x, y = call.inputs
        call.same_shape(x, y)
        return [Out(x.shape, TupleType((x.dtype, y.dtype)), dict(enumerate(x.totals)))]


@public
def zip(x: Stream, y: Stream, *, name: str | None = None) -> Stream:
    """Pair the elements of two streams.

    Parameters
    ----------
    x, y : Stream
        Of equal shape.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Of tuples, for functions of two tiles.

    Raises
    ------
    StepError
        If the shapes differ.

    Notes
    -----
    Zip (paper, section 3). Extents that only a run can tell apart are an error of the run that
    names both streams.
    """
    return build("zip", (x, y), {}, name)[0]
