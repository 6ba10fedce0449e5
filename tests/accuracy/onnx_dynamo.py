#!/usr/bin/env python3
"""onnx_dynamo.py PROGRAM [-v] [--opsets N,...] [NETWORK ...]: see onnx_dynamo.sh. Exit status 1: a file is refused, or its MACs are others."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import onnxscript  # noqa: F401 (the exporter needs it)
    import torch
    import torchvision
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as why:
    print(f"skipped: no exporter of graphs here ({why}): python3 -m pip install torch torchvision onnx onnxscript, "
          "and LAYERMETER_TORCH=its python3")
    sys.exit(77)
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
    print(f"skipped: torch {torch.__version__} is older than 2.6")
    sys.exit(77)

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.backends.mha.set_fastpath_enabled(False)


class Bert(nn.Module):
    def __init__(self, width=192, heads=4, words=1000):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, activation="gelu"), 2)
        self.out = nn.Linear(width, words)

    def forward(self, x):
        return self.out(self.layers(self.words(x) + self.places(torch.arange(x.shape[1]))))


class Causal(nn.Module):
    """Attention to what came before, in one product of queries, keys and values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.first, self.last = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.first(x).split(c, 2))
        return self.last(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))


class Gpt2(nn.Module):
    def __init__(self, width=192, heads=4, words=1000):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.attention = nn.ModuleList(Causal(width, heads) for _ in range(2))
        self.dense = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)) for _ in range(2))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))

    def forward(self, x):
        y = self.words(x) + self.places(torch.arange(x.shape[1]))
        for i, (attention, dense) in enumerate(zip(self.attention, self.dense)):
            y = y + attention(self.norm[2 * i](y))
            y = y + dense(self.norm[2 * i + 1](y))
        return self.norm[4](y) @ self.words.weight.T


class Llama(nn.Module):
    """RMSNorm, rotary places, fewer heads of keys and values, a gated product."""

    def __init__(self, width=192, heads=4, kept=2, words=1000):
        super().__init__()
        self.heads, self.kept, self.each = heads, kept, width // heads
        self.words = nn.Embedding(words, width)
        self.norm = nn.ModuleList(nn.RMSNorm(width) for _ in range(3))
        self.q, self.o = nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.k, self.v = (nn.Linear(width, kept * self.each, False) for _ in range(2))
        self.gate, self.up, self.down = nn.Linear(width, 96, False), nn.Linear(width, 96, False), nn.Linear(96, width, False)
        self.out = nn.Linear(width, words, False)
        self.register_buffer("speed", 1 / 10000 ** (torch.arange(0, self.each, 2) / self.each), persistent=False)

    def turned(self, x):
        at = torch.arange(x.shape[2])[:, None] * self.speed
        at = torch.cat([at, at], -1)
        a, b = x.chunk(2, -1)
        return x * at.cos() + torch.cat([-b, a], -1) * at.sin()

    def forward(self, x):
        y = self.words(x)
        b, t, c = y.shape
        z = self.norm[0](y)
        q = self.turned(self.q(z).view(b, t, self.heads, -1).transpose(1, 2))
        k = self.turned(self.k(z).view(b, t, self.kept, -1).transpose(1, 2)).repeat_interleave(self.heads // self.kept, 1)
        v = self.v(z).view(b, t, self.kept, -1).transpose(1, 2).repeat_interleave(self.heads // self.kept, 1)
        y = y + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        z = self.norm[1](y)
        return self.out(self.norm[2](y + self.down(F.silu(self.gate(z)) * self.up(z))))


class Patches(nn.Module):
    """A vision transformer by hand."""

    def __init__(self, width=64):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 8, 8)
        self.one, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 17, width))
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 128, batch_first=True, norm_first=True), 2,
                                            enable_nested_tensor=False)
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        y = self.cut(x).flatten(2).transpose(1, 2)
        return self.out(self.layers(torch.cat([self.one.expand(y.shape[0], -1, -1), y], 1) + self.places)[:, 0])


