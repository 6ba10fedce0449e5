"""Published steps of language models on A100 and H100 under layouts: by fits to other widths (vtrain2024), other models (foundry2024,
mbridge2026, big_models_misc). Beside one share of the peak, by what tells runs apart: the rules that their tables suggest."""
import collections
import statistics

import laid

NAME = "published_layouts"
RUNS = 40
ASKED = 80  # of each fit


def gpt(r, words, attention="flash"):
    return (f"gpt2:layers={r['layers']}:width={r['hidden']}:heads={r['heads']}:inner={r['ffn']}:sequence={r['seq']}:positions={r['seq']}"
            f":vocabulary={words}:attention={attention}")


def recomputed(r):
    return [f"recompute={r['recompute']}"] * (r["recompute"] not in ("", "none"))


def flops(r, words):
    """6 N T, and attention (PaLM, appendix B), of a step; 8 where all runs again."""
    width, ffn, heads = float(r["hidden"]), float(r["ffn"]), float(r.get("kv_heads") or r["heads"]) / float(r["heads"])
    layer = width * width * (2 + 2 * heads) + (3 if r.get("gated_ffn") == "1" else 2) * width * ffn
    one = 6 * (float(r["layers"]) * layer + words * width) + 12 * float(r["layers"]) * width * float(r["seq"])
    return one * float(r["seq"]) * float(r["global_batch"]) * (4 / 3 if r["recompute"] == "full" else 1)


def bubble(r):
    m, pp, vp = int(r["grad_accum"]), int(r["pp"]), int(r.get("vp") or 1)
    return (m + (pp - 1) / vp) / m


def at_peak(s):
    r = s.row
    return flops(r, r["words"]) / float(r["gpus"]) * bubble(r)


def by_share(steps, key):
    """Seconds by the median rate of runs alike; of none alike by that of all."""
    rate, every = collections.defaultdict(list), []
    for s in steps:
        rate[key(s)].append(at_peak(s) / s.seconds)
        every.append(at_peak(s) / s.seconds)
    return lambda s: at_peak(s) / statistics.median(rate.get(key(s), every))


def left_out(exam, name, question, steps, of, device, options, rule, target, published=None, keys=None, mean=statistics.median, metric="median %"):
    """Each value of `of` is left out of a fit to at most RUNS others. `steps` are in an order by chance."""
    pairs, rules = [], {}
    for value in keys or sorted({of(s) for s in steps}):
        fitted = [s for s in steps if of(s) != value][:RUNS]
        asked = [s for s in steps if of(s) == value][:ASKED]
        machine = exam.attempt(f"{name}: without {value}", laid.fit, exam, f"{name}-{value}", fitted, device, options)
        if machine:
            more = laid.predict_all(exam, name, machine, asked)
            pairs += more
            rules.update({id(s): by_share(fitted, rule)(s) for s, _ in more})
    laid.say(exam, name, question, pairs, {"share of peak": lambda s: rules[id(s)]}, target=target, published=published, mean=mean, metric=metric)


def read(exam, dataset, make, keep=lambda r: True):
    rows = [r for r in exam.read(exam.heldout or exam.data, dataset, "runs.csv") or () if r["step_s"] and not r.get("suspect") and keep(r)]
    exam.draw(5).shuffle(rows)
    return [make(r) for r in rows]


# ---- each set ------------------------------------------------------------------------------------------------------------------

def vtrain_step(r):
    r["words"] = 50304
    layout = [f"tp{r['tp']} pp{r['pp']} dp{r['dp']}", *recomputed(r)]
    # Megatron before flash attention
    return laid.Step(gpt(r, r["words"], "plain"), " ".join(layout), int(r["nodes"]), int(r["gpus_per_node"]) if int(r["nodes"]) > 1 else int(r["gpus"]),
                     int(r["micro_batch"]), int(r["grad_accum"]), float(r["step_s"]), row=r)


def vtrain(exam):
    steps = read(exam, "vtrain2024", vtrain_step)
    left_out(exam, "vtrain2024", "iteration, a hidden width left out, by 40 runs", steps, lambda s: s.row["hidden"], "A100", (),
             lambda s: (s.row["tp"], s.row["micro_batch"]), 6.0, 8.37, mean=statistics.mean, metric="MAPE %")


