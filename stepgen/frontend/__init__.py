"""Models as tensor graphs: built in Python, imported from PyTorch, or read from checkpoints.

A `Model` is a list of operations, each of which computes whole tensors. What it computes is defined
in plain numpy; the operations of every model are those of `stepgen.frontend.kinds`.
"""

from __future__ import annotations

from stepgen.frontend.batch import Batch, Request
from stepgen.frontend.builder import Builder, Handle
from stepgen.frontend.compiled import CompileLog, compile_log
from stepgen.frontend.decoding import Decoder
from stepgen.frontend.files import dumps, load, loads, save
from stepgen.frontend.fusing import Fused, fused
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.loading import from_checkpoint, from_config
from stepgen.frontend.lowering import lower
from stepgen.frontend.model import Model, Op
from stepgen.frontend.onnxfile.importing import from_onnx
from stepgen.frontend.passes.blocks import block
from stepgen.frontend.pytorch.importing import from_torch
from stepgen.frontend.quantizing.quantize import quantize
from stepgen.frontend.state import State
from stepgen.frontend.weight import Weight

__all__ = [
    "Batch",
    "Builder",
    "CompileLog",
    "Decoder",
    "Fused",
    "Handle",
    "Kind",
    "Model",
    "Op",
    "Operands",
    "Request",
    "State",
    "Value",
    "Weight",
    "block",
    "compile_log",
    "dumps",
    "from_checkpoint",
    "from_config",
    "from_onnx",
    "from_torch",
    "fused",
    "load",
    "loads",
    "lower",
    "quantize",
    "save",
]
