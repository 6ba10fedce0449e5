#!/usr/bin/env python3
"""What autocast does with each type of layer, beside PyTorch's own: by results on the CPU, by its dispatch table for GPUs.

    autocast.py PROGRAM [--show]

A layer is lowered if its result is of 16 bit for inputs of either type, full if it is of 32 bit for either, and widest if
it has the type of its inputs. An input type that PyTorch refuses says nothing. On GPUs, which it takes no device to ask
about, a layer is not touched if its operator has no entry of its own. PROGRAM is tests/accuracy/layers.c. --show
prints all types.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import warnings

import modules  # skips without PyTorch
import torch
from torch import nn

LOW, FULL = torch.bfloat16, torch.float32
RULES = {"lower": (LOW, LOW), "full": (FULL, FULL), "widest": (FULL, LOW)}
# what earlier versions than 2.1 do otherwise: their lists have no prelu, and transposed convolutions in 32 bit
EARLIER = {"prelu": "widest", "conv_transpose1d": "full", "conv_transpose2d": "full", "conv_transpose3d": "full"}
# products of 16 bit, but a result of the type of the state, which is that of the inputs
BY_STATE = {"lstm": "widest", "gru": "widest"}


# operators of one layer each, as PyTorch's table names them; `promote` ones, which have an entry and are not touched, are left out
ON_GPU = {
    "conv2d": "conv2d", "conv_transpose2d": "conv_transpose2d.input", "linear": "linear", "matmul": "matmul", "prelu": "prelu",
    "layer_norm": "layer_norm", "group_norm": "group_norm", "batch_norm": "batch_norm", "instance_norm": "instance_norm",
    "softmax": "softmax.int", "log_softmax": "log_softmax.int", "softplus": "softplus", "relu": "relu", "gelu": "gelu",
    "silu": "silu", "sigmoid": "sigmoid", "tanh": "tanh", "elu": "elu", "dropout": "dropout", "avg_pool2d": "avg_pool2d",
    "avg_pool3d": "avg_pool3d", "max_pool3d": "max_pool3d", "adaptive_avg_pool2d": "adaptive_avg_pool2d", "exp": "exp",
    "log": "log", "sqrt": "sqrt", "reciprocal": "reciprocal", "pow": "pow.Tensor_Tensor", "sin": "sin", "erf": "erf",
    "add": "add.Tensor", "multiply": "mul.Tensor", "mse_loss": "mse_loss", "l1_loss": "l1_loss", "nll_loss": "nll_loss",
    "smooth_l1_loss": "smooth_l1_loss", "kl_div_loss": "kl_div", "bce_with_logits_loss": "binary_cross_entropy_with_logits",
    "reduce sum": "sum.dim_IntList", "reduce prod": "prod.dim_int", "reduce mean": "mean.dim", "reduce max": "amax",
    "reduce l2": "norm.ScalarOpt_dim", "reduce logsumexp": "logsumexp",
}


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


def of(kind, f, inputs=1, **keys):
    return lambda r: modules.Case(kind, keys, Function(f), [(4, 6)] * inputs)


def recurrent(kind, module):
    return lambda r: modules.Case(kind, dict(hidden=5), module(4, 5, batch_first=True), [(6, 4)])


MORE = [
    of("exp", torch.exp), of("log", torch.log), of("sqrt", torch.sqrt), of("reciprocal", torch.reciprocal),
    of("pow", torch.pow, 2), of("sin", torch.sin), of("erf", torch.erf), of("abs", torch.abs), of("square", torch.square),
    of("add", torch.add, 2), of("multiply", torch.mul, 2), of("divide", torch.div, 2), of("maximum", torch.maximum, 2),
    of("matmul", lambda a, b: torch.matmul(a, b.transpose(1, 2)), 2, transpose_b=True),
    of("concat", lambda a, b: torch.cat([a, b], 1), 2),
    of("reduce", lambda x: x.sum(2), op="sum", axes=2), of("reduce", lambda x: x.mean(2), op="mean", axes=2),
    of("reduce", lambda x: x.prod(2), op="prod", axes=2), of("reduce", lambda x: x.amax(2), op="max", axes=2),
    of("reduce", lambda x: torch.linalg.vector_norm(x, 1, 2), op="l1", axes=2),
    of("reduce", lambda x: torch.linalg.vector_norm(x, 2, 2), op="l2", axes=2),
    of("reduce", lambda x: (x * x).sum(2), op="sumsquare", axes=2),
    of("reduce", lambda x: x.logsumexp(2), op="logsumexp", axes=2),
    recurrent("lstm", nn.LSTM), recurrent("gru", nn.GRU), recurrent("rnn", nn.RNN),
]


def result(case, dtype, enabled=True):
    """Type of what PyTorch computes of inputs of this type; a text: it refuses."""
    inputs = [torch.rand(modules.BATCH, *s).to(dtype) for s in case.shapes]
    target = [] if case.target is None else [case.target]
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=LOW, enabled=enabled):
            y = case.module(*inputs, *target)
    except (RuntimeError, ValueError) as e:
        return str(e).splitlines()[0]
    return (y[0] if isinstance(y, tuple) else y).dtype


def legal(draw, r):
    """A use of the layer that PyTorch takes."""
    for _ in range(100):
        case = draw(r)
        if isinstance(result(case, FULL, False), torch.dtype):
            return case
    sys.exit(f"no use of {case.kind} is legal")


def theirs_of(case):
    return result(case, FULL), result(case, LOW)


def known(kind, rule):
    """Our rule, but where results tell it differently."""
    version = tuple(int(v) for v in torch.__version__.split(".")[:2])
    return BY_STATE.get(kind, EARLIER.get(kind, rule) if version < (2, 1) else rule)


def agrees(theirs, rule):
    told = [(t, e) for t, e in zip(theirs, RULES[rule]) if isinstance(t, torch.dtype)]
    return told and all(t == e for t, e in told)


def touched_on_gpu(case):
    """Has its operator an entry in the table of GPUs? None: it is several operators."""
    name = ON_GPU.get(f"{case.kind} {case.keys['op']}" if case.kind == "reduce" else case.kind)
    return name and torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "AutocastCUDA")


def ask(program, path, kind):
    done = subprocess.run([program, path, str(modules.BATCH), kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return dict(line.split() for line in done.stdout.decode().splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--show", action="store_true")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    r = random.Random(1)
    cases = [legal(draw, r) for draw in modules.MANY + modules.FEW + MORE]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "n.ini")
        with open(path, "w") as f:
            f.write(modules.text_of(cases))
        cpu, gpu = (ask(a.program, path, kind) for kind in ("cpu", "gpu"))
    asked = different = 0
    for i, c in enumerate(cases):
        mine, theirs = known(c.kind, cpu[f"l{i}"]), theirs_of(c)
        wrong = not agrees(theirs, mine)
        if a.show or wrong:
            print(f"{c.kind} {c.keys}: {mine}, PyTorch {theirs[0]} of f32, {theirs[1]} of bf16")
        touched = touched_on_gpu(c)
        off = touched is not None and touched != (gpu[f"l{i}"] != "widest")
        if off:
            print(f"{c.kind} {c.keys} on a GPU: {gpu[f'l{i}']}, PyTorch {'has an' if touched else 'no'} entry")
        asked += 1 + (touched is not None)
        different += wrong + off
    print(f"{asked - different} of {asked} uses of layers as in autocast of PyTorch {torch.__version__}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
