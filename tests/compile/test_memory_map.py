"""Where tensors lie, and how wide an address is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.table import Bus, Design
from stepgen.ir.system import SystemGraph

ALIGNMENT = 4096


def reading(tensors):
    """A program that reads a tile of each tensor, given by shape and address."""
    g = sg.Graph("reading")
    for k, (shape, base) in enumerate(tensors):
        t = g.tensor(f"t{k}", shape, sg.int8, base=base)
        g.output(sg.linear_offchip_load(t, tile=(1, 8), shape=(1,), stride=(1,)), f"y{k}")
    return g


@st.composite
def fitting(draw):
    """Tensors, some at a given place, that end within an address of 64 bits."""
    tensors, top = [], 0
    for _ in range(draw(st.integers(1, 5))):
        words = draw(st.integers(1, 19).flatmap(lambda bits: st.integers(1, (1 << bits) - 1)))
        shape = (1 << draw(st.integers(0, 29)), 8 * words)
        gap = draw(st.one_of(st.none(), st.integers(0, 59)))
        base = None if gap is None else top + (8 << gap)
        start = -(-top // ALIGNMENT) * ALIGNMENT if base is None else base
        if start + shape[0] * shape[1] <= 1 << 64:
            tensors.append((shape, base))
            top = start + shape[0] * shape[1]
    return tensors


@settings(max_examples=8)
@given(fitting().filter(bool))
def test_drawn_tensors(tensors):
    """The compiler's places are free and in order; addresses reach the last byte, no further."""
    design = lower(reading(tensors))
    regions = list(design.regions.values())
    behind = 0
    for (shape, base), region in zip(tensors, regions, strict=True):
        start = -(-behind // ALIGNMENT) * ALIGNMENT if base is None else base
        assert (region.base, region.size) == (start, shape[0] * shape[1])
        behind = region.end
    assert design.bus.address_bits == max(32, (behind - 1).bit_length())
    assert Design.from_json(design.to_json()) == design


def given_places():
    """Shapes and addresses, of which some overlap, are not a multiple of a word, or are free."""
    shape = st.tuples(st.integers(1, 3), st.integers(1, 2).map(lambda words: 8 * words))
    base = st.one_of(st.none(), st.integers(0, 12).map(lambda n: 8 * n), st.integers(0, 99))
    return st.lists(st.tuples(shape, base), min_size=1, max_size=5)


@settings(max_examples=60)
@given(given_places())
def test_what_overlaps_is_refused_where_it_is_declared(tensors):
    """So by every command; the compiler's own places are free, also of what comes later."""
    taken, wrong = set(), None
    for k, (shape, base) in enumerate(tensors):
        if base is None:
            continue
        here = set(range(base, base + shape[0] * shape[1]))
        if base % 8:
            wrong = rf"tensor t{k} at test_memory_map.py:\d+: its address must be a multiple of 8"
        elif here & taken:
            wrong = (
                rf"tensor t{k} at test_memory_map.py:\d+: its \d+ bytes at {base} overlap tensor t"
            )
        if wrong:
            break
        taken |= here
    if wrong:
        with pytest.raises(sg.StepError, match=wrong):
            reading(tensors)
        return
    regions = lower(reading(tensors)).regions.values()
    held = [set(range(region.base, region.end)) for region in regions]
    assert sum(map(len, held)) == len(set().union(*held))


def test_parts_of_a_system_do_not_overlap():
    with pytest.raises(sg.StepError, match=r"system at test_memory_map.py:\d+: tensor a_t0: its 8"):
        SystemGraph({"a": reading([((1, 8), 0)]), "b": reading([((1, 8), 0)])}, {})


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
            r"tensor at test_memory_map.py:\d+: base must be an integer of at most 64 bits",
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


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("leaving", [False, True])
def test_addresses_that_leave_are_whole(rows, leaving):
    """Those that only name tiles have bits for the tiles alone."""
    g = sg.Graph("counted")
    at, w = g.input("at", sg.address[1, 1], (3,)), g.tensor("w", (rows, 8), sg.int8)
    g.output(at.random_offchip_load(w, tile=(1, 8)), "y")
    if leaving:
        counted = g.input("x", sg.int8[1, 2], (2, sg.ragged("N"))).accum(sg.fn.count(), rank=1)
        g.output(counted.zip(counted), "n")
    design = lower(g, lanes=2)
    bits = {c.bits for c in design.channels if c.element == "address"}
    assert bits == {32 if leaving else (rows + 1).bit_length()}


@pytest.mark.parametrize("start", [0, 1 << 32, (1 << 63) - 1])
def test_a_count_has_bits_for_its_start(start):
    g = sg.Graph("counted")
    x = g.input("x", sg.int8[1, 2], (2, 3))
    g.output(x.scan(sg.fn.count(), rank=1, init=start), "n")
    bits = max(c.bits for c in lower(g, lanes=2).channels if c.element == "address")
    assert start + 6 < (1 << bits) - 1
