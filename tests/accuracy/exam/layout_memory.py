"""Memory of ranks under layouts: what the first stage of a pipeline holds on H100, and who ran out of it (hf3d2025); the peak of the last
stage of small GPT models on A100 (megatron_memory). Beside the sums that people do."""
import collections
import itertools
import statistics

import laid
import layouts
from program import Failed

NAME = "layout_memory"
RUNS = 40
DEVICE = 80 * 2.0**30  # bytes
NEAR = 0.5, 1.6  # of the device's memory: a label is no matter of course
LESS = 0.10  # of it context, libraries and the allocator may take (MEMORY_LESS of room.h)
# until this job nanotron kept gathered inputs for the backward pass; by its memory buffer it gathers them again since
KEPT_UNTIL = 13_800_000
HELD, LABELS, PEAK = "bytes held by a stage", "out of memory or not", "peak bytes of the last stage"
# what no word of a layout says: a loss fused by a compiler, gradients of the head put off, micro-batches in groups, optimizers within
# a part of the replicas, attention masked by hand, norms of queries; and a run that goes on in another layout than it began in
WORDLESS = ("cross-entropy-loss-fusion=True", "defer-embedding-wgrad-compute=True", "microbatch-group-size-per-virtual-pipeline-stage",
            "num-distributed-optimizer-instances", "no-masked-softmax-fusion=True", "qk-layernorm=True")
STATES = ("weights_bytes", "masters_bytes", "gradients_bytes", "optimizer_bytes", "gathered_bytes", "buckets_bytes")


def memory(exam, network, layout, batch, stage=None, more=()):
    """Bytes by part at the peak; None, and a line, where nobody tells them."""
    where = ("--stage", str(stage)) if stage else ()
    try:
        return {k: float(v or 0) for k, v in exam.program.table(
            "memory", network, "--dtype", "bf16", "--masters", "--grad-accum-dtype", "f32", "--optimizer", "adam", "--batch", str(batch), "--layout",
            layout, *where, *more)[0].items() if k.endswith("_bytes")}
    except Failed as e:
        exam.skip(f"{NAME}: {layout}: {str(e).rsplit('layermeter:', 1)[-1]}")
        return None


def parts(found):
    states = sum(found.get(k, 0) for k in STATES)
    return states, found["peak_bytes"] - states


def factors(pairs):
    """Two of them, not negative, by least absolute relative deviations: of states and of all else. Pairs of (a, b) and bytes. Runs that
    ran out of memory once, or whose host runs far ahead of its device, hold much more or less than others: squares would follow them."""
    rows = [(a / t, b / t) for (a, b), t in pairs]
    found = [(1 / a, 0.0) for a, b in rows if a] + [(0.0, 1 / b) for a, b in rows if b]
    for (a, b), (c, d) in itertools.combinations(rows, 2):  # the best one meets two of the runs
        det = a * d - b * c
        if det:
            found.append(((d - b) / det, (a - c) / det))
    return min((f for f in found if min(f) >= 0), key=lambda f: sum(abs(f[0] * a + f[1] * b - 1) for a, b in rows))


# ---- hf3d2025 ------------------------------------------------------------------------------------------------------------------

def naive(r):
    """20 bytes a parameter, 10 + 14 / dp with ZeRO-1; 2 s b / tp (10 h + 4 ffn) of each layer in flight; logits."""
    tp, pp, dp = int(r["tp"]), int(r["pp"]), int(r["dp"])
    width, words = float(r["hidden"]), float(r["seq"]) * float(r["micro_batch"])
    layers = float(r["layers"]) / pp
    params = (layers * (4 * width * width + 3 * width * float(r["ffn"])) + float(r["vocab"]) * width) / tp
    each = 10 + 14 / dp if r["zero_stage"] == "1" else 20
    flight = min(pp, int(r["grad_accum"]))
    return each * params + 2 * words / tp * (10 * width + 4 * float(r["ffn"])) * layers * flight + (10 * words * float(r["vocab"]) / tp if pp == 1 else 0)


def read(exam, folder):
    rows = [r for r in exam.read(folder, "hf3d2025", "runs.csv") or ()
            if r["status"] in ("ok", "oom") and not r["suspect"] and int(r["pp"]) <= int(r["layers"]) and r["grad_accum"] and r["gpus_per_node"]]
    models = {m["model"]: m for m in exam.read(folder, "hf3d2025", "models.csv") or ()}
    for r in rows:
        r["ffn"] = r["ffn"] or models.get(r["model"], {}).get("ffn", "")
    rows = [r for r in rows if r["ffn"]]
    exam.draw(3).shuffle(rows)
    return rows


