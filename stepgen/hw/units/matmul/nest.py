"""What the two loop nests of a matrix unit have in common."""

from amaranth.hdl import Mux, Signal
from amaranth.lib import data

from stepgen.hw.primitives import counter
from stepgen.hw.units.matmul.weights import address_of, size_of
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE

__all__ = ["Nest"]


class Nest:
    """Takes what is at the heads of all queues, a step per cycle for each slice of N and of K.

    Parameters
    ----------
    core : MatmulCore
        The unit.
    x : stream
        Beats of x, or a beat for each row.
    held : sequence of stream
        A beat for each complete tile of w, and one for each row of b.

    Attributes
    ----------
    fire : Signal
        Whether a step takes place, or a beat without values passes.
    works : Signal
        Whether it is a step.
    ends : Signal
        Whether it is the last that needs the heads of `held`.
    frees : Signal
        Whether a tile of w has been used up.
    block : Signal
        Number of the step's block in its tile of w.
    address : Value
        Where that block is.
    n_slice, last_n, last_k : Value
        The step's slice of N, and whether it, and that of K, is the last one.
    kind, out_stop, out_low : Value
        Of the beat that is sent: its kind, its stop, and without values the level that it closes.
    nothing : Value
        Whether it has where sums start, for a group without products.
    """

    def __init__(self, core, x, held):
        self.params, self.lanes = core.params, core.design.lanes
        self.y, self.x, self.held = core.y, x, held
        self.fire, self.works, self.ends, self.frees = Signal(), Signal(), Signal(), Signal()
        k_slices, n_slices = self.params.slices(self.lanes)
        self.block, self.upper = Signal(range(k_slices * n_slices)), Signal()
        self.address = address_of(self.params, self.lanes, self.block, self.upper)
        beat = x.payload
        self.stop, self.low = beat.stop, beat.data[: len(beat.stop)]
        self.is_value, self.is_bare = beat.kind == VALUE, beat.kind == BARE
        self.has_tile = self.is_value | self.is_bare & (self.low <= TILE_LEVELS)

    @property
    def size(self):
        """The size that a tile of dynamic dims says of itself; None of others."""
        if not self.params.dynamic:
            return None
        shape = size_of(self.params, self.lanes)
        return data.View(shape, self.held[0].payload.data[: shape.size])

    @property
    def lacks(self):
        """Elements that the step's slice of N lacks, where N is dynamic; 0 without a step."""
        return Mux(self.works & self.last_n, self.size.lacks, 0)

    def in_turn(self, m, step, most, last):
        """Numbers of slices, each for a `step`: up to `last` if the tile says so, else of `most`.

        Returns
        -------
        number, ends : Value
            The number, and whether it is the last one.
        """
        if last is None:
            return counter(m, step, most)
        number = Signal(range(most))
        ends = number == last
        with m.If(step):
            m.d.sync += number.eq(Mux(ends, 0, number + 1))
        return number, ends

    def meets(self, m, sends):
        """Drive what takes place once all heads are there, and `y` has room if the step `sends`.

        A used tile leaves its buffer, and the other one is read next.

        Returns
        -------
        Signal
            Whether there is a beat at all heads.
        """
        both = Signal()
        valid = self.x.valid
        for queue in self.held:
            valid = valid & queue.valid
        m.d.comb += [
            both.eq(valid),
            self.fire.eq(both & (self.y.ready | ~sends)),
            self.y.valid.eq(self.fire & sends),
            *(queue.ready.eq(self.fire & self.ends) for queue in self.held),
            self.frees.eq(self.fire & self.ends & self.has_tile),
        ]
        with m.If(self.frees):
            m.d.sync += self.upper.eq(~self.upper)
        return both

    def differs(self):
        """Whether the heads of `held` don't belong to the beat at `x`."""
        wrong, closes = False, ~self.is_value | (self.stop >= TILE_LEVELS)
        for port, queue in zip(self.params.inputs[1:], self.held, strict=True):
            other, differs = queue.payload, self.stop != queue.payload.stop
            if port == "w" and not self.params.stops:
                differs = differs & ~self.has_tile
            fits = other.kind == Mux(self.has_tile, VALUE, self.x.payload.kind)
            low = self.low != other.data[: len(self.low)]
            wrong = wrong | ~fits | closes & (differs | ~self.has_tile & low)
        return wrong
