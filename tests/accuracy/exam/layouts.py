"""Steps of language models under layouts, by the machine file that ships: nothing of these runs was fitted (hf3d2025). Beside a rule
that anybody has: one share of the peak for each degree of tensor parallelism, its median over these very runs, and the pipeline's bubble."""
import collections
import statistics

from results import COVERAGE

NAME = "layouts"
DEVICE = "H100"
PEAK = 989e12  # FLOP/s in 16 bits
QUESTION = "step under a layout, by the file that ships"
AT_ONCE = 60  # runs, of each model
LEAST_MFU = 10.0  # %


def network(r):
    heads = int(r["heads"])
    return (f"mistral_7b:layers={r['layers']}:width={r['hidden']}:intermediate={r['ffn']}:heads={heads}:kv_heads={r['kv_heads']}"
            f":head_width={int(r['hidden']) // heads}:vocabulary={r['vocab']}:sequence={r['seq']}")


def layout(r):
    words = [f"tp{r['tp']}", f"pp{r['pp']}", f"dp{r['dp']}"]
    # layers are dealt out by cost, the embedding and the head counted in
    return " ".join(words + ["stages=balanced"] * (int(r["pp"]) > 1) + ["sp"] * (r["sp"] == "1" and int(r["tp"]) > 1) + [f"zero{r['zero_stage']}"] * (int(r["zero_stage"]) > 0 and int(r["dp"]) > 1))


def read(exam):
    rows = [r for r in exam.read(exam.heldout or exam.data, "hf3d2025", "runs.csv") or ()
            if r["score_time"] == "1" and r["step_s"] and float(r["mfu_pct"] or 0) >= LEAST_MFU and not r["suspect"]]
    exam.draw(2).shuffle(rows)
    return rows[:AT_ONCE]


def predicted(exam, r):
    found = exam.program.table("predict", network(r), "--device", DEVICE, "--nodes", r["nodes"], "--devices-per-node", r["gpus_per_node"],
                               "--batch", r["micro_batch"], "--accumulate", r["grad_accum"], "--layout", layout(r),
                               "--sync", f"ddp:{r['ddp_bucket_mb']}MiB", "--optimizer", "adam")[0]
    return [float(found[c]) / 1e3 if found[c] else float("nan") for c in ("step_ms", "step_low_ms", "step_high_ms")]


def flops(r):
    """6 N T, and attention (PaLM, appendix B)."""
    return (6 * float(r["layers"]) * (4 * float(r["hidden"]) ** 2 + 3 * float(r["hidden"]) * float(r["ffn"]))
            + 6 * float(r["vocab"]) * float(r["hidden"]) + 12 * float(r["layers"]) * float(r["hidden"]) * float(r["seq"])) \
        * float(r["seq"]) * float(r["global_batch"])


def at_peak(r):
    bubble = (int(r["grad_accum"]) + int(r["pp"]) - 1) / int(r["grad_accum"])
    return flops(r) / (PEAK * int(r["gpus"])) * bubble


def run(exam):
    rows = read(exam)
    if not rows:
        return exam.skip(f"{NAME}: no hf3d2025")
    share = collections.defaultdict(list)
    for r in rows:
        share[r["tp"]].append(at_peak(r) / float(r["step_s"]))
    errors, rule, inside, ratio = [], [], [], []
    for r, found in ((r, exam.attempt(f"{NAME}: {r['run_name']}", predicted, exam, r)) for r in rows):
        if not found:
            continue
        true, (step, low, high) = float(r["step_s"]), found
        errors.append(100 * abs(step - true) / true)
        ratio.append(step / true)
        inside.append(low <= true <= high)
        rule.append(100 * abs(at_peak(r) / statistics.median(share[r["tp"]]) - true) / true)
    if errors:
        exam.results.add(NAME, QUESTION, "all", len(errors), "layermeter", "median %", statistics.median(errors))
        exam.results.add(NAME, QUESTION, "all", len(errors), "MFU by tp", "median %", statistics.median(rule))
        exam.results.add(NAME, QUESTION, "all", len(errors), "layermeter", "predicted / measured, median", statistics.median(ratio))
        exam.results.add(NAME, f"{QUESTION}: intervals", "all", len(errors), "layermeter", COVERAGE,
                         abs(100 * statistics.mean(inside) - 90), 5.0)
    return None
