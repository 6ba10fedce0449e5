#!/usr/bin/env python3
"""Memory of a training step, Layermeter's against what PyTorch allocates on the CPU.

    memory.py --layermeter build/bin/layermeter --batch 2 --image 97 resnet18 vgg16

These numbers must be equal. kept: the unique storages that autograd holds between forward and backward (without
weights and buffers; torch.autograd.graph.saved_tensors_hooks). peak: the most that is allocated at once in one step
of SGD with momentum (the profiler's memory events). mixed: kept under autocast to bf16, without the copies of weights
(of networks without layer norm, which the CPU's autocast cannot do). recompute: the peak with torch.utils.checkpoint
around each block of a residual network. What a device would not have is taken out of PyTorch's numbers,
and only that:

  * dropout's mask, a float on the CPU, a byte on CUDA (and here)
  * scratch that a convolution or a norm allocates and frees within its own call (libraries differ, none is counted
    here), and a weight gradient's copy in the weight's memory format
  * the sum of two gradients in a third tensor: since PyTorch 2.0 the sum takes the place of one of the two
  * what attention keeps of its probabilities: all of them where PyTorch 1.13 multiplies matrices, their sums where it
    is fused, as it is since 2.0 and here
  * the class numbers and a few scalars
"""
import argparse
import functools
import json
import math
import subprocess
import sys

try:
    import torch
    import torchvision
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.checkpoint import checkpoint
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch python3-torchvision)")
    sys.exit(77)

SCRATCH = ("aten::convolution", "aten::convolution_backward", "aten::native_batch_norm_backward",
           "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")
SCALARS = 512  # bytes


def size(t):
    return t.numel() * t.element_size()


def loss_of(model, x, y):
    return torch.nn.functional.cross_entropy(model(x), y)


def kept_surplus(model, x, mixed=False):
    """Bytes kept on the CPU alone: of dropout's masks as numbers, of attention's probabilities."""
    surplus = []

    def mask(m, inputs, output):
        if m.p > 0:
            surplus.append((output.element_size() - 1) * output.numel())

    def probabilities(m, inputs, output):  # a float for each pair of a query and a key, not for each query
        n, length = output[0].shape[:2] if m.batch_first else output[0].transpose(0, 1).shape[:2]
        surplus.append(4 * n * m.num_heads * length * (length - 1) + 8)  # and the width's square root

    hooks = [m.register_forward_hook(mask if isinstance(m, torch.nn.Dropout) else probabilities)
             for m in model.modules() if isinstance(m, (torch.nn.Dropout, torch.nn.MultiheadAttention))]
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, mixed):
        model(x)
    for h in hooks:
        h.remove()
    return sum(surplus)


