"""Steps of language models under layouts (hf3d2025): by the machine file that ships, of which nothing of these runs was fitted; and by a
fit to 40 of the runs. Beside a rule that anybody has: one share of the peak for each degree of tensor parallelism, and the pipeline's
bubble, from the same runs as the fit; for the file that ships from the very runs it is asked about."""
import collections
import statistics

import laid

NAME = "layouts"
DEVICE = "H100"
LINK = ("--interconnect", "nvlink4+efa3200")  # 16 nodes of 8 with NVLink; between nodes a network that ships, which the fit corrects
PEAK = 989e12  # FLOP/s in 16 bits
SHIPPED, FITTED = "step under a layout, by the file that ships", "step under a layout, by 40 other runs"
AT_ONCE = 60  # runs, of each model
RUNS = 40
LEAST_MFU = 10.0  # %
CELL = 8  # runs: fewer are no choice


def network(r):
    heads = int(r["heads"])
    return (f"mistral_7b:layers={r['layers']}:width={r['hidden']}:intermediate={r['ffn']}:heads={heads}:kv_heads={r['kv_heads'] or heads}"
            f":head_width={int(r['hidden']) // heads}:vocabulary={r['vocab']}:sequence={r['seq']}:tied={r['tied_embeddings'] or 0}")


def parameters(text):
    return float(text[:-1]) * {"K": 1e3, "M": 1e6, "G": 1e9}[text[-1]] if text else None


def stages(r):
    """Layers are dealt out by cost, the embedding and the head counted in: the parameters of the first stage tell how many it has,
    and so have those behind it as long as there are any. Of ours each has one at least."""
    ranks, layers, width = int(r["pp"]), int(r["layers"]), float(r["hidden"])
    local, shared = parameters(r["local_params_source"]), int(r["kv_heads"] or r["heads"]) / int(r["heads"])
    if ranks == 1 or not local:
        return ["stages=balanced"] * (ranks > 1)
    one = width * width * (2 + 2 * shared) + 3 * width * float(r["ffn"])
    most = max(1, round((local * int(r["tp"]) - float(r["vocab"]) * width) / one))
    if most * ranks < layers:
        return ["stages=balanced"]
    blocks = []
    for left in range(ranks - 1, -1, -1):
        blocks.append(min(most, layers - sum(blocks) - left))
    return ["stages=" + ",".join(map(str, blocks))]


def layout(r):
    words = [f"tp{r['tp']}", f"pp{r['pp']}", f"dp{r['dp']}"]
    return " ".join(words + stages(r) + ["sp"] * (r["sp"] == "1" and int(r["tp"]) > 1)
                    + [f"zero{r['zero_stage']}"] * (int(r["zero_stage"]) > 0 and int(r["dp"]) > 1))


def step(r):
    return laid.Step(network(r), layout(r), int(r["nodes"]), int(r["gpus_per_node"]), int(r["micro_batch"]), int(r["grad_accum"]),
                     float(r["step_s"]), str(int(r["ddp_bucket_mb"] or 25) << 20), row=r)


def read(exam, folder):
    """Runs whose times can be compared, in an order by chance. More stages than layers are refused by name."""
    rows = [r for r in exam.read(folder, "hf3d2025", "runs.csv") or ()
            if r["score_time"] == "1" and r["step_s"] and not r["suspect"] and int(r["pp"]) <= int(r["layers"])]
    exam.draw(2).shuffle(rows)
    return [step(r) for r in rows]


def used(s):
    return float(s.row["mfu_pct"] or 0) >= LEAST_MFU


def flops(r):
    """6 N T, and attention (PaLM, appendix B)."""
    return (6 * float(r["layers"]) * (4 * float(r["hidden"]) ** 2 + 3 * float(r["hidden"]) * float(r["ffn"]))
            + 6 * float(r["vocab"]) * float(r["hidden"]) + 12 * float(r["layers"]) * float(r["hidden"]) * float(r["seq"])) \
        * float(r["seq"]) * float(r["global_batch"])


def at_peak(r):
    bubble = (int(r["grad_accum"]) + int(r["pp"]) - 1) / int(r["grad_accum"])
    return flops(r) / (PEAK * int(r["gpus"])) * bubble


def mfu_by_tp(steps):
    """Seconds by one share of the peak for each tp, of these steps; of another tp that of all."""
    share, every = collections.defaultdict(list), []
    for s in steps:
        share[s.row["tp"]].append(at_peak(s.row) / s.seconds)
        every.append(share[s.row["tp"]][-1])
    return lambda s: at_peak(s.row) / statistics.median(share.get(s.row["tp"], every))


def cells(pairs):
    by = collections.defaultdict(list)
    for s, p in pairs:
        by[s.row["model"], s.row["gpus"]].append((s.seconds, p[0], s))
    return [c for c in by.values() if len(c) >= CELL]


def choices(exam, question, pairs, rule):
    """What the best layout by prediction takes over the best there was; and whether the order is right."""
    for name, seconds in ("layermeter", lambda c: c[1]), ("MFU by tp", lambda c: rule(c[2])):
        lost = [100 * (min(c, key=seconds)[0] / min(x[0] for x in c) - 1) for c in cells(pairs)]
        order = [laid.spearman([x[0] for x in c], [seconds(x) for x in c]) for c in cells(pairs)]
        if lost:
            exam.results.add(NAME, f"{question}: the chosen one over the best", "all", len(lost), name, "median %", statistics.median(lost), 3.0)
            exam.results.add(NAME, f"{question}: the chosen one over the best", "all", len(lost), name, "worst %", max(lost))
            exam.results.add(NAME, f"{question}: 1 - rank correlation", "all", len(lost), name, "mean", 1 - statistics.mean(order), 0.05)


def by_shipped(exam, steps):
    asked = [s for s in steps if used(s)][:AT_ONCE]
    pairs = laid.predict_all(exam, NAME, ("--device", DEVICE), asked)
    laid.say(exam, NAME, SHIPPED, pairs, {"MFU by tp": mfu_by_tp(asked)})
    if pairs:
        exam.results.add(NAME, SHIPPED, "all", len(pairs), "layermeter", "predicted / measured, median", statistics.median(p[0] / s.seconds for s, p in pairs))


def by_fit(exam, fitted, asked):
    machine = laid.fit(exam, NAME, fitted, DEVICE, LINK)
    pairs, rule = laid.predict_all(exam, NAME, machine, asked), mfu_by_tp(fitted)
    laid.say(exam, NAME, FITTED, pairs, {"MFU by tp": rule}, target=15.0)
    laid.say(exam, NAME, f"{FITTED}, {LEAST_MFU:.0f} % MFU or more", [(s, p) for s, p in pairs if used(s)], {"MFU by tp": rule}, target=8.0)
    choices(exam, FITTED, pairs, rule)


def run(exam):
    steps = read(exam, exam.data)
    other = read(exam, exam.heldout) if exam.heldout else []
    if not steps and not other:
        return exam.skip(f"{NAME}: no hf3d2025")
    by_shipped(exam, other or steps)
    if len(steps) > RUNS:
        exam.attempt(f"{NAME}: fit", by_fit, exam, steps[:RUNS], other or steps[RUNS:])
    return None