def foundry_step(r):
    r["words"] = int(r["vocab"])
    nodes = max(1, int(r["gpus"]) // 8)
    layout = ["fsdp", *recomputed(r)]
    return laid.Step(gpt(r, r["words"]), " ".join(layout), nodes, int(r["gpus"]) // nodes, int(r["micro_batch"]), int(r["grad_accum"]),
                     float(r["step_s"]), row=r)


def foundry(exam):
    # in a step of such lengths nothing but attention counts, which is of other libraries by length
    steps = read(exam, "foundry2024", foundry_step)
    left_out(exam, "foundry2024", "FSDP, models left out, by 40 runs", steps, lambda s: {"125m": 0, "350m": 1, "760m": 2, "1b": 0, "3b": 1, "7b": 2, "13b": 0, "30b": 1}.get(s.row["model"], 2),
             "A100-SXM4-40GB", ("--interconnect", "nvlink3+8xib200"), lambda s: "", 5.0)


LLAMAS = {"llama3-8b": "llama3_8b", "llama3-70b": "llama3_70b", "llama3.1-405b": "llama3_1_405b"}


def mbridge_step(r):
    sizes = {"llama3-8b": (32, 4096, 14336, 32), "llama3-70b": (80, 8192, 28672, 64), "llama3.1-405b": (126, 16384, 53248, 128)}[r["model"]]
    r.update(zip(("layers", "hidden", "ffn", "heads"), map(str, sizes)), kv_heads="8", gated_ffn="1", words=128256, recompute="none")
    words = [f"tp{r['tp']} pp{r['pp']} dp{r['dp']}"] + ["sp"] * (int(r["tp"]) > 1) + [f"cp{r['cp']}"] * (int(r["cp"]) > 1)
    words += [f"vp{r['vp']} interleaved"] * (int(r["vp"]) > 1) + [["zero1"], ["fsdp"]][r["fsdp"] == "1"] * (int(r["dp"]) > 1)
    return laid.Step(f"{LLAMAS[r['model']]}:sequence={r['seq']}", " ".join(words), int(r["nodes"]), int(r["gpus_per_node"]), int(r["micro_batch"]),
                     int(r["grad_accum"]), float(r["step_s"]), str(40 << 20), row=r)


def mbridge(exam):
    steps = read(exam, "mbridge2026", mbridge_step, lambda r: r["gpu"] == "H100 80GB HBM3" and r["model"] in LLAMAS and r["task"] == "pretrain")
    left_out(exam, "mbridge2026", "FP8 on H100, a model left out", steps, lambda s: s.row["model"], "H100", ("--interconnect", "nvlink4+8xib400"),
             lambda s: "", 6.0)


CHUNKS = {"gpt-175b": 3, "gpt-530b": 3}  # of a stage, by the papers (Korthikanti et al. 2022, section 6); the table does not say


def big_step(r):
    r["words"] = 51200
    r["vp"] = CHUNKS.get(r["model"], 1) if int(r["pp"]) > 1 else 1
    words = [f"tp{r['tp']} pp{r['pp']} dp{r['dp']}"] + ["sp"] * (r["sp"] == "1") + recomputed(r) + [f"vp{r['vp']} interleaved"] * (r["vp"] > 1)
    return laid.Step(gpt(r, r["words"], "plain"), " ".join(words), int(r["nodes"]), int(r["gpus_per_node"]), int(r["micro_batch"]), int(r["grad_accum"]),
                     float(r["step_s"]), row=r)


def big(exam):
    steps = read(exam, "big_models_misc", big_step, lambda r: r["layers"] and r["status"] == "ok" and r["gpu"].startswith("A100"))
    left_out(exam, "big_models_misc", "22 G to 1 T on A100, sizes left out", steps, lambda s: {"gpt-22b": 0, "gpt-175b": 0, "gpt-310b": 1, "gpt-530b": 1}.get(s.row["model"], 2), "A100-SXM4-80GB",
             ("--interconnect", "nvlink3+8xib200"), lambda s: "", 5.0, 3.65)


def run(exam):
    for name, ask in ("vtrain2024", vtrain), ("foundry2024", foundry), ("mbridge2026", mbridge), ("big_models_misc", big):
        if exam.read(exam.heldout or exam.data, name, "runs.csv"):
            exam.attempt(name, ask, exam)
        else:
            exam.skip(f"{NAME}: no {name}")
