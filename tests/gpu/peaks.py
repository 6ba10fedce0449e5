#!/usr/bin/env python3
"""Peaks of PyTorch's memory on this GPU beside `layermeter memory`, and times of the same training steps.

    tests/gpu/peaks.py measure [-o peaks.csv]          needs PyTorch and torchvision with a GPU, transformers for language models
    tests/gpu/peaks.py compare peaks.csv LAYERMETER    a row a step, and the mean error of peaks that PyTorch allocated

A step is forward with a loss, backward and update, after five others; gradients are set to none before. bf16 is autocast.
GPT-2 is Hugging Face's. Its gelu_new consists of operations that keep their inputs, in f32 under autocast, where ours is one."""
import csv
import json
import statistics
import subprocess
import sys

COLUMNS = "name,batch,dtype,optimizer,parameters,allocated,reserved,forward_ms,backward_ms,update_ms,step_ms".split(",")
STEPS = [("resnet50", 64, "f32", "momentum"), ("resnet50", 64, "bf16", "momentum"), ("resnet50", 256, "bf16", "momentum"),
         ("vit_b_16", 64, "bf16", "adam"), ("densenet121", 64, "f32", "momentum"), ("efficientnet_b0", 128, "bf16", "momentum"),
         ("swin_t", 64, "bf16", "adam"), ("gpt2:sequence=1024", 8, "bf16", "adam"), ("gpt2:sequence=1024", 4, "f32", "adam")]


def module_of(name):
    """A network, and its number of words; 0: of images."""
    if name.startswith("gpt2"):
        from transformers import GPT2Config, GPT2LMHeadModel
        return GPT2LMHeadModel(GPT2Config(n_positions=1024, use_cache=False)), 50257
    import torchvision
    return getattr(torchvision.models, name)(weights=None), 0


def measure_step(torch, name, batch, dtype, optimizer):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    module, words = module_of(name)
    module = module.to("cuda").train()
    parameters = list(module.parameters())
    update = torch.optim.AdamW(parameters, lr=1e-5) if optimizer == "adam" else torch.optim.SGD(parameters, lr=1e-5, momentum=0.9)
    x = torch.randint(0, words, (batch, int(name.split("=")[1])), device="cuda") if words else torch.randn(batch, 3, 224, 224, device="cuda")
    y = None if words else torch.randint(0, 1000, (batch,), device="cuda")
    times = []
    for _ in range(8):
        mark = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        update.zero_grad(set_to_none=True)
        mark[0].record()
        with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bf16"):
            loss = module(input_ids=x, labels=x).loss if words else torch.nn.functional.cross_entropy(module(x), y)
        mark[1].record()
        loss.backward()
        mark[2].record()
        update.step()
        mark[3].record()
        torch.cuda.synchronize()
        times.append([mark[i].elapsed_time(mark[i + 1]) for i in range(3)] + [mark[0].elapsed_time(mark[3])])
    middle = [round(statistics.median(part), 4) for part in zip(*times[5:])]
    return [name, batch, dtype, optimizer, sum(p.numel() for p in parameters), torch.cuda.max_memory_allocated(),
            torch.cuda.max_memory_reserved(), *middle]


def measure(path):
    import torch
    if not torch.cuda.is_available():
        print("skipped: this PyTorch sees no GPU", file=sys.stderr)
        return 77
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    with open(path, "w", newline="") as file:
        file.write(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for step in STEPS:
            out.writerow(measure_step(torch, *step))
            file.flush()
    return 0


def compare(path, program):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    off = []
    print(f"{'network':24} {'batch':>5} {'dtype':5} {'ours/GB':>8} {'allocated/GB':>12} {'off/%':>6}")
    for row in rows:
        mixed = ["--mixed", row["dtype"]] if row["dtype"] != "f32" else []
        said = subprocess.run([program, "memory", row["name"], "--batch", row["batch"], "--optimizer", row["optimizer"], *mixed,
                               "--format", "json"], stdout=subprocess.PIPE, text=True, check=True).stdout
        ours, theirs = json.loads(said)["points"][0]["peak_bytes"], int(row["allocated"])
        off.append(100 * (ours / theirs - 1))
        print(f"{row['name']:24} {row['batch']:>5} {row['dtype']:5} {ours / 1e9:8.2f} {theirs / 1e9:12.2f} {off[-1]:6.1f}")
    images = [abs(e) for e, row in zip(off, rows) if "sequence" not in row["name"]]
    print(f"{len(images)} steps of torchvision's networks, off by {statistics.mean(images):.1f} % in the mean, by {max(images):.1f} % at most")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) in (2, 4):
        sys.exit(measure(sys.argv[3] if len(sys.argv) == 4 else "peaks.csv"))
    if sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        sys.exit(compare(*sys.argv[2:]))
    print(__doc__, file=sys.stderr)
    sys.exit(2)
