"""A cut Llama 3 70B on 8 B200 under layouts (SimuMax 1.2): steps by its kernels and collectives alone, by steps of other layouts, and bytes
of ranks. Beside what SimuMax predicts, and one share of the peak with the pipeline's bubble.

Kernels are observations as anybody would write them: TFLOP/s by the FLOPs that the source counts (attention: of all pairs, causal or not,
2.5 times as many backward), GB/s by the bytes that it moves, with the microseconds that the source adds. Products accumulated in 16 bits are
left out: gradients add up in f32. Memory was measured once for each layout.
"""
import statistics

import kernels
import laid
import published_layouts
from program import Failed

NAME = "simumax2026"
STEP, BYTES = 5.0, 0.5
SYSTEM, LINK = "b200", "high_intra_node"
DEVICE, TYPE = "B200", "bf16"
# its launch scripts do not ask Megatron-LM to overlap reductions of gradients, and add them up in f32 (--accumulate-allreduce-grads-in-fp32)
TOLD = "--sync", "once", "--grad-dtype", "f32"
PASS = {"TN": "forward", "NN": "grad_input", "NT": "grad_weight"}
COLLECTIVES = {"all_reduce": "allreduce", "all_gather": "allgather", "reduce_scatter": "reducescatter", "all2all": "alltoall", "p2p": "sendrecv"}
MOVES = [1 << n for n in range(16, 29, 2)]  # elements
SIZES = [1 << n for n in range(14, 31, 2)]  # bytes


# ---- what was measured ----------------------------------------------------------------------------------------------------

def observe(kernel, phase, seconds):
    """The source adds up these seconds of the device, kernel after kernel."""
    return {"kind": "kernel", "phase": phase, "dtype": TYPE, **kernel, "settings": "launch=queue", "seconds": f"{seconds:.9g}"}


def product(shape, rate):
    b, m, n, k = (int(shape[x]) for x in "bmnk")
    if shape["layout"] == "NT" and shape["out_dtype"] != "fp32":
        return []
    return [observe(kernels.gemm(b, m, n, k), PASS[shape["layout"]], 2 * b * m * n * k / rate)]


def attention(shape, rate, backward):
    b, length, heads, groups, width, values = (int(shape[x]) for x in ("batch", "seq_len", "head_num", "kv_head_num", "qk_head_dim", "v_head_dim"))
    one = {"name": "attention", "geometry": kernels.geometry(batch=b, heads=heads, kv_heads=groups, queries=length, keys=length, width=width,
                                                             value_width=values, causal=1)}
    flops = (5 if backward else 2) * b * heads * length * length * (width + values)
    return [observe(one, "grad_input" if backward else "forward", flops / rate)]


