"""The depths that are advised for a deadlock, on drawn requirements instead of designs."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import some_slow

from stepgen.timing.deadlock import MOST_NAMED, Deadlock, Waiting, advised

MOST_RUNS = 3000


@pytest.mark.parametrize("seed", some_slow(range(60), 30))
def test_the_search_ends_and_no_depth_can_be_less(seed: int) -> None:
    """FIFOs need depths each for itself and in all; some are full that have what they need."""
    rng = np.random.default_rng(seed)
    names = [f"f{n}" for n in range(int(rng.integers(1, 2 * MOST_NAMED)))]
    own = {name: int(rng.integers(2, 13)) for name in names}
    most = int(rng.choice([5, 9, 40]))
    needed = {name: int(rng.integers(2, most + 1)) for name in names}
    together = sum(max(own[n], needed[n]) for n in names) + int(rng.choice([0, 0, 3]))
    runs = 0

    def run(depths: dict[str, int]) -> None:
        nonlocal runs
        runs += 1
        assert runs < MOST_RUNS
        now = {**own, **depths}
        if sum(now.values()) < together or any(now[n] < needed[n] for n in names):
            waiting = [Waiting("unit", n, True, now[n], now[n]) for n in names]
            raise Deadlock("stuck", 1, waiting)

    try:
        advised(run, lambda: own)
    except Deadlock as deadlock:
        remedy = deadlock.remedy
        run(remedy)
        for some in [list(remedy)] if len(names) > MOST_NAMED else [[n] for n in remedy]:
            less = max(remedy[n] for n in some) - 1
            with pytest.raises(Deadlock):
                run({**remedy, **{n: max(own[n], less) for n in some}})
