#!/usr/bin/env python3
"""Networks exported by torch.onnx against what PyTorch counts of them: parameters, MACs of convolutions and linear layers.

usage: onnx_torch.py LAYERMETER [--modes MODE,...] [NETWORK ...]

Without names, small modules of its own; a name is one of torchvision's networks (video.r3d_18), or of the modules. A mode is
train, eval or dynamic (a training export with a symbolic batch) and the opset: train13. Each file is counted as it is,
at another batch, and after an import to INI. Exit status 77: no torch.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    import torchvision
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("skipped: no torch and torchvision (Debian: python3-torch, python3-torchvision)")
    sys.exit(77)

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


class Sequence(nn.Module):
    """Embedding, a recurrent layer, a linear one over each of its outputs or the last state."""

    def __init__(self, kind, last=False, **options):
        super().__init__()
        self.last = last
        self.words = nn.Embedding(50, 16)
        self.rnn = getattr(nn, kind)(16, 24, batch_first=True, **options)
        self.out = nn.Linear(24 * (2 if options.get("bidirectional") and not last else 1), 5)

    def forward(self, x):
        y, state = self.rnn(self.words(x))
        state = state[0] if isinstance(state, tuple) else state
        return self.out(state[-1] if self.last else y)


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.places = nn.Parameter(torch.zeros(1, 7, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **options)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(16, 50, bias=False)
        self.out.weight = self.words.weight

    def forward(self, x):
        return self.out(self.layers(self.words(x) + self.places))


class Signal(nn.Module):
    """One dimension: norms and activations that exporters take apart."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv1d(3, 8, 3, padding=1)
        self.group = nn.GroupNorm(2, 8)
        self.slope = nn.PReLU(8)
        self.up = nn.ConvTranspose1d(8, 4, 4, 2, 1)
        self.each = nn.InstanceNorm1d(4, affine=True)
        self.norm = nn.LayerNorm(4)
        self.out = nn.Linear(4, 4)

    def forward(self, x):
        y = self.each(self.up(self.slope(self.group(self.down(x)))))
        y = F.mish(F.hardswish(F.gelu(F.silu(F.interpolate(y, scale_factor=2.0)))))
        return F.softmax(self.out(self.norm(y.transpose(1, 2))), -1)


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(3, 8, 3, padding=1, groups=1)
        self.norm = nn.BatchNorm3d(8)
        self.up = nn.ConvTranspose3d(8, 4, 2, 2)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        y = self.up(F.relu(F.max_pool3d(self.norm(self.conv(x)), 2)))
        return self.out(F.adaptive_avg_pool3d(y, 1).flatten(1))


class Images(nn.Module):
    """What convolutional networks do beside convolving."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Sigmoid())
        self.deep = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.PixelShuffle(2))
        self.scale = nn.Parameter(torch.ones(8, 1, 1))
        self.classes = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(2, 10))

    def forward(self, x):
        y = F.relu6(self.norm(self.first(x)))
        y = y * self.gate(y)
        y = y + self.scale * F.hardtanh(self.deep(F.pad(y, (1, 0, 1, 0))[:, :, 1:, 1:]))
        a, b = torch.cat([F.leaky_relu(y), F.elu(y)], 1).chunk(2, 1)
        y = F.avg_pool2d(F.max_pool2d(a - b, 3, 2, 1, ceil_mode=True), 2)
        return self.classes(self.up(y))


class Moves(nn.Module):
    """Elements chosen, repeated and summed along a dimension; noise; einsum of one and three factors."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(9, 16)
        self.query = nn.Parameter(torch.zeros(1, 3, 16))
        self.near = nn.Linear(5, 7, bias=False)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        at = torch.cumsum((x != 1).long(), 1)
        y = self.words(x) + self.places(at)
        y = y + torch.rand_like(y)
        best, which = y.topk(2, 1)
        y = y.scatter(1, which[:, :1], 0.0)
        y = torch.gather(y, 1, which) + best
        near = self.near.weight.softmax(-1).unsqueeze(0).repeat(x.shape[0], 1, 1)  # of weights alone, for each sample
        q = torch.cat([self.query.repeat(x.shape[0], 1, 1), near.transpose(1, 2)[:, :, :1].expand(-1, -1, 16)], 1)
        z = torch.einsum("nqe,nke,nkf->nqf", q, y, y)
        return self.out(torch.einsum("nqf->nfq", z).transpose(1, 2))


