"""Where tensors lie, and how wide an address is."""

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.table import Bus, Design

ALIGNMENT = 4096


def reading(tensors):
    """A program that reads a tile of each tensor, given by shape and address."""
    g = sg.Graph("reading")
    for k, (shape, base) in enumerate(tensors):
        t = g.tensor(f"t{k}", shape, sg.int8, base=base)
        g.output(sg.linear_offchip_load(t, tile=(1, 8), shape=(1,), stride=(1,)), f"y{k}")
    return g


@pytest.mark.parametrize("seed", range(20))
def test_drawn_tensors(seed):
    """The compiler's places are free and in order; addresses reach the last byte, no further."""
    rng = np.random.default_rng(seed)
    tensors, top = [], 0
    for _ in range(int(rng.integers(1, 6))):
        shape = (1 << int(rng.integers(0, 30)), 8 * int(rng.integers(1, 1 << rng.integers(1, 20))))
        given = rng.random() < 0.4
        base = top + (8 << int(rng.integers(0, 60))) if given else None
        start = base if given else -(-top // ALIGNMENT) * ALIGNMENT
        if start + shape[0] * shape[1] > 1 << 64:
            continue
        tensors.append((shape, base))
        top = start + shape[0] * shape[1]
    if not tensors:
        return
    design = lower(reading(tensors))
    regions = list(design.regions.values())
    behind = 0
    for (shape, base), region in zip(tensors, regions, strict=True):
        start = -(-behind // ALIGNMENT) * ALIGNMENT if base is None else base
        assert (region.base, region.size) == (start, shape[0] * shape[1])
        behind = region.end
    assert design.bus.address_bits == max(32, (behind - 1).bit_length())
    assert Design.from_json(design.to_json()) == design


def test_the_last_byte_of_an_address_width():
    for end in (1 << 32, 1 << 40, 1 << 64):
        for base, bits in ((end - 8, end.bit_length() - 1), (end, end.bit_length())):
            if base < 1 << 64:
                assert lower(reading([((1, 8), base)])).bus.address_bits == bits


def test_a_wider_bus_stays_as_it_is():
    assert lower(reading([((1, 8), 0)]), bus=Bus(address_bits=48)).bus.address_bits == 48


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: reading([((1, 8), (1 << 64) - 4)]),
            rf"tensor t0 at test_memory_map.py:\d+: 8 bytes at {(1 << 64) - 4} do not fit into",
        ),
        (
            lambda: reading([((1, 8), 1 << 64)]),
            "tensor at test_memory_map.py:17: base must be an integer of at most 64 bits",
        ),
        (
            lambda: reading([((1 << 40, 1 << 40), None)]),
            f"{1 << 80} bytes do not fit into the 64 bits of an address",
        ),
        (
            lambda: lower(reading([((1, 8), (1 << 64) - 4096), ((1, 8), None)])),
            rf"_1 at test_memory_map.py:\d+: tensor t1 of 8 bytes at {1 << 64} does not fit into",
        ),
    ],
)
def test_what_does_not_fit(build, message):
    with pytest.raises(sg.StepError, match=message):
        build()


def test_a_table_whose_addresses_are_too_narrow():
    design = lower(reading([((1, 8), 1 << 33)]))
    text = design.to_json().replace('"address_bits": 34', '"address_bits": 33')
    assert text != design.to_json()
    with pytest.raises(sg.StepError, match=f"tensor t0 of 8 bytes at {1 << 33} does not fit into"):
        Design.from_json(text)


@pytest.mark.parametrize("bits", [0, 31, 65])
def test_widths_of_addresses(bits):
    with pytest.raises(sg.StepError, match=f"an address has 32 to 64 bits, not {bits}"):
        Bus(address_bits=bits)
