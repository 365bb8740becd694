"""Circuits of tables of constants, and of the piecewise polynomials in them."""

from stepgen.hw.arithmetic.circuits.product import product
from stepgen.hw.design import stages
from stepgen.hw.primitives import Rom

__all__ = ["looked_up", "polynomial"]


def looked_up(m, s, contents, address):
    """The numbers of a row, after `stepgen.hw.design.stages.rom` more of the stages `s`."""
    m.submodules += (rom := Rom(contents.row_bits, contents.words))
    m.d.comb += rom.addr.eq(address)
    s.wait(stages.rom(contents.bits))
    numbers, place = [], 0
    for bits, signed in contents.shapes:
        number = rom.data[place : place + bits]
        numbers.append(number.as_signed() if signed else number)
        place += bits
    return numbers


def polynomial(m, s, contents, address, step):
    """Horner's rule on the coefficients of a segment.

    Parameters
    ----------
    m : Module
        Receives the circuit.
    s : Stages
    contents : Contents
        Coefficients, the constant one first.
    address : Value
        Number of the segment.
    step : Value
        Place in the segment, as a fraction.
    """
    s.let(step=step)
    numbers = looked_up(m, s, contents, address)
    names = [f"coefficient_{n}" for n in range(len(numbers))]
    s.let(**dict(zip(names, numbers, strict=True)))
    value = numbers[-1]
    for name in reversed(names[:-1]):
        whole = product(m, s, value, s.step)
        part = whole[len(step) :]
        s.then(value=getattr(s, name) + (part.as_signed() if whole.shape().signed else part))
        value = s.value
    return value
