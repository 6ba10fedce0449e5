"""Totals of Layermeter against PyTorch's modules, for networks of torchvision, and what their files cite.

    torchvision_counts.py PROGRAM MODELS NETWORK[:IMAGE]...

`all` stands for all networks in the folder MODELS but those that reference_counts.py compares. Without an image, the
network's own: then the number of parameters that its file cites must be torchvision's, and that of MACs, in 1e9, the
one that is counted. Attention calls functions with the weights of its modules: torch's is one layer here, Swin's none.
"""
import functools
import glob
import json
import os
import re
import subprocess
import sys
import unittest.mock
import warnings

try:
    import torch
    import torchvision
    from torchvision.models.swin_transformer import ShiftedWindowAttention
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch python3-torchvision)", file=sys.stderr)
    sys.exit(77)

import counting
import reference_counts

# Auxiliary classifiers are in no evaluation, but among the parameters.
OPTIONS = {"googlenet": {"aux_logits": False, "init_weights": False}, "googlenet_aux": {"init_weights": False},
           "inception_v3": {"aux_logits": False, "init_weights": False}, "inception_v3_aux": {"init_weights": False}}
SEGMENTATION = {"weights_backbone": None, "aux_loss": True}
# H. Touvron et al., arXiv:2012.12877, table 1: torchvision's modules with other sizes
DEIT = {"deit_tiny": {"hidden_dim": 192, "num_heads": 3, "mlp_dim": 768},
        "deit_small": {"hidden_dim": 384, "num_heads": 6, "mlp_dim": 1536}}
# Their modules no library here has: tests/cli/cases/show_large_totals compares them with what their files cite, by hand.
BY_HAND = {"deepseek_v2", "deepseek_v3", "gpt3_175b", "gpt_neox_20b", "mixtral_8x7b", "nemotron4_15b", "nemotron4_340b",
           "qwen3_235b_a22b", "qwen3_30b_a3b", "qwen3_8b"}


def maker(network):
    """What makes the network when it is called. RegNet computes its widths by tensors with numbers, beforehand."""
    if network in DEIT:
        return functools.partial(torchvision.models.VisionTransformer, image_size=224, patch_size=16, num_layers=12,
                                 **DEIT[network])
    name = network.removesuffix("_aux")
    room = torchvision.models if hasattr(torchvision.models, name) else torchvision.models.segmentation
    if not hasattr(room, name):
        sys.exit(f"{network}: neither torchvision has it nor reference_counts.py")
    options = OPTIONS.get(network, {}) if room is torchvision.models else SEGMENTATION
    make = functools.partial(getattr(room, name), weights=None, **options)
    if not network.startswith("regnet"):
        return make
    with unittest.mock.patch.object(torchvision.models.regnet, "_regnet", lambda params, *_, **__: params):
        return functools.partial(torchvision.models.RegNet, make())


def prepare(network, model, n):
    """In evaluation, but for auxiliary classifiers, and for attention, whose fast path would hide its products."""
    def note_attention(module, inputs, output):
        x = output[0] if isinstance(output, tuple) else output  # shaped as its input: tokens
        whole = isinstance(module, torch.nn.MultiheadAttention)
        n["layers"] += whole
        n["activation_bytes"] += 4 * x.numel() * whole
        n["linear_inputs"] += x.numel() * (1 if whole else 2)  # Swin: queries, keys and values of one product
        n["linear_outputs"] += x.numel() * (1 if whole else 4)

    model.eval()
    model.training = network.endswith("_aux")
    for m in model.modules():
        if isinstance(m, torch.nn.MultiheadAttention):
            m.training = True
        if isinstance(m, (torch.nn.MultiheadAttention, ShiftedWindowAttention)):
            m.register_forward_hook(note_attention)


def cited(models, network, theirs):
    """Where the file's own words are not torchvision's."""
    with open(f"{models}/{network}.ini") as f:
        text = re.sub(r"\n; *", " ", f.read())
    meta = re.search(r"torchvision\.models\.(segmentation\.)?(\w+_Weights)", text)
    if not meta:
        return []
    room = torchvision.models.segmentation if meta[1] else torchvision.models
    published = {w.meta["num_params"] for w in getattr(room, meta[2])}
    macs = sum(theirs["macs_" + kind] for kind in ("conv", "linear", "matmul"))
    wrong = [f"num_params {n}, torchvision {published}" for n in re.findall(r"num_params,? (\d+)", text)
             if int(n) not in published]
    return wrong + [f"_ops {n}, counted {macs / 1e9:.3f}" for n in re.findall(r"_ops ([\d.]+\d)", text)
                    if float(n) != round(macs / 1e9, 3)]


def networks(models):
    names = sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(f"{models}/*.ini"))
    return [name for name in names if name not in reference_counts.NETWORKS and name not in BY_HAND]


def main():
    program, models, differ = sys.argv[1], sys.argv[2], False
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for spec in [s for a in sys.argv[3:] for s in (networks(models) if a == "all" else [a])]:
        network, _, image = spec.partition(":")
        out = subprocess.run([program, "show", network, "--totals", "--format", "json",
                              *(["--image", image] if image else [])], check=True, stdout=subprocess.PIPE).stdout
        shown = json.loads(out)
        shape = tuple(int(d) for d in shown["input"].split("x"))
        theirs = counting.count(maker(network), shape, prepare=functools.partial(prepare, network))
        wrong = [f"{k} {theirs[k]} here {shown['total'][k]}" for k in theirs if theirs[k] != shown["total"][k]]
        wrong += cited(models, network, theirs) if not image else []
        differ |= bool(wrong)
        print(f"{network} at {shape[-1]}: {'; '.join(wrong) or 'equal'}", flush=True)
    sys.exit(differ)


if __name__ == "__main__":
    main()
