"""Models as tensor graphs: built in Python, imported from PyTorch, or read from checkpoints.

A `Model` is a list of operations, each of which computes whole tensors. What it computes is defined
in plain numpy; the operations of every model are those of `stepgen.frontend.kinds`.
"""

from __future__ import annotations

from .batch import Batch, Request
from .builder import Builder, Handle
from .compiled import CompileLog, compile_log
from .decoding import Decoder
from .files import dumps, load, loads, save
from .fusing import Fused, fused
from .kind import Kind, Operands, Value
from .loading import from_checkpoint, from_config
from .lowering import lower
from .model import Model, Op
from .onnxfile.importing import from_onnx
from .passes.blocks import block
from .pytorch.importing import from_torch
from .quantizing.quantize import quantize
from .state import State
from .weight import Weight

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