def dealt(r):
    """Blocks of each stage: a stage gets blocks until their cost, with the head's, passes its share (nanotron, build_model). Of ours each
    has one at least."""
    ranks, layers, width = int(r["pp"]), int(r["layers"]), float(r["hidden"])
    each = 4 * width * width + 3 * width * float(r["ffn"])
    total, blocks = layers * each + float(r["vocab"]) * width, [0] * ranks
    for k in range(layers):
        at = next(v for v in range(ranks) if k * each <= total * (v + 1) / ranks)
        blocks[at] += 1
    for v in range(ranks):
        if not blocks[v]:
            blocks[max(k for k in range(ranks) if blocks[k] > 1)] -= 1
            blocks[v] = 1
    return ["stages=" + ",".join(map(str, blocks))] * (ranks > 1)


def of_row(exam, r, stage):
    words = [w for w in layouts.RUNS_OF.words(r) if not w.startswith("stages=")] + dealt(r)
    more = ("--late-sums",) + ("--keep-gathered",) * (int(r["job_id"]) < KEPT_UNTIL)
    return memory(exam, layouts.RUNS_OF.network(r), " ".join([*words, f"ga{r['grad_accum']}"]), r["micro_batch"],
                  stage if int(r["pp"]) > 1 else None, more)


def held(r):
    return float(r["mem_reserved_bytes"])


def share(right):
    return 100 * (1 - statistics.mean(right))


def say_labels(exam, rows, by):
    """Wrong ones, in percent; near the limit by what is predicted."""
    fullest = exam.map(lambda r: of_row(exam, r, None), rows)
    told = [(r, by(f), naive(r)) for r, f in zip(rows, fullest) if f]
    for what, some in ("all", told), ("near the limit", [t for t in told if NEAR[0] * DEVICE < t[1] < NEAR[1] * DEVICE]):
        if some:
            question = LABELS if what == "all" else f"{LABELS}, {what}"
            for model, at in ("layermeter", 1), ("a sum by hand", 2):
                exam.results.add(NAME, question, "all", len(some), model, "wrong %", share((t[at] > (1 - LESS) * DEVICE) == (t[0]["status"] == "oom") for t in some),
                                 1.0 if what == "all" else 5.0)


def held_bytes(exam, rows, other):
    ran = [r for r in rows if r["status"] == "ok" and r["mem_reserved_bytes"]]
    asked = [r for r in other if r["status"] == "ok" and r["mem_reserved_bytes"]] if other else ran[RUNS:]
    found = [(parts(f), held(r)) for r, f in zip(ran[:RUNS], exam.map(lambda r: of_row(exam, r, 1), ran[:RUNS])) if f]
    u, v = factors(found)
    constant = statistics.median(held(r) / naive(r) for r in ran[:RUNS])
    told = [(r, parts(f)) for r, f in zip(asked, exam.map(lambda r: of_row(exam, r, 1), asked)) if f]
    for model, error in (("layermeter", lambda r, p: laid.error(u * p[0] + v * p[1], held(r))), ("layermeter, as it is", lambda r, p: laid.error(sum(p), held(r))),
                         ("a sum by hand", lambda r, p: laid.error(constant * naive(r), held(r)))):
        exam.results.add(NAME, f"{HELD}, factors by {RUNS} others", "all", len(told), model, "median %", statistics.median(error(r, p) for r, p in told), 4.0)
    say_labels(exam, other or rows, lambda f: u * parts(f)[0] + v * parts(f)[1])


# ---- megatron_memory -----------------------------------------------------------------------------------------------------------

def unfused(r):
    """Attention step by step: asked for, of Megatron's own layers, or as the older images do where results must repeat."""
    return "attention-backend=unfused" in r["flags"] or r["implementation"] == "local" or (
        r["environment"] == "lts" and r["golden_changed"] < "2026" and "deterministic-mode=True" in r["flags"])


