"""Published steps of language models on A100 and H100 under layouts: by fits to other widths (vtrain2024), other models (foundry2024,
mbridge2026, big_models_misc). Beside one share of the peak, by what tells runs apart: the rules that their tables suggest."""
import collections
import statistics

import laid
from laid_sets import Big, Foundry, Vtrain

NAME = "published_layouts"
RUNS = 40
ASKED = 80  # of each fit


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
    """Each value of `of` is left out of a fit to at most RUNS others. `steps` are in an order by chance. A model is one group at any length
    of its sequences: these are alike."""
    pairs, rules = [], {}
    for value in keys or sorted({of(s) for s in steps}):
        fitted = [s for s in steps if of(s) != value][:RUNS]
        asked = [s for s in steps if of(s) == value][:ASKED]
        machine = exam.attempt(f"{name}: without {value}", laid.fit, exam, f"{name}-{value}", fitted, device, options, lambda s: s.row["model"])
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

# Their questions begin with machine files that were made without the set.

VTRAIN, FOUNDRY, BIG = Vtrain(), Foundry(), Big()


def vtrain_step(r):
    r["words"] = 50304
    return laid.step(VTRAIN, r)


def vtrain(exam):
    steps = read(exam, "vtrain2024", vtrain_step)
    left_out(exam, "vtrain2024", "iteration, a hidden width left out, by 40 runs", steps, lambda s: s.row["hidden"], "A100", laid.without(exam, "a100-sxm4-80gb-amp", "vtrain2024"),
             lambda s: (s.row["tp"], s.row["micro_batch"]), 6.0, 8.37, mean=statistics.mean, metric="MAPE %")


def foundry_step(r):
    r["words"] = int(r["vocab"])
    return laid.step(FOUNDRY, r)


def foundry(exam):
    # in a step of such lengths nothing but attention counts, which is of other libraries by length
    steps = read(exam, "foundry2024", foundry_step)
    left_out(exam, "foundry2024", "FSDP, models left out, by 40 runs", steps, lambda s: {"125m": 0, "350m": 1, "760m": 2, "1b": 0, "3b": 1, "7b": 2, "13b": 0, "30b": 1}.get(s.row["model"], 2),
             "A100-SXM4-40GB",
             (*laid.without(exam, "a100-sxm4-40gb-amp", "foundry2024"), "--interconnect", "nvlink3+8xib200"), lambda s: "", 5.0)


LLAMAS = {"llama3-8b": "llama3_8b", "llama3-70b": "llama3_70b", "llama3.1-405b": "llama3_1_405b"}


def mbridge_step(r):
    sizes = {"llama3-8b": (32, 4096, 14336, 32), "llama3-70b": (80, 8192, 28672, 64), "llama3.1-405b": (126, 16384, 53248, 128)}[r["model"]]
    r.update(zip(("layers", "hidden", "ffn", "heads"), map(str, sizes)), kv_heads="8", gated_ffn="1", words=128256, recompute="none")
    words = [f"tp{r['tp']} pp{r['pp']} dp{r['dp']}"] + ["sp"] * (int(r["tp"]) > 1) + [f"cp{r['cp']}"] * (int(r["cp"]) > 1)
    words += [f"vp{r['vp']} interleaved"] * (int(r["vp"]) > 1) + [["zero1"], ["fsdp"]][r["fsdp"] == "1"] * (int(r["dp"]) > 1)
    return laid.Step(f"{LLAMAS[r['model']]}:sequence={r['seq']}", " ".join(words), int(r["nodes"]), int(r["gpus_per_node"]), int(r["micro_batch"]),
                     int(r["grad_accum"]), float(r["step_s"]), str(40 << 20), row=r, mixed="fp8")


def mbridge(exam):
    steps = read(exam, "mbridge2026", mbridge_step, lambda r: r["gpu"] == "H100 80GB HBM3" and r["model"] in LLAMAS and r["task"] == "pretrain")
    shipped = laid.predict_all(exam, "mbridge2026", ("--device", "H100"), steps)
    laid.say(exam, "mbridge2026", "FP8 on H100, by the file that ships", shipped)
    left_out(exam, "mbridge2026", "FP8 on H100, a model left out", steps, lambda s: s.row["model"], "H100", ("--interconnect", "nvlink4+8xib400"),
             lambda s: "", 6.0)


def big_step(r):
    r.update(words=51200, vp=BIG.chunks(r))
    return laid.step(BIG, r)


def big(exam):
    steps = read(exam, "big_models_misc", big_step, BIG.usable)
    left_out(exam, "big_models_misc", "22 G to 1 T on A100, sizes left out", steps, lambda s: {"gpt-22b": 0, "gpt-175b": 0, "gpt-310b": 1, "gpt-530b": 1}.get(s.row["model"], 2), "A100-SXM4-80GB",
             (*laid.without(exam, "a100-sxm4-80gb-amp", "big_models_misc"), "--interconnect", "nvlink3+8xib200"), lambda s: "", 5.0, 3.65)


def run(exam):
    for name, ask in ("vtrain2024", vtrain), ("foundry2024", foundry), ("mbridge2026", mbridge), ("big_models_misc", big):
        if exam.read(exam.heldout or exam.data, name, "runs.csv"):
            exam.attempt(name, ask, exam)
        else:
            exam.skip(f"{NAME}: no {name}")