def moves(plain, loss):
    """Elementwise functions, norms and copies at one rate, the loss's rows at another: (bytes/s, s)."""
    for size in MOVES:
        for phase in PASS.values():
            for kernel, touched, (rate, added) in ((kernels.map_(size, 1), 2, plain), (kernels.map_(size, 2), 3, plain),
                                                   (kernels.layer_norm(size // 8192, 8192), 2, plain), (kernels.copy(2 * size), 2, plain),
                                                   (kernels.softmax(size // 8192, 8192), 2, loss)):
                yield observe(kernel, phase, 2 * touched * size / rate + added)


def singles(exam, folder):
    moved = {}
    for r in exam.read(folder, NAME, "kernels.csv"):
        shape = dict(x.split("=") for x in r["shape"].split())
        if r["system"] != SYSTEM:
            continue
        if r["op"] == "matmul":
            yield from product(shape, float(r["tflops"]) * 1e12)
        elif r["op"] in ("sdp_fwd", "sdp_bwd") and shape["qkv_contiguous"] == "True":
            yield from attention(shape, float(r["tflops"]) * 1e12, r["op"] == "sdp_bwd")
        elif r["gbs"]:
            moved[r["op"]] = float(r["gbs"]) * 1e9, float(r["latency_us"]) * 1e-6
    yield from moves(moved["default"], moved["ce_fusion"])


def collectives(exam, folder):
    for r in exam.read(folder, NAME, "collectives.csv"):
        if r["system"] != SYSTEM or r["network"] != LINK:
            continue
        by_ranks = dict(x.split(":") for x in r["fixed_latency_us_by_ranks"].split())
        for ranks in (2,) if r["op"] == "p2p" else (2, 4, 8):
            added = float(r["latency_us"]) + float(by_ranks.get(str(ranks), r["fixed_latency_us"] or 0))
            for size in SIZES:
                wire = size * float(r["scale"]) * (ranks + float(r["offset"])) / ranks
                yield {"kind": "collective", "name": COLLECTIVES[r["op"]], "phase": "sync", "ranks": ranks, "hosts": 1, "bytes": size,
                       "seconds": f"{wire / (float(r['gbs']) * 1e9) + added * 1e-6:.9g}"}


# ---- runs -----------------------------------------------------------------------------------------------------------------

def network(r):
    return f"llama3_70b:layers={r['layers']}:sequence={r['seq']}:fused_loss=1:fused_gate=1"


def layout(r):
    words = [f"tp{r['tp']} pp{r['pp']} dp{r['dp']} cp{r['cp']}"] + ["ulysses"] * (int(r["cp"]) > 1)
    words += ["sp"] * (r["sp"] == "1") + ["zero1"] * (int(r["dp"]) * int(r["cp"]) > 1)
    return " ".join(words)


def step(r):
    r["words"] = int(r["vocab"])
    return laid.Step(network(r), layout(r), int(r["nodes"]), int(r["gpus_per_node"]), int(r["micro_batch"]), int(r["grad_accum"]), float(r["step_s"]),
                     told=TOLD, row=r)


def key(r):
    return tuple(r[k] for k in ("tp", "pp", "cp", "seq"))


def share_of_peak(steps):
    """One share of the peak of all other layouts, with the bubble of 1F1B."""
    at = published_layouts.at_peak
    return lambda s: at(s) / statistics.median(at(o) / o.seconds for o in steps if key(o.row) != key(s.row))


def say(exam, question, pairs, steps, published):
    rules = {"share of peak": share_of_peak(steps), "SimuMax": lambda s: float(published[s.row["row_id"]]["step_s"])}
    laid.say(exam, NAME, question, pairs, rules, target=STEP, published=5.8, coverage=any(p[1] == p[1] for _, p in pairs))


def by_kernels(exam, folder, steps, published):
    machine = exam.path(f"{NAME}.ini")
    rows = [*singles(exam, folder), *collectives(exam, folder)]
    exam.program.fit(exam.write(f"{NAME}.csv", rows, [("device", DEVICE)]), machine)
    pairs = laid.predict_all(exam, NAME, ("--machine", machine, "--dtype", TYPE), steps)
    say(exam, "step by kernels and collectives alone", pairs, steps, published)


def by_others(exam, steps, published):
    pairs = []
    for left in dict.fromkeys(key(s.row) for s in steps):
        machine = laid.fit(exam, f"{NAME}-{'-'.join(left)}", [s for s in steps if key(s.row) != left], DEVICE, groups=lambda s: s.layout)
        pairs += laid.predict_all(exam, NAME, machine, [s for s in steps if key(s.row) == left])
    say(exam, "step by those of other layouts", pairs, steps, published)


# ---- bytes ----------------------------------------------------------------------------------------------------------------

def held(exam, r, stage):
    where = ("--stage", str(stage)) if stage else ()
    found = exam.program.table("memory", network(r), "--dtype", TYPE, "--masters", "--grad-accum-dtype", "f32", "--fused-gradients", "--optimizer", "adam", "--batch", r["micro_batch"],
                               "--layout", f"{layout(r)} ga{r['grad_accum']}", *where)[0]
    return float(found["peak_bytes"])


def by_hand(r, stage):
    """18 bytes a parameter, 6 + 12 / dp with sharded states; 34 s b h of each layer in flight; 10 bytes a logit."""
    tp, pp, cp, width = int(r["tp"]), int(r["pp"]), int(r["cp"]), float(r["hidden"])
    layers, ends = float(r["layers"]) / pp, 2 if pp == 1 else 1
    shared = int(r["kv_heads"]) / int(r["heads"])
    params = (layers * (width * width * (2 + 2 * shared) + 3 * width * float(r["ffn"])) + ends * float(r["vocab"]) * width) / tp
    tokens, shards = float(r["seq"]) / cp, int(r["dp"]) * cp
    flight = min(pp - stage, int(r["grad_accum"]))
    logits = 10 * tokens * float(r["vocab"]) / tp if stage == pp - 1 else 0
    return params * (6 + 12 / shards) + 34 * tokens * width * layers * flight / tp + logits


def memory(exam, folder, rows, published):
    """The largest of each stage's ranks, of layouts measured by themselves."""
    ranks, found = exam.read(folder, NAME, "memory_by_rank.csv"), {"layermeter": [], "a sum by hand": []}
    simumax = []
    for r in rows:
        if r["mem_measured_on"] not in ("", r["row_id"]):
            continue
        per = int(r["gpus"]) // int(r["pp"])
        mine = [float(x["mem_peak_allocated_bytes"]) for x in ranks if x["row_id"] == r["row_id"]]
        for stage in range(int(r["pp"])):
            true = max(mine[stage * per:(stage + 1) * per])
            try:
                found["layermeter"].append(laid.error(held(exam, r, stage + 1 if int(r["pp"]) > 1 else None), true))
            except Failed as e:
                exam.fail(f"{NAME}: {layout(r)}: {e}")
                continue
            found["a sum by hand"].append(laid.error(by_hand(r, stage), true))
        simumax.append(laid.error(float(published[r["row_id"]]["mem_peak_allocated_bytes"]), max(mine)))
    for model, errors in {**found, "SimuMax": simumax}.items():
        for metric, of, target in ("median %", statistics.median, BYTES), ("worst %", max, None):
            exam.results.add(NAME, "peak bytes of ranks, nothing fitted", "all", len(errors), model, metric, of(errors), target, 0.3 if target else None)


def run(exam):
    folder = exam.heldout or exam.data
    rows = [r for r in exam.read(folder, NAME, "runs.csv") or () if r["model"] == "llama3-70b"]
    if not rows:
        return exam.skip(f"{NAME}: no runs.csv")
    published = {r["row_id"]: r for r in exam.read(folder, NAME, "published_predictions.csv") or ()}
    steps = [step(r) for r in rows]
    exam.attempt(f"{NAME}: kernels", by_kernels, exam, folder if exam.read(folder, NAME, "kernels.csv") else exam.data, steps, published)
    exam.attempt(f"{NAME}: steps", by_others, exam, steps, published)
    exam.attempt(f"{NAME}: memory", memory, exam, folder, rows, published)
    return None