def kept_bytes(model, x, y, mixed=False):
    own = {t.storage().data_ptr() for t in [*model.parameters(), *model.buffers(), x, y]}
    kept = {}

    def pack(t):
        if t.storage().data_ptr() not in own:
            kept[t.storage().data_ptr()] = t.storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), torch.autocast("cpu", torch.bfloat16, mixed):
        scores = model(x)
        loss = torch.nn.functional.cross_entropy(scores.float(), y)  # as CUDA's autocast does
    copies = [m.weight.numel() * 2 for m in model.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    return sum(kept.values()) - sum(copies) * mixed


def without(events, inside, drop):
    """Takes pairs of an allocation and a release of the same size, both within one call, out of `events`."""
    for op in inside:
        begin, end = op.start_us(), op.start_us() + op.duration_us()
        mine = [e for e in events if begin <= e.start_us() <= end]
        for free in [e for e in mine if e.nbytes() < 0]:
            pair = next((e for e in mine if e.nbytes() == -free.nbytes() and id(e) not in drop), None)
            if pair is not None and id(free) not in drop:
                drop |= {id(pair), id(free)}


def profiled_peak(step):
    """The most that one step has at once, of what it allocates."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as profiler:
        step()
    all_events = list(profiler.profiler.kineto_results.events())
    memory = [e for e in all_events if e.name() == "[memory]"]
    calls = [e for e in all_events if e.name() != "[memory]"]
    drop = set()
    without(memory, [c for c in calls if c.name() in SCRATCH], drop)
    backward = [c for c in calls if c.name().startswith("autograd::engine::evaluate_function")]
    sums = [c for c in calls if c.name() == "aten::add" and any(
        b.start_us() <= c.start_us() and c.start_us() + c.duration_us() <= b.start_us() + b.duration_us()
        for b in backward)]
    for s in sums:  # its result, and the release of what it would have taken the place of
        # times are whole microseconds, in which other tensors may come and go: sizes tell which is which
        after = [e for e in memory if e.start_us() >= s.start_us() and id(e) not in drop]
        result = next(e for e in after if e.nbytes() == 4 * math.prod(s.shapes()[0]))
        drop |= {id(result), id(next(e for e in after if e.nbytes() == -result.nbytes() and id(e) not in drop))}
    live = most = 0
    for e in memory:
        if id(e) not in drop:
            live += e.nbytes()
            most = max(most, live)
    return most


def peak_bytes(model, x, y):
    """What two of a few profiled steps agree on: events' times are whole microseconds, in which a sum's result may be
    taken for another tensor."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)

    def step():
        loss_of(model, x, y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()  # the optimizer's state
    static = sum(2 * size(p) for p in model.parameters()) + size(x)
    static += sum(size(b) for b in model.buffers() if b.dtype.is_floating_point)
    seen = []
    while len(seen) < 5:
        seen.append(profiled_peak(step))
        if seen.count(seen[-1]) == 2:
            break
    return static + max(seen, key=seen.count)


def compare(name, ours, theirs, surplus):
    """Equal but for the scalars, and for what is kept on the CPU alone as far as it was live."""
    same = -SCALARS <= theirs - ours <= SCALARS + surplus
    print(f"  {name:9} {ours:>14,} {theirs:>14,}  {'the same' if same else 'DIFFERENT: %+d' % (theirs - ours)}"
          f"{' but for masks or probabilities, %d bytes' % (theirs - ours) if same and theirs - ours > SCALARS else ''}")
    return same


def recompute_blocks(model):
    """Puts a checkpoint around each residual block; False if there are none."""
    blocks = [m for m in model.modules() if type(m).__name__ in ("BasicBlock", "Bottleneck")]
    for b in blocks:
        b.forward = functools.partial(checkpoint, b.forward, use_reentrant=False, preserve_rng_state=False)
    return bool(blocks)


def layermeter(a, network, *options):
    out = subprocess.run([a.layermeter, "memory", network, "--batch", str(a.batch), "--image", str(a.image), "--inplace",
                          "--format", "json", *options], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["points"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="+", help="names both torchvision and layermeter know")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--image", type=int, default=97, help="height and width, in pixels (97)")
    parser.add_argument("--layermeter", default="layermeter", help="the program (layermeter)")
    a = parser.parse_args()
    torch.set_num_threads(1)
    equal = True
    for network in a.network:
        model = getattr(torchvision.models, network)(weights=None).train()
        x, y = torch.randn(a.batch, 3, a.image, a.image), torch.zeros(a.batch, dtype=torch.long)
        surplus = kept_surplus(model, x)
        ours = layermeter(a, network)
        print(f"{network}: Layermeter, PyTorch")
        kept = kept_bytes(model, x, y) - surplus
        equal &= compare("kept", ours["kept_bytes"], kept, 0)
        equal &= compare("peak", ours["peak_bytes"], peak_bytes(model, x, y), surplus)
        if not any(isinstance(m, torch.nn.LayerNorm) for m in model.modules()):
            kept = kept_bytes(model, x, y, True) - kept_surplus(model, x, True)
            equal &= compare("mixed", layermeter(a, network, "--mixed", "bf16")["kept_bytes"], kept, 0)
        if recompute_blocks(model):
            ours = layermeter(a, network, "--recompute", "blocks")
            equal &= compare("recompute", ours["peak_bytes"], peak_bytes(model, x, y), surplus)
    sys.exit(not equal)


if __name__ == "__main__":
    main()
