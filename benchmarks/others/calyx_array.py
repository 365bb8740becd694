"""Prints the systolic array of Calyx's generator, in Calyx's language.

The generator has one width for operands and sums. With sums of another width than operands, the
element that multiplies and adds is written here; all else is the generator's.

Run as ``python calyx_array.py SOURCES SIZE BITS``: where Calyx's repository is, rows and columns,
and bits of a sum of products of int8.
"""

import importlib.util
import sys
from pathlib import Path

BITS = 8


def main(sources, size, sum_bits):
    """Print the array."""
    generator = Path(sources) / "frontends" / "systolic-lang"
    sys.path[:0] = [str(Path(sources) / "calyx-py"), str(generator)]
    import gen_array_component
    import gen_post_op
    from calyx import builder
    from systolic_arg_parser import SystolicConfiguration

    spec = importlib.util.spec_from_file_location("gen_systolic", generator / "gen-systolic.py")
    gen_systolic = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gen_systolic)
    if sum_bits != BITS:
        gen_array_component.pe = lambda prog: wide_element(prog, sum_bits)
        gen_post_op.BITWIDTH = sum_bits
        widen(gen_array_component, "add_systolic_output_params", sum_bits, lambda read_mem: True)
        widen(gen_systolic, "create_mem_connections", sum_bits, lambda read_mem: not read_mem)

    of_each = ("--top-length", "--top-depth", "--left-length", "--left-depth")
    sys.argv[1:] = [word for option in of_each for word in (option, str(size))]
    config = SystolicConfiguration()
    config.parse_arguments()
    prog = builder.Builder()
    gen_systolic.create_systolic_array(prog, config)
    gen_post_op.default_post_op(prog, config=config)
    gen_systolic.build_main(prog, config, gen_post_op.DEFAULT_POST_OP)
    prog.program.emit()


def widen(module, name, bits, applies):
    """Let a function of the generator see `bits` as the width, where that applies."""
    function = getattr(module, name)

    def wider(*values, read_mem=True, **named):
        if name == "create_mem_connections":
            named["read_mem"] = read_mem
        before = module.BITWIDTH
        module.BITWIDTH = bits if applies(read_mem) else before
        try:
            return function(*values, **named)
        finally:
            module.BITWIDTH = before

    setattr(module, name, wider)


def wide_element(prog, sum_bits):
    """An element with the ports and the timing of the generator's, and sums of `sum_bits`."""
    from calyx import py_ast

    prog.import_("primitives/binary_operators.futil")
    element = prog.component(name="mac_pe", latency=1)
    factors = [element.input(name, BITS) for name in ("top", "left")]
    element.input("mul_ready", 1)
    element.output("out", sum_bits)

    def extend(name, bits, to):
        return element.cell(name, py_ast.CompInst("std_signext", [bits, to]))

    wide = [extend(f"wide_{name}", BITS, 2 * BITS) for name in ("top", "left")]
    product = element.pipelined_fp_smult("product", 2 * BITS, 2 * BITS, 0)
    term = extend("term", 2 * BITS, sum_bits)
    total, added = element.reg("total", sum_bits), element.add(sum_bits, "added")
    with element.static_group("step", 1):
        for port, extended in zip(factors, wide, strict=True):
            extended.in_ = port
        product.left, product.right = (extended.out for extended in wide)
        term.in_ = product.out
        added.left, added.right = total.out, term.out
        total.in_ = added.out
        total.write_en = element.this().mul_ready
    with element.continuous:
        element.this().out = total.out
    element.control += py_ast.Enable("step")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
