"""Networks of PyTorch modules."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import warnings
from typing import Any, Iterator, Optional

from ._abi import ArgumentError, UnsupportedError
from ._handles import Library, Network


# Of these PyTorch exports the evaluation mode alone, in which they pass their input on.
_PATHS = ("StochasticDepth", "DropPath")


@contextlib.contextmanager
def _training(torch: Any, module: Any) -> Iterator[None]:
    """Within it the module is in training mode; then its modes, buffers and the random numbers are what they were."""
    modes = [(part, part.training) for part in module.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    with warnings.catch_warnings(), torch.no_grad(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        try:
            for part, _ in modes:
                part.training = type(part).__name__ not in _PATHS
            yield
        finally:
            for part, mode in modes:
                part.training = mode
            for buffer, value in buffers:
                buffer.copy_(value)


def _export(torch: Any, module: Any, inputs: Any, opset: int) -> bytes:
    """An ONNX file that knows the batch as a variable. The export runs the module once."""
    names = [f"input{i}" for i, x in enumerate(inputs) if isinstance(x, torch.Tensor)]
    options = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
    out = io.BytesIO()
    with _training(torch, module):
        try:
            torch.onnx.export(module, inputs, out, opset_version=opset, training=torch.onnx.TrainingMode.PRESERVE,
                              do_constant_folding=False, input_names=names,
                              dynamic_axes={name: {0: "batch"} for name in names}, **options)
        except Exception as error:  # of the module itself, or of what the exporter does not know
            first = str(error).strip().splitlines() or [type(error).__name__]
            raise UnsupportedError(f"PyTorch does not export {type(module).__name__}: {first[0][:300]}") from error
    return out.getvalue()


def from_torch(module: Any, example: Any, *, name: Optional[str] = None, opset: int = 17, strict: bool = False,
               library: Optional[Library] = None) -> Network:
    """A torch.nn.Module as a network, without its weights.

    The module is exported to ONNX in memory, as it trains: the library makes the evaluation mode of it. Parameters,
    buffers, mode and random numbers stay as they are. The library reads the export as a file, which is gone when this
    returns.

    Layers that drop whole paths (StochasticDepth, DropPath) are left out.

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
    export = _export(torch, module, example if isinstance(example, tuple) else (example,), opset)
    with tempfile.TemporaryDirectory(prefix="layermeter-") as folder:
        path = os.path.join(folder, f"{called}.onnx")
        with open(path, "wb") as file:
            file.write(export)
        network = Network(path, strict=strict, library=library)
    network.name = called
    return network