class Standard(nn.Conv2d):
    """Its weight has mean 0 and variance 1 for each output, times a gain."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.gain = nn.Parameter(torch.ones(self.out_channels, 1, 1, 1))

    def forward(self, x):
        w = (self.weight - self.weight.mean((1, 2, 3), keepdim=True)) / self.weight.std((1, 2, 3), keepdim=True) * self.gain
        return F.conv2d(x, w, self.bias, self.stride)


class Standardised(nn.Module):
    """Weights that are computed of weights, and padding computed of sizes."""

    def __init__(self):
        super().__init__()
        self.first = Standard(3, 8, 3, 2)
        self.second = nn.utils.weight_norm(nn.Conv2d(8, 8, 3, padding=1))
        self.bias = nn.Parameter(torch.zeros(4))
        self.out = nn.Linear(8, 8, bias=False)

    def forward(self, x):
        high, wide = x.shape[-2:]
        pad = [max((-(-s // 2) - 1) * 2 + 3 - s, 0) for s in (int(wide), int(high))]
        x = F.pad(x, (pad[0] // 2, pad[0] - pad[0] // 2, pad[1] // 2, pad[1] - pad[1] // 2))
        y = self.second(F.relu(self.first(x))).mean((2, 3))
        return F.linear(y, self.out.weight, torch.cat([self.bias, torch.zeros(4)]))


modules = {
    "lstm": (lambda: Sequence("LSTM"), lambda: torch.zeros(2, 7, dtype=torch.long)),
    "lstm_both": (lambda: Sequence("LSTM", num_layers=2, bidirectional=True), lambda: torch.zeros(1, 7, dtype=torch.long)),
    "gru_last": (lambda: Sequence("GRU", last=True, num_layers=2), lambda: torch.zeros(2, 7, dtype=torch.long)),
    "rnn": (lambda: Sequence("RNN", bias=False), lambda: torch.zeros(1, 7, dtype=torch.long)),
    "encoder": (Encoder, lambda: torch.zeros(1, 7, dtype=torch.long)),
    "encoder_first": (lambda: Encoder(norm_first=True, activation="gelu"), lambda: torch.zeros(3, 7, dtype=torch.long)),
    "transformer": (lambda: nn.Transformer(16, 4, 1, 1, 32, batch_first=True),
                    lambda: (torch.zeros(2, 5, 16), torch.zeros(2, 4, 16))),
    "signal": (Signal, lambda: torch.zeros(1, 3, 32)),
    "volume": (Volume, lambda: torch.zeros(1, 3, 8, 8, 8)),
    "images": (Images, lambda: torch.zeros(1, 3, 64, 64)),
    "moves": (Moves, lambda: torch.zeros(2, 7, dtype=torch.long)),
    "standardised": (Standardised, lambda: torch.zeros(1, 3, 32, 32)),
}
# an eval export folds batch norm and turns shared weights around: its parameters are not the module's
folded = ("volume", "images", "encoder", "encoder_first", "standardised")


def build(name):
    if name in modules:
        make, sample = modules[name]
        return make(), sample()
    make = torchvision.models
    for part in name.split("."):
        make = getattr(make, part)
    size = 299 if name == "inception_v3" else 256 if "swin_v2" in name else 224
    own = {"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    own.update({"weights_backbone": None} if name.startswith("segmentation.") else {})
    net = make(weights=None, **own)
    for module in net.modules():
        if isinstance(module, torchvision.ops.StochasticDepth):
            module.p = 0.0
    return net, torch.zeros(1, 3, 16, 112, 112) if name.startswith("video.") else torch.zeros(1, 3, size, size)


def count(net, sample):
    """Parameters, their tensors, MACs of convolutions and of linear layers, recurrent ones among them; batch 1."""
    macs = {"conv": 0, "linear": 0}
    linear = F.linear

    def counted_linear(x, weight, bias=None):
        macs["linear"] += x.numel() // x.shape[-1] * weight.numel()
        return linear(x, weight, bias)

    def conv(module, inputs, output):
        macs["conv"] += (inputs[0] if module.transposed else output).numel() * module.weight.numel() // (
            module.weight.shape[0])

    def recurrent(module, inputs, output):
        weights = sum(p.numel() for name, p in module.named_parameters() if "weight" in name)
        macs["linear"] += inputs[0].shape[0] * inputs[0].shape[1] * weights

    hooks = [m.register_forward_hook(conv) for m in net.modules() if isinstance(m, nn.modules.conv._ConvNd)]
    hooks += [m.register_forward_hook(recurrent) for m in net.modules() if isinstance(m, nn.RNNBase)]
    net.train()  # the fast path of attention in inference hides its products
    samples = sample if isinstance(sample, tuple) else (sample,)
    F.linear = counted_linear
    with torch.no_grad():
        net(*[s[:1].repeat(2, *[1] * (s.dim() - 1)) for s in samples])  # batch norm wants two
    F.linear = linear
    for hook in hooks:
        hook.remove()
    return [sum(p.numel() for p in net.parameters()), len(list(net.parameters())), macs["conv"] // 2,
            macs["linear"] // 2]


def export(net, sample, mode, path):
    kind, opset = mode.rstrip("0123456789"), int(mode.lstrip("abcdefghijklmnopqrstuvwxyz"))
    names = [f"input{i}" for i in range(len(sample))] if isinstance(sample, tuple) else ["input"]
    options = {"opset_version": opset, "input_names": names}
    net.train(kind != "eval")
    if kind != "eval":
        options.update(training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, export_params=False)
    if kind == "dynamic":
        options.update(dynamic_axes={n: {0: "batch"} for n in names})
    torch.onnx.export(net, sample, path, **options)


def ours(layermeter, path, batch):
    shown = subprocess.run([layermeter, "show", path, "--batch", str(batch), "--totals", "--format", "json"],
                           capture_output=True, text=True, check=False)
    if shown.returncode:
        return shown.stderr.strip()
    total = json.loads(shown.stdout)["total"]
    return [total["params"], total["param_tensors"], total["macs_conv"] / batch, total["macs_linear"] / batch]


def compare(layermeter, name, mode, folder):
    net, sample = build(name)
    path, ini = f"{folder}/{name}.{mode}.onnx", f"{folder}/{name}.{mode}.ini"
    theirs = count(net, sample)
    try:
        export(net, sample, mode, path)
    except (torch.onnx.errors.OnnxExporterError, ValueError, RuntimeError) as error:
        print(f"{name} {mode}: torch cannot: {str(error)[:100]}")
        return True
    subprocess.run([layermeter, "import", path, "-o", ini], capture_output=True, check=False)
    rows = [ours(layermeter, path, 1), ours(layermeter, path, 3), ours(layermeter, ini, 1)]
    skip = 2 if mode.startswith("eval") and (name in folded or name not in modules) else 0
    tensors = name == "transformer"  # cross attention takes in_proj_weight in parts, which are counted
    for row in rows:
        if isinstance(row, str) or row[skip:1] + row[skip if skip else 1 + tensors:] != \
                theirs[skip:1] + theirs[skip if skip else 1 + tensors:]:
            print(f"{name} {mode}: params, tensors, MACs (conv, linear)\n  PyTorch:    {theirs}")
            print("  layermeter: (file, batch 3, INI) " + "; ".join(map(str, rows)))
            return False
    os.remove(path)
    return True


def main():
    arguments = sys.argv[1:]
    layermeter = arguments.pop(0)
    modes = ["train9", "train13", "dynamic13", "eval13", "eval17"]
    if arguments and arguments[0] == "--modes":
        modes = arguments[1].split(",")
        arguments = arguments[2:]
    names = arguments or list(modules)
    with tempfile.TemporaryDirectory() as folder:
        results = [compare(layermeter, name, mode, folder) for name in names for mode in modes]
    print(f"{sum(results)} of {len(results)} exports equal")
    return 0 if all(results) else 1


sys.exit(main())
