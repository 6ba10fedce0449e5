#!/usr/bin/env python3
"""Layer types against the modules of PyTorch, with keys and shapes drawn at random.

    modules.py PROGRAM [--cases N] [--seed N]

For each type N (200) sets of keys that PyTorch takes, or a tenth where there is little to choose. Output shapes, the
names and shapes of parameters and running statistics, and the bytes autograd keeps for backward must be equal. PROGRAM
is tests/accuracy/layers.c: it binds a file of many layers at once.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    import torchvision
    from torch import nn
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch python3-torchvision)")
    sys.exit(77)

BATCH = 2
SCALARS = 8  # bytes: constants of one element


class Case:
    """A module, what it is called here, and inputs without batch; `surplus` bytes are PyTorch's on the CPU alone."""

    def __init__(self, kind, keys, module, shapes, target=None, surplus=0):
        self.kind, self.keys, self.module, self.shapes, self.target = kind, keys, module, shapes, target
        self.surplus = surplus


def word(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def per_axis(r, axes, low, high):
    return tuple(r.randint(low, high) for _ in range(axes))


def sizes(r, axes, most):
    return tuple(r.randint(1, most) for _ in range(axes))


def convolution(r, axes, transposed):
    groups = r.choice([1, 1, 2, 3])
    c_in, c_out = groups * r.randint(1, 3), groups * r.randint(1, 3)
    keys = dict(kernel=per_axis(r, axes, 1, 4), stride=per_axis(r, axes, 1, 3), padding=per_axis(r, axes, 0, 2),
                dilation=per_axis(r, axes, 1, 3), groups=groups, bias=r.random() < 0.5)
    name = "Conv"
    if transposed:
        name = "ConvTranspose"
        keys["output_padding"] = tuple(r.randint(0, max(s, d) - 1) for s, d in zip(keys["stride"], keys["dilation"]))
    named = {k if k != "kernel" else "kernel_size": v for k, v in keys.items()}
    module = getattr(nn, f"{name}{axes}d")(c_in, c_out, **named)
    kind = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    return Case(kind, dict(filters=c_out, **keys), module, [(c_in, *sizes(r, axes, 8 if axes == 3 else 14))])


def sliding(r, axes, mode):
    kernel = per_axis(r, axes, 1, 4)
    keys = dict(kernel=kernel, ceil_mode=r.random() < 0.5)
    if r.random() < 0.7:
        keys["stride"] = per_axis(r, axes, 1, 4)
    if mode != "lp":
        keys["padding"] = tuple(r.randint(0, k // 2) for k in kernel)
    if mode == "max":
        keys["dilation"] = per_axis(r, axes, 1, 3)
    named = {k if k != "kernel" else "kernel_size": v for k, v in keys.items()}
    if axes == 1:  # its one is a number, not a list
        named = {k: v[0] if isinstance(v, tuple) else v for k, v in named.items()}
    name = {"max": "MaxPool", "avg": "AvgPool", "lp": "LPPool"}[mode] + f"{axes}d"
    if mode == "lp":
        named["norm_type"] = keys["norm"] = r.choice([1.5, 2.0, 3.0])
    return Case(f"{mode}_pool{axes}d", keys, getattr(nn, name)(**named),
                [(r.randint(1, 3), *sizes(r, axes, 8 if axes == 3 else 14))])


def adaptive(r, axes, mode):
    size = per_axis(r, axes, 1, 6)
    module = getattr(nn, {"max": "AdaptiveMaxPool", "avg": "AdaptiveAvgPool"}[mode] + f"{axes}d")
    return Case(f"adaptive_{mode}_pool{axes}d", dict(size=size), module(size if axes > 1 else size[0]),
                [(r.randint(1, 3), *sizes(r, axes, 9))])


def spatial(r, low=1, high=3):
    return tuple(r.randint(2, 6) for _ in range(r.randint(low, high)))


def batch_norm(r):
    shape = (r.randint(1, 6), *spatial(r, 0))
    keys = dict(affine=r.random() < 0.5, track_running_stats=r.random() < 0.5)
    return Case("batch_norm", keys, getattr(nn, f"BatchNorm{max(1, len(shape) - 1)}d")(shape[0], **keys), [shape])


def instance_norm(r):
    shape = (r.randint(1, 6), *spatial(r))
    keys = dict(affine=r.random() < 0.5, track_running_stats=r.random() < 0.5)
    return Case("instance_norm", keys, getattr(nn, f"InstanceNorm{len(shape) - 1}d")(shape[0], **keys), [shape])


def layer_norm(r):
    shape = spatial(r, 1, 4)
    dims = r.randint(1, len(shape))
    affine = r.random() < 0.5
    return Case("layer_norm", dict(dims=dims, affine=affine), nn.LayerNorm(shape[-dims:], elementwise_affine=affine),
                [shape])


def group_norm(r):
    groups = r.randint(1, 4)
    shape = (groups * r.randint(1, 3), *spatial(r, 0, 4))
    affine = r.random() < 0.5
    return Case("group_norm", dict(groups=groups, affine=affine), nn.GroupNorm(groups, shape[0], affine=affine),
                [shape])


def response_norm(r):
    size = r.randint(1, 7)
    return Case("local_response_norm", dict(size=size), nn.LocalResponseNorm(size), [(r.randint(1, 6), *spatial(r))])


def linear(r):
    shape, features, bias = spatial(r, 1, 4), r.randint(1, 9), r.random() < 0.5
    return Case("linear", dict(features=features, bias=bias), nn.Linear(shape[-1], features, bias=bias), [shape])


def bilinear(r):
    shape, other, features, bias = spatial(r, 1, 4), r.randint(1, 9), r.randint(1, 9), r.random() < 0.5
    return Case("bilinear", dict(features=features, bias=bias), nn.Bilinear(shape[-1], other, features, bias=bias),
                [shape, (*shape[:-1], other)])


def simple(kind, make, surplus=lambda n: 0, **keys):
    def draw(r):
        shape = spatial(r, 1, 4)
        n = BATCH
        for d in shape:
            n *= d
        return Case(kind, keys, make(), [shape], surplus=surplus(n))
    return draw


def prelu(r):
    shape, channel = spatial(r, 1, 4), r.random() < 0.5
    return Case("prelu", dict(per="channel" if channel else "shared"), nn.PReLU(shape[0] if channel else 1), [shape])


def along_axis(kind, make, even=False):
    def draw(r):
        shape = list(spatial(r, 1, 4))
        axis = r.randint(-len(shape), len(shape)) or 1
        axis = 1 if axis == -len(shape) - 1 else axis
        place = axis - 1 if axis > 0 else len(shape) + axis
        if even:
            shape[place] *= 2
        return Case(kind, dict(axis=axis), make(axis), [tuple(shape)])
    return draw


def stochastic_depth(r):
    mode = r.choice(["row", "batch"])
    p = r.choice([0.0, 0.2, 0.7])
    module = torchvision.ops.StochasticDepth(p, mode)
    return Case("stochastic_depth", dict(p=p, mode=mode), module, [spatial(r, 1, 4)])


def of_elements(kind, make):
    def draw(r):
        shape = spatial(r, 1, 4)
        return Case(kind, {}, make(), [shape], target=torch.rand(BATCH, *shape))
    return draw


def of_classes(kind, make):
    def draw(r):
        shape = spatial(r, 1, 4)
        if kind == "cross_entropy" and r.random() < 0.5:
            return Case(kind, {}, make(), [shape], target=torch.rand(BATCH, *shape))
        return Case(kind, {}, make(), [shape], target=torch.randint(0, shape[0], (BATCH, *shape[1:])))
    return draw


def float_mask(n):
    return 3 * n  # the CPU's dropout keeps a float for each element, CUDA's a byte


def buffer_of_cpu(n):
    return 4 * n  # log_sigmoid's, which CUDA does without


MANY = (
    [lambda r, a=a, t=t: convolution(r, a, t) for a in (1, 2, 3) for t in (False, True)]
    + [lambda r, a=a, m=m: sliding(r, a, m) for a in (1, 2, 3) for m in ("max", "avg")]
    + [lambda r, a=a: sliding(r, a, "lp") for a in (1, 2)]
    + [lambda r, a=a, m=m: adaptive(r, a, m) for a in (1, 2, 3) for m in ("max", "avg")]
    + [batch_norm, instance_norm, layer_norm, group_norm, response_norm, linear, bilinear]
)
FEW = [
    simple("relu", nn.ReLU), simple("relu6", nn.ReLU6), simple("leaky_relu", nn.LeakyReLU), prelu,
    simple("elu", nn.ELU), simple("celu", nn.CELU), simple("selu", nn.SELU), simple("gelu", nn.GELU),
    simple("gelu", lambda: nn.GELU("tanh"), approximate="tanh"), simple("silu", nn.SiLU), simple("mish", nn.Mish),
    simple("softplus", nn.Softplus), simple("softsign", nn.Softsign), simple("sigmoid", nn.Sigmoid),
    simple("log_sigmoid", nn.LogSigmoid, surplus=buffer_of_cpu), simple("tanh", nn.Tanh),
    simple("tanhshrink", nn.Tanhshrink), simple("softshrink", nn.Softshrink), simple("hardshrink", nn.Hardshrink),
    simple("hard_tanh", nn.Hardtanh), simple("hard_swish", nn.Hardswish), simple("hard_sigmoid", nn.Hardsigmoid),
    simple("threshold", lambda: nn.Threshold(0.1, 20)), along_axis("glu", nn.GLU, even=True),
    along_axis("softmax", nn.Softmax), along_axis("log_softmax", nn.LogSoftmax), along_axis("softmin", nn.Softmin),
    simple("dropout", nn.Dropout, surplus=float_mask), simple("dropout", lambda: nn.Dropout(0.0), p=0),
    simple("alpha_dropout", nn.AlphaDropout), stochastic_depth,
    of_elements("mse_loss", nn.MSELoss), of_elements("l1_loss", nn.L1Loss),
    of_elements("smooth_l1_loss", nn.SmoothL1Loss), of_elements("bce_loss", nn.BCELoss),
    of_elements("bce_with_logits_loss", nn.BCEWithLogitsLoss), of_elements("kl_div_loss", nn.KLDivLoss),
    of_classes("cross_entropy", nn.CrossEntropyLoss), of_classes("nll_loss", nn.NLLLoss),
]


def joined(shape):
    return "x".join(map(str, shape)) if len(shape) else "scalar"


def theirs_of(case):
    """Output, bytes kept, weights as words; None where PyTorch refuses."""
    leaves = [torch.rand(BATCH, *s, requires_grad=True) for s in case.shapes]
    inputs = [x * 1 for x in leaves]  # of its own storage, kept only if the module does
    weights = {n: t for n, t in [*case.module.named_parameters(), *case.module.named_buffers()]
               if n != "num_batches_tracked"}
    own = {t.storage().data_ptr() for t in [*leaves, *weights.values(), *([case.target] if case.target is not None else [])]}
    own |= {b.storage().data_ptr() for b in case.module.buffers()}
    kept = {}

    def pack(t):
        if t.storage().data_ptr() not in own:
            kept[t.storage().data_ptr()] = t.storage().nbytes()
        return t

    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            y = case.module(*inputs, *([case.target] if case.target is not None else []))
    except (RuntimeError, ValueError):
        return None
    return (joined(y.shape), sum(kept.values()) - case.surplus,
            " ".join(f"{n}={joined(t.shape)}" for n, t in weights.items()))


def text_of(cases):
    text = "[network]\nname = n\noutput = " + ", \\\n".join(f"l{i}" for i in range(len(cases))) + "\n"
    for i, c in enumerate(cases):
        names = [f"w{i}_{j}" for j in range(len(c.shapes))]
        for name, shape in zip(names, c.shapes):
            text += f"[x{name}]\ntype = input\nshape = {joined(shape)}\n[{name}]\ntype = prelu\n"
        if c.target is not None:
            dtype = "network" if c.target.is_floating_point() else "i64"
            names.append(f"t{i}")
            shape = c.target.shape[1:]
            if len(shape):
                text += f"[t{i}]\ntype = input\nshape = {joined(shape)}\ndtype = {dtype}\n"
            else:  # a number for each sample: no input has no dimension but the batch
                text += f"[t{i}]\ntype = constant\nshape = {BATCH}\ndtype = {dtype}\n"
        text += f"[l{i}]\ntype = {c.kind}\ninputs = {', '.join(names)}\n"
        text += "".join(f"{k} = {word(v)}\n" for k, v in c.keys.items())
    return text


def check(program, path, cases):
    theirs = [(c, t) for c, t in ((c, theirs_of(c)) for c in cases) if t]
    with open(path, "w") as f:
        f.write(text_of([c for c, _ in theirs]))
    done = subprocess.run([program, path, str(BATCH)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.stderr.decode() + "\n" + cases[0].kind)
    ours = {line.split()[0]: line.split(maxsplit=3)[1:] for line in done.stdout.decode().splitlines()}
    different = 0
    for i, (c, t) in enumerate(theirs):
        output, kept, *weights = ours[f"l{i}"]
        o = (output, int(kept), " ".join(weights))
        if o[0] != t[0] or o[2] != t[2] or not 0 <= t[1] - o[1] <= SCALARS:
            different += 1
            if different < 4:
                print(f"{c.kind} {c.keys} on {c.shapes}: {o}, PyTorch {t}")
    return len(theirs), different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="tests/accuracy/layers.c, built")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    r = random.Random(a.seed)
    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "n.ini")
        for draw, n in [(d, a.cases) for d in MANY] + [(d, (a.cases + 9) // 10) for d in FEW]:
            cases, wrong = check(a.program, path, [draw(r) for _ in range(n)])
            compared += cases
            different += wrong
            if cases < n / 3:
                sys.exit(f"only {cases} of {n} uses of {draw(r).kind} are legal: draw others")
    print(f"{compared - different} of {compared} layers as in PyTorch {torch.__version__}: shapes, parameters, memory")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
