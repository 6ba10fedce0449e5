#!/usr/bin/env python3
"""Layers one by one against PyTorch: the output's shape, the parameters, and the bytes autograd keeps for backward.

    tensors.py --layermeter build/bin/layermeter

A case is inputs, a layer's type and keys, and what PyTorch calls it. Inputs are `-p` of a parameter p, so that a
gradient flows back to them and what is kept of them is memory of its own; `i64 4x5` is a constant.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch)")
    sys.exit(77)

SCALARS = 8  # bytes: constants of one element
ELSEWHERE = object()  # PyTorch keeps something else; the comment says what


def attention(q, k, v):
    p = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
    return p @ v


CASES = [
    (["2x3x4"], "flatten", lambda x: x.flatten(1)),
    (["2x3x4"], "flatten start=0 end=1", lambda x: x.flatten(0, 1)),
    (["2x3x4"], "reshape shape=0,-1,2", lambda x: x.reshape(2, -1, 2)),
    (["2x1x4"], "squeeze axis=1", lambda x: x.squeeze(1)),
    (["2x4"], "unsqueeze axis=-1", lambda x: x.unsqueeze(-1)),
    (["2x3x4"], "permute order=2,0,1", lambda x: x.permute(2, 0, 1).contiguous()),
    (["2x9"], "slice start=1 end=-1 step=3", lambda x: x[:, 1:-1:3]),
    (["2x9"], "slice axis=0 start=-1", lambda x: x[-1:]),
    (["2x11"], "chunk parts=4 part=3", lambda x: x.chunk(4, 1)[3]),
    (["2x12"], "chunk parts=5 part=2", lambda x: x.chunk(5, 1)[2]),
    (["2x3", "2x5"], "concat", lambda *x: torch.cat(x, 1)),
    (["2x1x4"], "expand shape=5,-1,3,4", lambda x: x.expand(5, -1, 3, 4)),
    (["2x3x4"], "pad before=1,0 after=2,3", lambda x: F.pad(x, (0, 3, 1, 2))),
    (["2x12x3x5"], "pixel_shuffle factor=2", nn.PixelShuffle(2)),
    (["2x3x4x6"], "pixel_unshuffle factor=2", nn.PixelUnshuffle(2)),
    (["2x6x3"], "channel_shuffle groups=3", lambda x: x.reshape(2, 3, 2, 3).transpose(1, 2).reshape(2, 6, 3)),
    (["2x3x4"], "roll shifts=1,-2 axes=1,2", lambda x: x.roll((1, -2), (1, 2))),
    (["2x3"], "tile repeats=2,2,3", lambda x: x.repeat(2, 2, 3)),
    (["2x5x3", "i64 4"], "gather axis=1", lambda x, i: x.index_select(1, i)),
    (["2x3x4"], "cast to=f64", lambda x: x.double()),
    (["2x3x4"], "identity", nn.Identity()),
    (["2x3x5x7"], "upsample factor=1.7", lambda x: F.interpolate(x, scale_factor=1.7)),
    (["2x3x5x7"], "upsample size=9,11 mode=bilinear", lambda x: F.interpolate(x, (9, 11), mode="bilinear")),
    (["2x3x5x7"], "upsample factor=2.5 mode=bicubic", lambda x: F.interpolate(x, scale_factor=2.5, mode="bicubic")),
    (["2x3x7"], "upsample factor=2 mode=linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear")),
    (["2x3x4x4x4"], "upsample size=8 mode=trilinear", lambda x: F.interpolate(x, (8, 8, 8), mode="trilinear")),
    # the mean of windows is the function adaptive_avg_pool2d, which keeps its input
    (["2x3x8x9"], "upsample size=4 mode=area", lambda x: F.interpolate(x, (4, 4), mode="area"), ELSEWHERE),
    (["2x3x4", "2x3x4"], "add", lambda a, b: a + b),
    (["2x3x4", "4"], "multiply", lambda a, b: a * b),
    (["2x1x4", "3x1"], "subtract", lambda a, b: a - b),
    (["2x3x4", "3x1"], "divide", lambda a, b: a / b),
    (["2x3x4", "2x3x4"], "pow", lambda a, b: a.abs() ** b, ELSEWHERE),  # of abs(), too
    (["2x3x4", "2x3x4"], "minimum", torch.minimum),
    (["2x3x4", "2x3x4"], "maximum", torch.maximum),
    (["2x3x4", "2x3x4"], "compare", lambda a, b: a < b),
    (["u8 2x3x4", "2x3x4", "2x3x4"], "where", torch.where),
    (["2x3x4"], "scale flops=2", lambda x: 2 * x + 1),
    (["2x3x4"], "exp", torch.exp),
    (["2x3x4"], "log", torch.log),
    (["2x3x4"], "sqrt", torch.sqrt),
    (["2x3x4"], "reciprocal", torch.reciprocal),
    (["2x3x4"], "abs", torch.abs),
    (["2x3x4"], "neg", torch.neg),
    (["2x3x4"], "erf", torch.erf),
    (["2x3x4"], "sin", torch.sin),
    (["2x3x4"], "cos", torch.cos),
    (["2x3x4"], "square", torch.square),
    (["2x3x4"], "clip", lambda x: x.clip(-1, 1)),
    (["2x3x4"], "floor", torch.floor),
    (["2x3x4"], "ceil", torch.ceil),
    (["2x3x4"], "round", torch.round),
    (["2x3x4"], "sign", torch.sign),
    (["2x3x4"], "reduce op=sum", lambda x: x.sum(-1)),
    (["2x3x4"], "reduce op=mean axes=0,2 keep=yes",
     lambda x: x.mean((0, 2), keepdim=True), ELSEWHERE),  # 1.13 its input, for the number of elements
    (["2x3x4"], "reduce op=max", lambda x: x.amax(-1)),
    (["2x3x4"], "reduce op=min axes=1", lambda x: x.amin(1)),
    (["2x3x4"], "reduce op=prod", lambda x: x.prod(-1)),
    (["2x3x4"], "reduce op=l1", lambda x: x.norm(1, -1), ELSEWHERE),  # its result, too
    (["2x3x4"], "reduce op=l2", lambda x: x.norm(2, -1)),
    (["2x3x4"], "reduce op=sumsquare", lambda x: x.square().sum(-1)),
    (["2x3x4"], "reduce op=logsumexp", lambda x: x.logsumexp(-1)),
    (["2x3x4"], "reduce op=argmax", lambda x: x.argmax(-1)),
    (["2x3x4", "4x5"], "matmul", torch.matmul),
    (["2x3x4", "2x4x5"], "matmul", torch.matmul),
    (["2x3x4x5", "5x5"], "matmul transpose_b=yes", lambda a, b: a @ b.T),
    (["2x3x4x5", "2x1x5x6"], "matmul", torch.matmul),
    (["i64 2x5"], "embedding vocabulary=7 width=4", nn.Embedding(7, 4)),
    # how long bags are, and where they begin
    (["i64 2x5"], "embedding_bag vocabulary=7 width=4", nn.EmbeddingBag(7, 4), ELSEWHERE),
    (["2x2x3x4", "2x2x5x4", "2x2x5x6"], "scaled_dot_product_attention memory=plain", attention),
    # queries once more, scaled
    (["2x5x8"], "multi_head_attention heads=2 memory=plain",
     (nn.MultiheadAttention(8, 2, batch_first=True), 3), ELSEWHERE),
    (["2x5x8"], "multi_head_attention heads=4 bias=no",
     (nn.MultiheadAttention(8, 4, bias=False, batch_first=True), 3), ELSEWHERE),
    (["2x5x8", "2x7x6", "2x7x4"], "multi_head_attention heads=2",
     (nn.MultiheadAttention(8, 2, kdim=6, vdim=4, batch_first=True), 1), ELSEWHERE),
    # on the CPU each step keeps its own views and sums
    (["2x3x4"], "rnn hidden=5", nn.RNN(4, 5, batch_first=True), ELSEWHERE),
    (["2x3x4"], "rnn hidden=5 layers=2 nonlinearity=relu bias=no",
     nn.RNN(4, 5, 2, nonlinearity="relu", bias=False, batch_first=True), ELSEWHERE),
    (["2x3x4"], "lstm hidden=5 layers=3 bidirectional=yes dropout=0.5",
     nn.LSTM(4, 5, 3, bidirectional=True, dropout=0.5, batch_first=True), ELSEWHERE),
    (["2x3x4"], "lstm hidden=5 layers=2 projection=2", nn.LSTM(4, 5, 2, proj_size=2, batch_first=True), ELSEWHERE),
    (["2x3x4"], "gru hidden=5 layers=2 bidirectional=yes",
     nn.GRU(4, 5, 2, bidirectional=True, batch_first=True), ELSEWHERE),
]


def ini_of(inputs, layer):
    words = layer.split()
    text = "[network]\nname = n\noutput = x, l\n[x]\ntype = input\nshape = 1\n"
    for i, spec in enumerate(inputs):
        dtype, shape = spec.split() if " " in spec else (None, spec)
        if dtype:
            text += f"[in{i}]\ntype = constant\nshape = {shape}\ndtype = {dtype}\n"
        else:
            text += f"[p{i}]\ntype = parameter\nshape = {shape}\n[in{i}]\ntype = neg\n"
    text += f"[l]\ntype = {words[0]}\ninputs = " + ", ".join(f"in{i}" for i in range(len(inputs))) + "\n"
    return text + "".join(w.replace("=", " = ", 1) + "\n" for w in words[1:])


def tensor_of(spec):
    dtype, shape = spec.split() if " " in spec else (None, spec)
    dims = [int(d) for d in shape.split("x")]
    if dtype:
        return torch.zeros(dims, dtype={"i64": torch.long, "u8": torch.bool}[dtype])
    return nn.Parameter(-torch.rand(dims) - 1)


def theirs_of(inputs, call):
    """Output shape, numbers of parameter tensors and elements, bytes kept."""
    function, repeats = call if isinstance(call, tuple) else (call, 1)
    leaves = [tensor_of(s) for s in inputs]
    x = [-t if isinstance(t, nn.Parameter) else t for t in leaves] * repeats
    weights = list(function.parameters()) if isinstance(function, nn.Module) else []
    own = {t.storage().data_ptr() for t in [*leaves, *weights]}
    kept = {}

    def pack(t):
        if t.storage().data_ptr() not in own:
            kept[t.storage().data_ptr()] = t.storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = function(*x)
    y = y[0] if isinstance(y, tuple) else y
    pack(y)  # it lives as long
    return "x".join(map(str, y.shape)), len(weights), sum(w.numel() for w in weights), sum(kept.values())


def ours_of(program, path):
    def run(command):
        done = subprocess.run([program, command, path, "--batch", "2", "--format", "json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(done.stderr.decode())
        return json.loads(done.stdout)

    layer = next(r for r in run("show")["layers"] if r["layer"] == "l")
    return layer["output"], layer["param_tensors"], layer["params"], run("memory")["points"][0]["kept_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layermeter", default="layermeter", help="the program (layermeter)")
    a = parser.parse_args()
    torch.set_num_threads(1)
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "n.ini")
        for inputs, layer, call, *elsewhere in CASES:
            with open(path, "w") as f:
                f.write(ini_of(inputs, layer))
            ours, theirs = ours_of(a.layermeter, path), theirs_of(inputs, call)
            n = 3 if elsewhere else 4
            if ours[:3] != theirs[:3] or n == 4 and not 0 <= theirs[3] - ours[3] <= SCALARS:
                different += 1
                print(f"{layer} on {', '.join(inputs)}: {ours[:n]}, PyTorch {theirs[:n]}")
    print(f"{len(CASES) - different} of {len(CASES)} layers as in PyTorch {torch.__version__}: shape, parameters, memory")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
