"""Tables of units fit a terminal, with names and numbers of any length."""

from __future__ import annotations

import numpy as np
import pytest

from stepgen.report import console
from stepgen.timing.states import STATES


@pytest.mark.parametrize("count", [3, console.MOST_UNITS, console.MOST_UNITS + 1, 200])
@pytest.mark.parametrize("longest", [8, 24, 90])
def test_tables_of_units_fit_80_columns(capsys, count, longest) -> None:
    rng = np.random.default_rng([count, longest])
    kinds = ["random_store", "retile_col", "load"]
    units = [
        {
            "unit": f"u{k}_".ljust(int(rng.integers(6, longest)), "x"),
            "kind": kinds[k % 3],
            "does": ["grant reads", "compute"][k % 2],
            "busy": int(rng.integers(10 ** int(rng.integers(1, 11)))),
            **{f"{state}_share": float(rng.choice([0, 0.055, 1])) for state in STATES},
        }
        for k in range(count)
    ]
    name = "model_layers_self_attn_attention_keys_read"
    units[0] |= {"unit": name, "busy": 10**10}
    console.show(console.units_table(units))
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    words = " ".join(lines).split()
    if count <= console.MOST_UNITS:
        assert all(f"{unit['busy']:,}" in words for unit in units)
        assert all(any(w.startswith(f"u{k}_") for w in words) for k in range(1, count))
    else:
        assert set(kinds) <= set(words)
    # A long name ends its lines between its words.
    parts = [word for word in words if word in name and word[0] in "msakr" and len(word) > 2]
    assert "".join(parts) == name, parts
    assert all(part.endswith("_") for part in parts[:-1])
