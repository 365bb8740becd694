"""Minimum cuts, beside those of networkx."""

import math

import networkx as nx
import numpy as np
import pytest

from stepgen.compile.sizing.flow import Flow


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_cut_next_to_the_sink(seed: int) -> None:
    rng = np.random.default_rng(seed)
    last, graph = int(rng.integers(1, 9)), nx.DiGraph()
    graph.add_nodes_from((0, last))
    whole, bounded = Flow(0, last), Flow(0, last)
    for tail, head in rng.integers(0, last + 1, (int(rng.integers(0, 20)), 2)).tolist():
        if tail == head:
            continue
        capacity = float(rng.choice([0, 1, 2, 5, math.inf]))
        whole.add(tail, head, capacity)
        bounded.add(tail, head, capacity)
        known = graph.get_edge_data(tail, head, {"capacity": 0})["capacity"]
        graph.add_edge(tail, head, capacity=known + capacity)
    try:
        bits, (_, far) = nx.minimum_cut(graph, 0, last)
    except nx.NetworkXUnbounded:
        bits, far = math.inf, set()
    assert whole.cut() == (bits, far)
    assert bounded.cut(bits) == (math.inf, set())