class Mixer(nn.Module):
    def __init__(self, width=32, places=16):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 8, 8)
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.along = nn.Sequential(nn.Linear(places, 64), nn.GELU(), nn.Linear(64, places))
        self.across = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        y = self.cut(x).flatten(2).transpose(1, 2)
        y = y + self.along(self.norm[0](y).transpose(1, 2)).transpose(1, 2)
        y = y + self.across(self.norm[1](y))
        return self.out(self.norm[2](y).mean(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        def two(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())
        self.down, self.deep, self.again = two(3, 16), two(16, 32), two(32, 16)
        self.up, self.out = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down(x)
        b = F.interpolate(self.up(self.deep(F.max_pool2d(a, 2))), size=a.shape[-2:], mode="bilinear")
        return self.out(self.again(torch.cat([a, b], 1)))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.rnn, self.out = nn.Embedding(50, 16), getattr(nn, kind)(16, 24, batch_first=True), nn.Linear(24, 5)

    def forward(self, x):
        return self.out(self.rnn(self.words(x))[0])


class Signal(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(2, 8, 5, 2, 2), nn.BatchNorm1d(8), nn.PReLU(8), nn.Conv1d(8, 8, 3, padding=2, dilation=2, groups=2),
                                    nn.InstanceNorm1d(8, affine=True), nn.Mish(), nn.ConvTranspose1d(8, 4, 4, 2, 1), nn.Hardswish(),
                                    nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(16, 3), nn.Softmax(-1))

    def forward(self, x):
        return self.layers(x)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.layers, self.out = nn.Transformer(32, 4, 1, 1, 64, batch_first=True), nn.Linear(32, 50)

    def forward(self, x):
        return self.out(self.layers(self.words(x), self.words(x[:, :4]), tgt_mask=nn.Transformer.generate_square_subsequent_mask(4), tgt_is_causal=True))


def words():
    return torch.ones(2, 8, dtype=torch.long)


def image(size):
    return lambda: torch.zeros(2, 3, size, size)


NETWORKS = {"bert": (Bert, words), "gpt2": (Gpt2, words), "llama": (Llama, words), "patches": (Patches, image(32)), "mixer": (Mixer, image(32)),
            "unet": (UNet, image(32)), "lstm": (lambda: Recurrent("LSTM"), words), "gru": (lambda: Recurrent("GRU"), words),
            "signal": (Signal, lambda: torch.zeros(2, 2, 64)), "seq2seq": (Seq2Seq, words)}
VISION = ("resnet18 resnet50 resnext50_32x4d convnext_tiny vit_b_16 swin_t swin_v2_t efficientnet_b0 efficientnet_v2_s mobilenet_v2 "
          "mobilenet_v3_small mobilenet_v3_large densenet121 shufflenet_v2_x1_0 squeezenet1_1 mnasnet1_0 regnet_y_400mf googlenet inception_v3 "
          "maxvit_t segmentation.deeplabv3_mobilenet_v3_large segmentation.lraspp_mobilenet_v3_large video.r3d_18").split()


def build(name):
    if name in NETWORKS:
        make, sample = NETWORKS[name]
        return make(), sample()
    make = torchvision.models
    for part in name.split("."):
        make = getattr(make, part)
    own = {"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    own.update({"weights_backbone": None} if name.startswith("segmentation.") else {})
    if name.startswith("video."):
        return make(weights=None), torch.zeros(2, 3, 8, 64, 64)
    return make(weights=None, **own), torch.zeros(2, 3, *[299 if name == "inception_v3" else 256 if "swin_v2" in name else 224] * 2)


def count(net, sample):
    """Parameters, and MACs by PyTorch's own counter; recurrent layers by their weights, which it does not see."""
    extra = [0]

    def recurrent(module, inputs, output):
        extra[0] += inputs[0].shape[0] * inputs[0].shape[1] * sum(p.numel() for name, p in module.named_parameters() if "weight" in name)

    hooks = [m.register_forward_hook(recurrent) for m in net.modules() if isinstance(m, nn.RNNBase)]
    with torch.no_grad(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        net(sample)
    for hook in hooks:
        hook.remove()
    macs = counter.get_total_flops() // 2
    if any(isinstance(m, nn.RNNBase) for m in net.modules()):  # it may see some of their products, or none
        macs = sum(sample.numel() * m.weight.numel() for m in net.modules() if isinstance(m, nn.Linear)) + extra[0]
    return sum(p.numel() for p in net.parameters()), macs


def without_norms(net, sample):
    """Parameters once each batch norm behind a convolution is folded into it, as the exporter does: the convolution has a bias then."""
    made, less = {}, [0]

    def convolved(module, inputs, output):
        made[id(output)] = (module, output)

    def normed(module, inputs):
        before, _ = made.get(id(inputs[0]), (None, None))
        less[0] += 0 if before is None else module.num_features * (1 if before.bias is None else 2)

    hooks = [m.register_forward_hook(convolved) for m in net.modules() if isinstance(m, nn.modules.conv._ConvNd)]
    hooks += [m.register_forward_pre_hook(normed) for m in net.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        net(sample)
    for hook in hooks:
        hook.remove()
    return sum(p.numel() for p in net.parameters()) - less[0]


def show(program, path, batch):
    done = subprocess.run([program, "show", path, "--batch", str(batch), "--totals", "--format", "json"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return None, done.stderr.strip()
    total = json.loads(done.stdout)["total"]
    return (total["params"], total["macs_conv"] + total["macs_linear"] + total["macs_matmul"]), None


def make_unequal(net):
    """Equal tensors would become one."""
    with torch.no_grad():
        for tensor in net.state_dict().values():
            if tensor.is_floating_point():
                tensor.uniform_(0.1, 1)


def same_macs(net, ours, theirs):
    """What the exporter computed beforehand is in no file: the small network that makes swin v2's biases of places."""
    folded = isinstance(net, torchvision.models.SwinTransformer) and any("cpb_mlp" in name for name, _ in net.named_modules())
    return ours == theirs or (folded and theirs * 0.999 < ours < theirs)


def compare(program, name, opset, dynamic, folder, verbose):
    """(MACs are the same, and parameters), or None: not exported."""
    net, sample = build(name)
    net.eval()
    make_unequal(net)
    sample = sample if dynamic else sample[:1]  # what is repeated for a batch that stands fast would be in the file as often
    path, what = f"{folder}/{name}.{opset}.onnx", f"{name} {opset}{' dynamic' * dynamic}"
    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},) if dynamic else None
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            torch.onnx.export(net, (sample,), path, dynamo=True, opset_version=opset, dynamic_shapes=shapes, verbose=False)
    except Exception as why:  # whatever the exporter raises is its own
        print(f"{what}: torch cannot: {str(why).strip().splitlines()[0][:150]}", flush=True)
        return None
    macs = params = True
    for batch in (2, 3) if dynamic else (1,):
        given = sample[:1].repeat(batch, *[1] * (sample.dim() - 1))
        theirs = without_norms(net, given), count(net, given)[1]
        ours, why = show(program, path, batch)
        macs, params = macs and not why and same_macs(net, ours[1], theirs[1]), params and not why and ours[0] == theirs[0]
        if verbose or why or not macs or not params:
            said = why or f"MACs {ours[1]} of {theirs[1]}, parameters {ours[0]} of {theirs[0]}"
            print(f"{what}, batch {batch}: {said.replace(folder + '/', '')[:300]}", flush=True)
    if not os.environ.get("LAYERMETER_KEEP"):
        for file in os.listdir(folder):
            os.remove(f"{folder}/{file}")
    return macs, params


class Small(nn.Module):
    """A fixture: a convolution whose norm the exporter folds, and a gate."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.gate, self.out = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 1), nn.Linear(8, 4)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)))
        return self.out((y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))).mean((2, 3)))


def fixtures(folder):
    """Small exports for tests/cli/inputs: of their metadata the sources alone, of large tensors the shapes."""
    import onnx

    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},)
    torch.manual_seed(1)
    for name, net, sample in (("dynamo_llama", Llama(16, 4, 2, 40), words()), ("dynamo_small", Small(), image(16)())):
        make_unequal(net)
        torch.onnx.export(net.eval(), (sample,), f"{folder}/{name}.onnx", dynamo=True, opset_version=21, dynamic_shapes=shapes,
                          external_data=False, verbose=False)
        model = onnx.load(f"{folder}/{name}.onnx")
        model.doc_string = model.graph.doc_string = ""
        del model.metadata_props[:], model.graph.metadata_props[:]
        for value in [*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
            del value.metadata_props[:]
        for node in model.graph.node:
            sources = [p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.fx_node"]
            del node.metadata_props[:]
            for source in sources:
                entry = node.metadata_props.add()
                entry.key, entry.value = "pkg.torch.onnx.fx_node", source[:400]
        for tensor in model.graph.initializer:
            if len(tensor.raw_data) > 64:
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
                entry = tensor.external_data.add()
                entry.key, entry.value = "location", "nowhere.bin"
        with open(f"{folder}/{name}.onnx", "wb") as file:
            file.write(model.SerializeToString())


def main():
    program, *rest = sys.argv[1:]
    if rest and rest[0] == "--fixtures":
        return fixtures(rest[1])
    verbose, opsets, names = "-v" in rest, [18, 21], []
    rest = [w for w in rest if w != "-v"]
    if rest and rest[0] == "--opsets":
        opsets, rest = [int(n) for n in rest[1].split(",")], rest[2:]
    names = rest or list(NETWORKS) + VISION
    results = []
    with tempfile.TemporaryDirectory() as own:
        for name in names:
            for opset in opsets:
                # the latter with a batch that the file leaves open
                results.append(compare(program, name, opset, opset != opsets[0], os.environ.get("LAYERMETER_KEEP") or own, verbose))
    done = [r for r in results if r is not None]
    print(f"torch {torch.__version__}: of {len(done)} exports of {len(names)} networks {sum(m for m, _ in done)} have PyTorch's MACs, "
          f"{sum(p for _, p in done)} its parameters; {len(results) - len(done)} were not exported")
    return int(not all(m for m, _ in done))


if __name__ == "__main__":
    sys.exit(main())
