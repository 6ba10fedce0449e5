"""Steps of language models under layouts (hf3d2025): by the machine file that ships, to which half of their layouts was fitted, and by a fit to
40 of the runs of this half; the other half is asked. Beside a rule that anybody has: one share of the peak for each degree of tensor parallelism, and the pipeline's
bubble, from the same runs as the fit; for the file that ships from the very runs it is asked about."""
import collections
import statistics

import laid
from laid_sets import Hf3d

NAME = "layouts"
RUNS_OF = Hf3d()
DEVICE = "H100"
LINK = ("--interconnect", "nvlink4+efa3200")  # 16 nodes of 8 with NVLink; between nodes a network that ships, which the fit corrects
PEAK = 989e12  # FLOP/s in 16 bits
SHIPPED, FITTED = "step under a layout, by the file that ships", "step under a layout, by 40 other runs"
AT_ONCE = 60  # runs, of each model
RUNS = 40
LEAST_MFU = 10.0  # %
CELL = 8  # runs: fewer are no choice


def step(r):
    return laid.step(RUNS_OF, r)


def read(exam, folder):
    """Runs whose times can be compared, in an order by chance. More stages than layers are refused by name."""
    rows = [r for r in exam.read(folder, RUNS_OF.NAME, "runs.csv") or () if RUNS_OF.usable(r)]
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
    other = read(exam, exam.heldout) if exam.heldout else [s for s in steps if not RUNS_OF.half(s.row)]
    if not other:
        return exam.skip(f"{NAME}: no hf3d2025")
    by_shipped(exam, other)
    fitted = [s for s in steps if RUNS_OF.half(s.row)][:RUNS]
    if len(fitted) == RUNS:
        exam.attempt(f"{NAME}: fit", by_fit, exam, fitted, other)
    return None