def megatron(exam, r):
    tp, pp, cp, vp = (int(r[k] or 1) for k in ("tp", "pp", "cp", "vp"))
    dp = int(r["dp"] or 8 // (tp * pp * cp))
    multiple = int(r["vocab_multiple"]) * tp
    words = -(-int(r["vocab"] or 50257) // multiple) * multiple
    network = (f"gpt2:layers={r['layers']}:width={r['hidden']}:heads={r['heads']}:inner={r['ffn'] or 4 * int(r['hidden'])}:sequence={r['seq']}"
               f":positions={r['max_positions']}:vocabulary={words}:attention={'plain' if unfused(r) else 'flash'}")
    words = [f"tp{tp} pp{pp} dp{dp} cp{cp} ga{int(r['global_batch']) // (dp * int(r['micro_batch']))}"]
    words += [f"vp{vp} interleaved"] * (vp > 1) + ["sp"] * (r["sp"] == "1" and tp > 1)
    words += [f"zero{r['zero_stage']}"] * (int(r["zero_stage"]) > 0 and dp > 1) + uneven(r, pp)
    more = ("--recompute", "full") * (r["recompute"] == "full")
    if r["implementation"] == "transformer_engine" and "no-gradient-accumulation-fusion" not in r["flags"]:
        more += ("--fused-gradients",)
    return network, " ".join(words), int(r["micro_batch"]), pp if pp > 1 else None, more


def uneven(r, pp):
    """The first and the last stage of their own size, the rest even."""
    told = dict(x.split("=", 1) for x in r["flags"].split() if "=" in x)
    first, last = (told.get(f"decoder-{k}-pipeline-num-layers") for k in ("first", "last"))
    if pp < 3 or not (first and last):
        return []
    left = (int(r["layers"]) - int(first) - int(last)) // (pp - 2)
    return ["stages=" + ",".join(map(str, [int(first), *[left] * (pp - 2), int(last)]))]


def has_words(r):
    return not any(f in r["flags"] for f in WORDLESS) and "reshard" not in r["case"]


def by_hand(r):
    """18 bytes a parameter (6 + 12 / dp where optimizers are sharded), 34 s b h of each layer, 10 bytes a logit."""
    tp, pp, dp = int(r["tp"]), int(r["pp"]), int(r["dp"] or 8 // (int(r["tp"]) * int(r["pp"]) * int(r["cp"] or 1)))
    width, layers, tokens = float(r["hidden"]), float(r["layers"]) / pp, float(r["seq"]) * float(r["micro_batch"]) / int(r["cp"] or 1)
    params = (12 * layers * width * width + 50304 * width) / tp

    return params * (6 + 12 / dp if r["zero_stage"] == "1" else 18) + tokens * width * layers * 34 / tp + 10 * tokens * 50304 / tp


def peaks(exam, rows):
    # the newest values of each case on each platform, of dense models of one kind
    rows = [r for r in rows if r["hidden"] == "512" and "mla" not in r["case"] and r["gated_ffn"] == "0"]
    keys = {megatron(exam, r): None for r in rows}
    keys.update(zip(keys, exam.map(lambda k: memory(exam, *k), list(keys))))
    told = [(r, keys[megatron(exam, r)]["peak_bytes"], float(r["mem_peak_allocated_bytes"])) for r in rows if keys[megatron(exam, r)]]
    for group, some in ("all", told), ("with words", [t for t in told if has_words(t[0])]):
        say_peaks(exam, group, some)


def say_peaks(exam, group, told):
    """Nothing fitted; a factor, and an overhead as memory takes it, by the other cases."""
    by_case = collections.defaultdict(list)
    for t in told:
        by_case[t[0]["case"]].append(t)
    for model, value in ("layermeter", lambda t: t[1]), ("a sum by hand", lambda t: by_hand(t[0])):
        plain, scaled, moved = [], [], []
        for case, some in by_case.items():
            others = [t for t in told if t[0]["case"] != case]
            factor, overhead = statistics.median(t[2] / value(t) for t in others), statistics.median(t[2] - value(t) for t in others)
            plain += [laid.error(value(t), t[2]) for t in some]
            scaled += [laid.error(factor * value(t), t[2]) for t in some]
            moved += [laid.error(overhead + value(t), t[2]) for t in some]
        exam.results.add(NAME, f"{PEAK}, nothing fitted", group, len(plain), model, "median %", statistics.median(plain))
        for what, errors in ("a factor", scaled), ("an overhead", moved):
            question = f"{PEAK}, {what} by the other cases"
            exam.results.add(NAME, question, group, len(errors), model, "median %", statistics.median(errors), 2.0)
            exam.results.add(NAME, question, group, len(errors), model, "95th percentile %", sorted(errors)[int(0.95 * len(errors))], 8.0)


def run(exam):
    rows, other = read(exam, exam.data), read(exam, exam.heldout) if exam.heldout else []
    if len(rows) > RUNS:
        exam.attempt(f"{NAME}: hf3d2025", held_bytes, exam, rows, other)
    else:
        exam.skip(f"{NAME}: no hf3d2025")
    rows = exam.read(exam.heldout or exam.data, "megatron_memory", "runs.csv")
    if rows:
        exam.attempt(f"{NAME}: megatron_memory", peaks, exam, rows)
    else:
        exam.skip(f"{NAME}: no megatron_memory")
