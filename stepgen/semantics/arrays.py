"""Reads arrays from untrusted ``.npz`` and ``.npy`` files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics.host import check_memory
from stepgen.semantics.numbers import Array, from_file

ALONE = ""
"""Name of the array of an ``.npy`` file."""


def read(path: Path, what: str, otherwise: str) -> dict[str, Array]:
    """All arrays of a file by their names.

    Parameters
    ----------
    path : Path
        An ``.npz`` or ``.npy`` file; pickles are not loaded.
    what : str
        What the file contains, for messages: ``the inputs``.
    otherwise : str
        The message for a file with something else.

    Raises
    ------
    StepError
        If it can't be read, or contains something else than plain arrays.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            return {ALONE: from_file(np.asarray(found))}
        with found as file:
            entries = file.zip.infolist() if file.zip else []
            check_memory(sum(int(e.file_size) for e in entries), f"{what} {path}")
            return {name: from_file(array) for name, array in file.items()}
    except StepError:
        raise
    except OSError as error:
        raise StepError(f"can't read {what} {path}: {error.strerror or error}") from None
    except MemoryError:
        raise StepError(
            f"can't read {what} {path}: it says that it is larger than memory"
        ) from None
    except Exception:  # zip, zlib and numpy raise many kinds for a file of another format
        raise StepError(otherwise) from None
