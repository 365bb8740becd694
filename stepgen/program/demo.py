"""The runs of ``stepgen demo``: settings of the program ``moe``."""

from __future__ import annotations

RUNS: dict[str, dict[str, str]] = {
    "static": {"tiling": "static"},
    "dynamic": {"tiling": "dynamic", "results": "columns"},
}
"""By tiling; what a user sets is set in both."""
