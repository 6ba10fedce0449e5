"""Totals of Layermeter against PyTorch's, for networks that torchvision does not have: references.py.

    reference_counts.py PROGRAM [NETWORK ...]

The modules are made with the sizes that stand here, from papers and published configurations, and not with what the
networks' files say. All counts must be equal: with the scores of all pairs in memory where there is such a choice, and
the products of what is seen where attention is fused.
"""
import json
import os
import subprocess
import sys

try:
    import torch
    from torch import nn
    from torch._subclasses import FakeTensorMode  # noqa: F401 (since 1.13)
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch)", file=sys.stderr)
    sys.exit(77)

import counting
from references import Bert, Clip, Gpt2, Llama, Recurrent, Seen, T5, UNet, Whisper, alex_v2, nin


def tokens(n):
    return "tokens", n


def bert(*sizes, **options):
    return lambda: Bert(*sizes, **options), tokens(512)


def gpt2(*sizes):
    return lambda: Gpt2(*sizes), tokens(1024)


def llama(length, *sizes):
    return lambda: Llama(*sizes), tokens(length)


# width, layers, heads, features between the linear layers; of Llama also heads of keys and words
NETWORKS = {
    "bert_base": bert(768, 12, 12, 3072),
    "bert_base_pretraining": bert(768, 12, 12, 3072, pretraining=True),
    "bert_large": bert(1024, 24, 16, 4096),
    "roberta_base": bert(768, 12, 12, 3072, vocabulary=50265, places=514, types=1),
    "roberta_large": bert(1024, 24, 16, 4096, vocabulary=50265, places=514, types=1),
    "distilbert_base": bert(768, 6, 12, 3072, types=0),
    "distilgpt2": gpt2(768, 6, 12),
    "gpt2": gpt2(768, 12, 12),
    "gpt2_medium": gpt2(1024, 24, 16),
    "gpt2_large": gpt2(1280, 36, 20),
    "gpt2_xl": gpt2(1600, 48, 25),
    "mistral_7b": llama(4096, 4096, 32, 32, 8, 14336, 32000),
    "llama2_7b": llama(4096, 4096, 32, 32, 32, 11008, 32000),
    "llama2_13b": llama(4096, 5120, 40, 40, 40, 13824, 32000),
    "llama3_8b": llama(8192, 4096, 32, 32, 8, 14336, 128256),
    "llama3_70b": llama(8192, 8192, 80, 64, 8, 28672, 128256),
    "llama3_1_8b": llama(8192, 4096, 32, 32, 8, 14336, 128256),
    "llama3_1_70b": llama(8192, 8192, 80, 64, 8, 28672, 128256),
    "llama3_1_405b": llama(8192, 16384, 126, 128, 8, 53248, 128256),
    "tinyllama_1_1b": llama(2048, 2048, 22, 32, 4, 5632, 32000),
    "lstm_lm": (lambda: Recurrent(nn.LSTM), tokens(35)),
    "gru_lm": (lambda: Recurrent(nn.GRU), tokens(35)),
    "t5_small": (lambda: T5(512, 6, 8, 2048), tokens(512), tokens(114)),
    "t5_base": (lambda: T5(768, 12, 12, 3072), tokens(512), tokens(114)),
    "whisper_tiny": (lambda: Whisper(384, 4, 6), (80, 3000), tokens(448)),
    "whisper_base": (lambda: Whisper(512, 6, 8), (80, 3000), tokens(448)),
    "clip_vit_b_32": (Clip, (3, 224, 224), tokens(77)),
    "unet": (UNet, (3, 512, 512)),
    "alex_v2": (alex_v2, (3, 224, 224)),
    "nin": (nin, (3, 224, 224)),
}
# of those below, what is set besides, and to what module it leads
VARIANTS = {
    "distilbert_base": ["pretraining=1", bert(768, 6, 12, 3072, types=0, pretraining=True)],
    "gpt2": ["sequence=200", (NETWORKS["gpt2"][0], tokens(200))],
    "t5_small": ["target=70", (NETWORKS["t5_small"][0], tokens(512), tokens(70))],
    "whisper_tiny": ["frames=1001", (NETWORKS["whisper_tiny"][0], (80, 1001), tokens(448))],
}


def shown(program, network, settings):
    options = [o for s in settings for o in ("--set", s)]
    out = subprocess.run([program, "show", network, "--totals", "--format", "json", *options], stdout=subprocess.PIPE,
                         check=True).stdout
    return json.loads(out)["total"]


def differences(program, network, made, settings, fused):
    """Fused attention leaves out the pairs that are not seen; `made` is what makes the module, and its inputs."""
    Seen.macs = 0
    theirs = counting.count(*made)
    rows = [(settings + ["attention=plain"], theirs), (settings, dict(theirs, macs_matmul=Seen.macs))]
    rows = rows if fused else [(settings, theirs)]
    wrong = []
    for chosen, counts in rows:
        ours = shown(program, network, chosen)
        wrong += [f"{' '.join(chosen)} {k} {counts[k]} here {ours[k]}" for k in counting.NAMES if counts[k] != ours[k]]
    return wrong


def main():
    program, names, differ = sys.argv[1], sys.argv[2:] or NETWORKS, False
    listed = subprocess.run([program, "models", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout
    arguments = {row["network"]: row["arguments"] for row in json.loads(listed)["rows"]}
    for network in names:
        fused = "attention=" in arguments[network]
        cases = [([], NETWORKS[network])]
        cases += [([VARIANTS[network][0]], VARIANTS[network][1])] if network in VARIANTS else []
        for settings, made in cases:
            wrong = differences(program, network, made, settings, fused)
            differ |= bool(wrong)
            print(f"{' '.join([network] + settings)}: {'; '.join(wrong) or 'equal'}", flush=True)
    sys.exit(differ)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    main()
