"""FuseSoC as a user has it: its own process, with Verilator from the Python package on its path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from stepgen.tools.external import verilator

_QUICK = " OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"  # runs are short, builds are not


class FuseSoC:
    """Runs it in a folder.

    Parameters
    ----------
    folder : Path
    exports : str, optional
        Lines for a shell that let it find Verilator; by default it is found without them.
    """

    def __init__(self, folder: Path, exports: str | None = None):
        self.folder = folder
        kept = {k: v for k, v in os.environ.items() if k in ("HOME", "TMPDIR", "LANG")}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        places = {f"XDG_{what}_HOME": str(folder / what) for what in ("CONFIG", "DATA", "CACHE")}
        self.environment = {**kept, **places, "PATH": path}
        if exports is None:
            root = verilator().root
            self.environment |= {
                "PATH": os.pathsep.join([str(root / "bin"), path]),
                "VERILATOR_ROOT": str(root),
                "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread",
            }
        else:
            self.environment = self._after(exports)
        self.environment["MAKEFLAGS"] += _QUICK

    def _after(self, exports: str) -> dict[str, str]:
        """Variables as they are when a shell has read these lines."""
        command = ["bash", "-ec", f"{exports}\nenv -0"]
        done = subprocess.run(command, env=self.environment, capture_output=True, check=True)
        return dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if line)

    def __call__(self, *words: str, fails: bool = False, only: str | None = None) -> str:
        """What it prints; it must succeed, or fail.

        Parameters
        ----------
        words : str
            Arguments.
        fails : bool
        only : str, optional
            The stage behind which a simulation stops.
        """
        if only is not None and "--target=sim" in words:
            at = words.index("--target=sim")
            words = (*words[:at], only, *words[at:])
        done = subprocess.run(
            [str(Path(sys.executable).parent / "fusesoc"), *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, said[-6000:]
        return said
