"""Amaranth's Yosys in this process does what it does in one of its own."""

import os
import signal
import threading

import pytest
from amaranth._toolchain.yosys import YosysError, _BuiltinYosys

from stepgen.hw import private, yosys

CIRCUIT = """
module \\m
  wire width 4 input 1 \\a
  wire width 5 output 2 \\é
  cell $add \\sum
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 4
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 4
    parameter \\Y_WIDTH 5
    connect \\A \\a
    connect \\B \\a
    connect \\Y \\é
  end
end
"""


@pytest.fixture
def built_in(monkeypatch):
    """Whatever Yosys is installed beside it."""
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "builtin")
    return private.yosys()


def test_verilog_is_the_same(built_in):
    script = f"read_rtlil <<rtlil\n{CIRCUIT}\nrtlil\nwrite_verilog"
    text = built_in.run(["-q", "-"], script)
    assert "assign" in text
    assert text == _BuiltinYosys.run(["-q", "-"], script)


def test_errors_are_the_same(built_in):
    with pytest.raises(YosysError) as own:
        _BuiltinYosys.run(["-q", "-"], "no_command")
    with pytest.raises(YosysError) as error:
        built_in.run(["-q", "-"], "no_command")
    assert "no_command" in str(error.value)
    assert str(error.value) == str(own.value)


def test_what_wasmtime_refuses_is_an_error(built_in, monkeypatch):
    monkeypatch.setattr(yosys, "PACKAGE", "stepgen")
    yosys._loaded.cache_clear()
    with pytest.raises(FileNotFoundError, match=r"yosys\.wasm"):
        built_in.run(["-q", "-"], "")


def test_ctrl_c_ends_the_wait(built_in, monkeypatch):
    ended = threading.Event()

    def hang(*_):
        os.kill(os.getpid(), signal.SIGINT)
        ended.wait()

    monkeypatch.setattr(yosys, "_run", hang)
    # A job in the background of a shell ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            built_in.run(["-q", "-"], "")
    finally:
        ended.set()
        signal.signal(signal.SIGINT, before)
