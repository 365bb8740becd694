"""Pipeline registers that follow from when values are made and used."""

from amaranth.hdl import Signal

__all__ = ["Stages"]


class Stages:
    """Named values of a pipeline, each of them as it is in the current stage.

    ``s.x`` is the value x delayed to the current stage, with as many registers as it takes.

    Parameters
    ----------
    m : Module
        Receives the registers.
    **values : Value
        Values at stage 0.
    """

    def __init__(self, m, **values):
        self._m = m
        self._now = 0
        self._known = {name: [value] for name, value in values.items()}
        self._since = dict.fromkeys(values, 0)

    @property
    def count(self):
        """Stages up to now."""
        return self._now

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        later = self._known[name]
        while len(later) <= self._now - self._since[name]:
            register = Signal.like(later[-1], name=name, reset_less=True)
            self._m.d.sync += register.eq(later[-1])
            later.append(register)
        return later[self._now - self._since[name]]

    def let(self, **values):
        """Name values of the current stage."""
        for name, value in values.items():
            self._known[name], self._since[name] = [value], self._now

    def then(self, **values):
        """Registers of these values, which end the current stage."""
        registers = {}
        for name, value in values.items():
            registers[name] = Signal.like(value, name=name, reset_less=True)
            self._m.d.sync += registers[name].eq(value)
        self._now += 1
        self.let(**registers)

    def wait(self, cycles):
        """Stages that something else, such as a multiplier, takes."""
        self._now += cycles

    def join(self, other):
        """Values of another pipeline that started at the same time, which has no more stages."""
        for name, value in other._known.items():
            self._known.setdefault(name, value)
            self._since.setdefault(name, other._since[name])
