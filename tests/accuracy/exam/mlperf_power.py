"""Watts of a node in MLPerf Training's runs (v4.0): of a benchmark that was left out, and of more nodes than were metered.

A run's answer is the mean of what the known benchmarks drew, each times what `predict` says of the two: the same device at the rest
that was metered, its limit what a node drew in the known runs. A known benchmark whose network does not ship counts as full load. So it tells apart what waiting for messages changes, and nothing else. The energy
of a run is watts x nodes x its seconds: errors of energy are those of watts. Known are runs on one node, of the same accelerator if
there are any. Beside: a node draws what the known ones did on the mean (nodes x one node's power), and 1.25 x its accelerators' limits.

Bounds are those of waiting (from rest to full load), and how far known runs of several benchmarks lie apart. Nothing is fitted here.
"""
import collections
import math
import statistics

NAME = "mlperf_power"
GOAL = 4.0
OUTSIDE = 1.25  # of a node's power to that of its accelerators' limits
NETWORKS = {"bert": ("bert_large", "--sequence", "512"), "resnet": ("resnet50",)}
REST = 0.3  # of a busy node, where no rest was metered; the median of the open rows' node_idle_w / node_power_w is .31


def read(exam, folder):
    rows = [r for r in exam.read(folder, NAME, "runs.csv") or () if not r["suspect"] and r["node_power_w"]]
    for r in rows:
        r["watts"], r["n"] = float(r["node_power_w"]), int(r["nodes"])
    return rows


def asked(exam, row, busy, rest):
    """(watts, low, high) of a device in a run, whose share of a node draws `busy` at full load."""
    network = NETWORKS[row["benchmark"]]
    found = exam.program.table("predict", network[0], *network[1:], "--device", row["gpu"], "--nodes", row["nodes"],
                               "--devices-per-node", row["gpus_per_node"], "--batch", row["micro_batch"], "--accumulate",
                               row["grad_accum"] or "1", "--idle-power", f"{rest:.6g}W", "--power-cap", f"{busy:.6g}W")[0]
    return tuple(float(found[k] or "nan") for k in ("power_w", "power_low_w", "power_high_w"))


def can_ask(row):
    return row["benchmark"] in NETWORKS and row["gpu"] and row["micro_batch"]


def settings(row):
    return tuple(row[k] for k in ("benchmark", "gpu", "nodes", "gpus_per_node", "micro_batch", "grad_accum"))


def answers(exam, row, known, apart, memo):
    """(watts, low, high) of a node."""
    def ask(r, busy, rest):
        key = settings(r), round(busy, 3), round(rest, 3)
        if key not in memo:
            memo[key] = asked(exam, r, busy, rest)
        return memo[key]
    by = collections.defaultdict(list)
    for r in known:
        by[r["benchmark"]].append(r)
    idle = [float(r["node_idle_w"]) for r in known if r["node_idle_w"]]
    found = []
    for alike in by.values():
        one, devices = alike[0], int(alike[0]["gpus_per_node"])
        drawn = statistics.mean(r["watts"] for r in alike)
        busy, rest = drawn / devices, (statistics.mean(idle) if idle else REST * drawn) / devices
        there = ask(one, busy, rest)[0] if can_ask(one) else busy
        found.append([drawn * w / there for w in ask(row, busy, rest)])
    watts, low, high = (statistics.mean(f[i] for f in found) for i in range(3))
    low, high = (w if math.isfinite(w) else watts for w in (low, high))
    return watts, low * (1 - apart), high * (1 + apart)


def apart_of(rows):
    """1.645 standard deviations of the benchmarks' means, the central 90 % of normal ones: how far nodes at full load lie apart."""
    by = collections.defaultdict(list)
    for r in rows:
        if r["n"] == 1:
            by[r["gpu"], r["meter"], r["benchmark"]].append(r["watts"] / int(r["gpus_per_node"]))
    means = collections.defaultdict(list)
    for key, watts in by.items():
        means[key[:2]].append(statistics.mean(watts))
    return statistics.mean(1.645 * statistics.stdev(m) / statistics.mean(m) for m in means.values() if len(m) > 1)


def nameplate(row, limits):
    return OUTSIDE * int(row["gpus_per_node"]) * limits.get(row["gpu"], math.nan)


def say(exam, question, found, target):
    models = ("layermeter", "one node's power", "1.25 x limits")
    for i, model in enumerate(models):
        errors = [100 * abs(f[1][i] / f[0]["watts"] - 1) for f in found if math.isfinite(f[1][i])]
        if not errors:
            continue
        for metric, value in ("median %", statistics.median(errors)), ("mean %", statistics.mean(errors)), ("max %", max(errors)):
            exam.results.add(NAME, question, "all", len(errors), model, metric, value, target if metric == "median %" else None)
    inside = [low <= f[0]["watts"] <= high for f in found for low, high in (f[2],)]
    exam.results.add(NAME, question, "all", len(inside), "layermeter", "coverage off 90 %", abs(100 * statistics.mean(inside) - 90), 5.0)


def mean_of(rows):
    """Each benchmark counts once."""
    by = collections.defaultdict(list)
    for r in rows:
        by[r["benchmark"]].append(r["watts"])
    return statistics.mean(statistics.mean(w) for w in by.values())


def one_by_one(exam, rows, known_of, apart, limits):
    memo, found = {}, []
    for row in rows:
        known = known_of(row)
        if known and can_ask(row):
            watts, low, high = answers(exam, row, known, apart, memo)
            found.append((row, (watts, mean_of(known), nameplate(row, limits)), (low, high)))
    return found


def nearest(row, rows):
    """Known runs on one node of the same meter: of the same system and benchmark, accelerator and benchmark, accelerator."""
    alike = [r for r in rows if r["n"] == 1 and r["meter"] == row["meter"] and r["gpu"] == row["gpu"] and r["row_id"] != row["row_id"]]
    for keys in ("org", "benchmark"), ("benchmark",), ():
        found = [r for r in alike if all(r[k] == row[k] for k in keys)]
        if found:
            return found
    return []


def run(exam):
    rows = read(exam, exam.data)
    if not rows:
        return exam.skip(f"{NAME}: no runs.csv")
    limits = {r["device"]: float(r["power_w"]) for r in exam.program.table("devices") if r["power_w"]}
    apart = apart_of(rows)
    asked_of = read(exam, exam.heldout) if exam.heldout else rows
    if exam.heldout:
        found = one_by_one(exam, [r for r in asked_of if r["n"] == 1], lambda row: nearest(row, rows), apart, limits)
        if found:
            say(exam, "watts of another system's node", found, GOAL)
    else:
        def others(row):
            return [r for r in rows if r["n"] == 1 and r["meter"] == row["meter"] and r["benchmark"] != row["benchmark"]]
        say(exam, "watts of a node by other benchmarks", one_by_one(exam, rows, others, apart, limits), GOAL)
    more = [r for r in asked_of if r["n"] > 1]
    if not more:
        return exam.skip(f"{NAME}: no runs on several nodes")
    ones = rows + [r for r in asked_of if r["n"] == 1]
    found = one_by_one(exam, more, lambda row: nearest(row, ones), apart, limits)
    if found:
        say(exam, "watts of a node among many, by one node", found, GOAL)
    else:
        exam.skip(f"{NAME}: no run on several nodes of a network that ships, beside one node of its accelerator")
    return None
