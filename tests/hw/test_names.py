from itertools import product

from stepgen.hw.names import verilog_name

PARTS = ("", "_", "x", "n0", "n", "0", "u", "valid", "clk", "input", "mem")


def test_most_names_stay():
    for name in ("x", "tokens", "w_gate", "Input", "clk2", "memory_1", "x_valid_", "valid"):
        assert (verilog_name(name) == name) == (name != "x_valid_")


def test_names_that_are_taken():
    named = {"clk": "n0clk", "input": "n0input", "mem": "n0mem", "x_valid": "n0x_uvalid"}
    named |= {"_x": "n0_ux", "a__b": "n0a_u_ub", "mem_r": "n0mem_ur", "n0clk": "n0n0clk"}
    assert {name: verilog_name(name) for name in named} == named


def test_no_two_names_become_one():
    names = {"".join(parts) for parts in product(PARTS, repeat=4)}
    names = {n for n in names if n.isidentifier()}
    assert len({verilog_name(name) for name in names}) == len(names)
    for name in names:
        named = verilog_name(name)
        assert "__" not in named
        assert named.strip("_") == named
        assert not named.endswith(("_valid", "_ready", "_payload"))
