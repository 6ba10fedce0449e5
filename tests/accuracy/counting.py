"""What is counted of a PyTorch module in one forward pass of one sample, by the names of `layermeter show`.

Modules without children are layers: hooks count their calls, the elements that come out of them, and what goes in and
out of convolutions and linear layers. Products are counted where they are executed, whoever asks for them: those with
a matrix for all samples, and those of one activation with another. Tensors are fake, with shapes and no numbers:
nothing is computed, and a network of 70 billion parameters needs no memory.
"""
import math

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

NAMES = ("params", "param_tensors", "macs_conv", "macs_linear", "macs_matmul", "conv_inputs", "conv_outputs",
         "linear_inputs", "linear_outputs", "layers", "activation_bytes")


class Products(TorchDispatchMode):
    """Multiply-accumulates of all that is executed within."""

    def __init__(self):
        super().__init__()
        self.macs = {"conv": 0, "linear": 0, "matmul": 0}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function._schema.name
        if name in ("aten::mm", "aten::addmm"):
            rows, columns = args[-2:]
            self.macs["linear"] += math.prod(rows.shape) * columns.shape[1]
        elif name in ("aten::bmm", "aten::baddbmm"):
            rows, columns = args[-2:]
            self.macs["matmul"] += math.prod(rows.shape) * columns.shape[2]
        elif name == "aten::convolution":
            x, weight, transposed = args[0], args[1], args[6]
            self.macs["conv"] += (x if transposed else result).numel() * math.prod(weight.shape[1:])
        return result


def tensors_of(output):
    return [output] if isinstance(output, torch.Tensor) else [t for part in output for t in tensors_of(part)]


def hook_leaves(model, n):
    """Counts calls, outputs, and inputs and outputs of products in `n`; what a recurrent layer puts out are its last
    states, too."""
    def note(module, inputs, output):
        outputs = tensors_of(output)
        n["layers"] += 1
        n["activation_bytes"] += 4 * sum(t.numel() for t in outputs)
        for kind, types in (("conv", nn.modules.conv._ConvNd), ("linear", (nn.Linear, nn.RNNBase))):
            if isinstance(module, types):
                n[kind + "_inputs"] += inputs[0].numel()
                n[kind + "_outputs"] += outputs[0].numel()

    for m in model.modules():
        if not list(m.children()):
            m.register_forward_hook(note)


def count(make, *samples, prepare=None):
    """`make` makes the module; a sample is a shape of numbers, or ("tokens", length); `prepare` adds hooks of its own."""
    n = dict.fromkeys(NAMES, 0)
    with FakeTensorMode(), torch.no_grad():
        model = make()
        hook_leaves(model, n)
        if prepare:
            prepare(model, n)
        x = [torch.zeros(1, s[1], dtype=torch.long) if s[0] == "tokens" else torch.zeros(1, *s) for s in samples]
        with Products() as products:
            model(*x)
    n.update({"macs_" + kind: macs for kind, macs in products.macs.items()})
    n["params"] = sum(p.numel() for p in model.parameters())
    n["param_tensors"] = len(list(model.parameters()))
    return n
