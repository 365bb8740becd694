"""The circuit of one lane of a pipeline."""

from amaranth.hdl import Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.arithmetic.circuits import conversion, floating, integer, logic, scaling, tabulated
from stepgen.hw.arithmetic.operations import COMPARISONS, LOGIC, MANTISSA_BITS
from stepgen.hw.arithmetic.tabulated import STAGES
from stepgen.hw.primitives import delayed

__all__ = ["Lane"]


class Lane(wiring.Component):
    """A pipeline for one lane.

    Parameters
    ----------
    pipeline : Pipeline

    Members
    -------
    x0, x1, … : ``In``
        The bit patterns of the operands.
    y : ``Out``
        The result, `pipeline.stages` cycles later.
    """

    def __init__(self, pipeline):
        self.pipeline = pipeline
        operands = pipeline.values[: len(pipeline.inputs)]
        super().__init__(
            {
                **{f"x{k}": In(value.element.bits) for k, value in enumerate(operands)},
                "y": Out(pipeline.element.bits),
            }
        )

    @property
    def operands(self):
        """The ports of the operands."""
        return [getattr(self, f"x{k}") for k in range(len(self.pipeline.inputs))]

    def elaborate(self, platform):
        m = Module()
        pipeline = self.pipeline
        values, times, known = pipeline.values, pipeline.times, self.operands
        for number, operation in enumerate(pipeline.operations, len(known)):
            start = times[number] - operation.stages([values[k] for k in operation.operands])
            operands = [
                known[k]
                if values[k].constant is not None
                else delayed(m, known[k], start - times[k], reset_less=True)
                for k in operation.operands
            ]
            of = [values[k] for k in operation.operands]
            result, stages = _result(m, operation, of, operands, values[number])
            if stages != times[number] - start:
                raise AssertionError(f"{operation.name} takes {stages} stages, not as declared")
            known.append(result)
        m.d.comb += self.y.eq(known[pipeline.result])
        return m


def _result(m, operation, of, operands, made):
    name = operation.name
    if name == "constant":
        bits = max(made.bits, made.element.bits)
        return Const(made.constant, signed(bits)), 0
    if name == "convert":
        return conversion.convert(m, operands[0], of[0].element, made.element)
    if name == "convert_places":
        return conversion.convert(m, operands[0], of[0].element, made.element, *operation.constants)
    if name == "requantize":
        return scaling.requantize(
            m, operands[0].as_signed(), *operation.constants, made.element.bits
        )
    if name == "requantize_by":
        return scaling.requantize_by(m, operands[0].as_signed(), *operands[1:], made.element.bits)
    if name in LOGIC:
        return logic.logic(m, name, *operands)
    if name == "where":
        flag, *others = operands
        return logic.choose(m, flag, *(x[: made.element.bits] for x in others))
    element = of[0].element
    if name == "lookup":
        return integer.lookup(m, operands[0], operation.constants, made.element.bits)
    if name in STAGES:
        return tabulated.tabulated(m, name, element, *(x[: element.bits] for x in operands))
    operands = [x[: element.bits] for x in operands] if name != "multiply" else operands
    if element in MANTISSA_BITS:
        return _floating(m, name, *(x[: element.bits] for x in operands))
    if name == "multiply":
        a, b = (x[: v.bits].as_signed() for x, v in zip(operands, of, strict=True))
        return integer.multiply(m, a, b, made.element.bits)
    if name in ("add", "subtract"):
        return integer.add(m, *operands, negate=name == "subtract")
    a, b = operands if element.bits == 1 else (x.as_signed() for x in operands)
    if name in COMPARISONS:
        return integer.compare(m, name, a, b)
    first = a > b if name == "maximum" else a < b
    return integer.select(m, *operands, first)


def _floating(m, name, a, b):
    if name in ("add", "subtract"):
        return floating.add(m, a, b, negate=name == "subtract")
    if name == "multiply":
        return floating.multiply(m, a, b)
    x, y = floating.Parts(a), floating.Parts(b)
    if name in COMPARISONS:
        return floating.compare(m, name, x, y)
    return floating.select(m, x, y, larger=name == "maximum")
