"""Networks of PyTorch modules."""

from __future__ import annotations

import io
import os
import re
import tempfile
import warnings
from typing import Any, Optional

from ._abi import ArgumentError
from ._handles import Library, Network


def from_torch(module: Any, example: Any, *, name: Optional[str] = None, opset: int = 17, strict: bool = False,
               library: Optional[Library] = None) -> Network:
    """A torch.nn.Module as a network, without its weights.

    The module is exported to ONNX in memory, in its present mode: call module.train() or module.eval() first. Its
    parameters and buffers stay as they are. The library reads the export as a file, which is gone when this returns.

    :param module: a torch.nn.Module
    :param example: its input: a tensor, or a tuple of tensors; the first dimension is the batch
    :param name: of the network; None: the module's class
    :param opset: of ONNX
    :param strict: refuse operators that are not known, even where their shapes are
    """
    try:
        import torch
    except ImportError:
        raise ImportError("from_torch needs PyTorch and onnx: install them (Debian: python3-torch python3-onnx)") from None
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"from_torch takes a torch.nn.Module, not {type(module).__name__}")
    called = re.sub(r"[^A-Za-z0-9_]+", "_", name or type(module).__name__)
    export = io.BytesIO()
    mode = torch.onnx.TrainingMode.TRAINING if module.training else torch.onnx.TrainingMode.EVAL
    options = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, example if isinstance(example, tuple) else (example,), export, opset_version=opset,
                          training=mode, do_constant_folding=not module.training, **options)
    with tempfile.TemporaryDirectory(prefix="layermeter-") as folder:
        path = os.path.join(folder, f"{called}.onnx")
        with open(path, "wb") as file:
            file.write(export.getbuffer())
        network = Network(path, strict=strict, library=library)
    network.name = called
    return network
