"""Figures of matplotlib that are only written to files, whatever backend is asked for."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any


def new_figure(**options: Any) -> Any:
    """A figure that draws into files; it takes what matplotlib's ``Figure`` takes."""
    _load()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure


def _load() -> None:
    """Import matplotlib, which fails where ``MPLBACKEND`` names a backend that it can't have.

    Notebooks export the name of theirs, also to commands in an environment without it.
    """
    asked = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib
    finally:
        if asked is not None:
            os.environ["MPLBACKEND"] = asked
    if asked and "matplotlib.pyplot" not in sys.modules:
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = asked  # as its import does
