import numpy as np

import stepgen as sg
from stepgen.ir.metrics import metrics
from stepgen.program import values
from stepgen.program.program import Program, load


def test_routing_counts_of_the_moe_layer():
    program = load("moe", {"tokens": "16", "experts": "4"})
    costs = metrics(program.graph, "paper")
    counts = program.inputs["route"].sum(axis=0)
    assert values.dims(program, costs.symbols) == {f"E{i}": n for i, n in enumerate(counts)}


def test_extents_of_an_input_and_of_what_follows_from_it():
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], ("N", sg.ragged("R")))
    y = x.accum(sg.fn.retile_row(), rank=1)
    g.output(y, "y")
    one = np.zeros((1, 4), np.int8)
    program = Program(g, {"x": [[one] * 3, [], [one] * 2]})
    symbols = set().union(*(t.free_symbols for t in (*x.totals, x.volume, *y.totals, y.volume)))
    known = values.dims(program, symbols)
    assert known["N"] == 3
    given = {s: known[s.name] for s in symbols}
    assert [int(t.subs(given)) for t in x.totals] == [5, 3]
    assert int(x.volume.subs(given)) == int(y.volume.subs(given)) == 20
