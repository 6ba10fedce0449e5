#!/usr/bin/env python3
"""Layermeter's counts beside PyTorch's own, layer by layer, for a network of torchvision.

    examples/pytorch/side_by_side.py alexnet
    examples/pytorch/side_by_side.py resnet18 --image 128

Every call of a leaf module is one row, in the order in which they run: the shape of its output, its
parameters, and its multiply-accumulates as a person would compute them from the module's own fields
(convolution: output elements x input channels / groups x window; linear: output elements x input
features). Rows where the two differ are marked; the exit status is then 1.
"""
import argparse
import json
import math
import subprocess
import sys

try:
    import torch
    import torchvision
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch python3-torchvision)", file=sys.stderr)
    sys.exit(77)


def pytorch_rows(network, image):
    """One row for each call of a leaf module: name, shape, parameters, MACs."""
    rows, counted = [], set()

    def note(module, inputs, output):
        weight = getattr(module, "weight", None)
        macs = 0
        if isinstance(module, torch.nn.modules.conv._ConvNd):
            macs = output.numel() * math.prod(weight.shape[1:])
        elif isinstance(module, torch.nn.Linear):
            macs = output.numel() * module.in_features
        params = 0 if module in counted else sum(p.numel() for p in module.parameters())
        counted.add(module)  # a module that runs twice has its parameters once
        rows.append((names[module], tuple(output.shape), params, macs))

    model = getattr(torchvision.models, network)(weights=None).eval()
    names = {m: name for name, m in model.named_modules()}
    for m in model.modules():
        if not list(m.children()):
            m.register_forward_hook(note)
    with torch.no_grad():
        model(torch.zeros(1, 3, image, image))
    return rows


def layermeter_rows(program, network, image):
    shown = subprocess.run([program, "show", network, "--image", str(image), "--format", "json"],
                           check=True, stdout=subprocess.PIPE)
    return [(r["layer"], () if r["output"] == "scalar" else tuple(int(d) for d in r["output"].split("x")),
             r["params"], r["macs_conv"] + r["macs_linear"])
            for r in json.loads(shown.stdout)["layers"] if r["layers"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="a name both torchvision and layermeter know")
    parser.add_argument("--image", type=int, default=224, help="height and width, in pixels (224)")
    parser.add_argument("--layermeter", default="layermeter", help="the program (layermeter)")
    a = parser.parse_args()
    theirs, ours = pytorch_rows(a.network, a.image), layermeter_rows(a.layermeter, a.network, a.image)
    differ = len(theirs) != len(ours)
    line = "{:1} {:26} {:26} {:>16} {:>12} {:>14}"
    print(line.format("", "PyTorch", "Layermeter", "output", "parameters", "MACs"))
    for t, o in zip(theirs, ours):
        same = t[1:] == o[1:]
        differ |= not same
        print(line.format(" " if same else "!", t[0], o[0], "x".join(map(str, o[1])), f"{o[2]:,}", f"{o[3]:,}"))
        if not same:
            print(line.format("!", "  PyTorch says", "", "x".join(map(str, t[1])), f"{t[2]:,}", f"{t[3]:,}"))
    print(line.format("", "PyTorch's total", f"{len(theirs)} calls", "", f"{sum(t[2] for t in theirs):,}",
                      f"{sum(t[3] for t in theirs):,}"))
    print(line.format("", "Layermeter's total", f"{len(ours)} layers", "", f"{sum(o[2] for o in ours):,}",
                      f"{sum(o[3] for o in ours):,}"))
    print("DIFFERENT" if differ else "equal")
    sys.exit(differ)


if __name__ == "__main__":
    main()
