"""Totals of Layermeter against PyTorch's modules, for networks of torchvision that metrics.csv does not have.

    torchvision_counts.py PROGRAM NETWORK[:IMAGE]...

Hooks on leaf modules count, for one sample, what `layermeter show` prints: multiply-accumulates of
convolutions and linear layers, their inputs and outputs, calls and output elements of all modules,
parameters and their tensors. Attention calls functions with the weights of its modules: torch's is
counted as one module, Swin's as four products. Nothing is computed: tensors are fake, with shapes
and no numbers.
"""
import functools
import json
import math
import subprocess
import sys
import unittest.mock

try:
    import torch
    import torchvision
    from torch._subclasses import FakeTensorMode
    from torchvision.models.swin_transformer import ShiftedWindowAttention
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch python3-torchvision)", file=sys.stderr)
    sys.exit(77)


# Auxiliary classifiers are in no evaluation, but among the parameters.
OPTIONS = {"googlenet": {"aux_logits": False, "init_weights": False}}
SEGMENTATION = {"weights_backbone": None, "aux_loss": True}


def maker(network):
    """What makes the network when it is called. RegNet computes its widths by tensors with numbers, beforehand."""
    room = torchvision.models if hasattr(torchvision.models, network) else torchvision.models.segmentation
    options = OPTIONS.get(network, {}) if room is torchvision.models else SEGMENTATION
    make = functools.partial(getattr(room, network), weights=None, **options)
    if not network.startswith("regnet"):
        return make
    with unittest.mock.patch.object(torchvision.models.regnet, "_regnet", lambda params, *_, **__: params):
        return functools.partial(torchvision.models.RegNet, make())


def pytorch_counts(network, image):
    n = dict.fromkeys(("macs_conv", "macs_linear", "macs_matmul", "conv_inputs", "conv_outputs", "linear_inputs",
                       "linear_outputs", "layers", "activation_bytes"), 0)

    def note_attention(module, inputs, output):
        x = output[0] if isinstance(output, tuple) else output  # shaped as its input: tokens of width E
        n["macs_linear"] += 4 * x.numel() * x.shape[-1]
        if isinstance(module, torch.nn.MultiheadAttention):
            pairs, products = x.shape[0] * x.shape[1] ** 2, 1  # inputs and outputs of one layer
            n["layers"] += 1
            n["activation_bytes"] += 4 * x.numel()
        else:
            window = math.prod(module.window_size)
            pairs, products = x.numel() // x.shape[-1] * window, 2
        n["macs_matmul"] += 2 * pairs * x.shape[-1]
        n["linear_inputs"] += products * x.numel()
        n["linear_outputs"] += products ** 2 * x.numel()

    def note(module, inputs, output):
        n["layers"] += 1
        n["activation_bytes"] += 4 * output.numel()
        if isinstance(module, torch.nn.modules.conv._ConvNd):
            kind, macs = "conv", output.numel() * math.prod(module.weight.shape[1:])
        elif isinstance(module, torch.nn.Linear):
            kind, macs = "linear", output.numel() * module.in_features
        else:
            return
        n["macs_" + kind] += macs
        n[kind + "_inputs"] += inputs[0].numel()
        n[kind + "_outputs"] += output.numel()

    make = maker(network)
    with FakeTensorMode(), torch.no_grad():
        model = make().eval()
        for m in model.modules():
            if isinstance(m, (torch.nn.MultiheadAttention, ShiftedWindowAttention)):
                m.register_forward_hook(note_attention)
            elif not list(m.children()):
                m.register_forward_hook(note)
        model(torch.zeros(1, 3, image, image))
    n["params"] = sum(p.numel() for p in model.parameters())
    n["param_tensors"] = len(list(model.parameters()))
    return n


def main():
    program, differ = sys.argv[1], False
    for spec in sys.argv[2:]:
        network, image = (spec + ":224").split(":")[:2]
        theirs = pytorch_counts(network, int(image))
        shown = subprocess.run([program, "show", network, "--image", image, "--totals", "--format", "json"],
                               check=True, stdout=subprocess.PIPE)
        ours = json.loads(shown.stdout)["total"]
        wrong = [f"{k} {theirs[k]} here {ours[k]}" for k in theirs if theirs[k] != ours[k]]
        differ |= bool(wrong)
        print(f"{network} at {image}: {'; '.join(wrong) or 'equal'}")
    sys.exit(differ)


if __name__ == "__main__":
    main()
