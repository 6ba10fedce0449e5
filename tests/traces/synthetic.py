#!/usr/bin/env python3
"""Traces of GPU metrics with known epochs, from a seed: for tests, and to judge a method by.

    tests/traces/synthetic.py --seed 7 -o trace.csv --truth truth.json       drawn from the ranges below
    tests/traces/synthetic.py --seed 7 --set epoch_s=30 --set jitter=0.01 --format dcgm -o trace.txt

What a run is made of, and the ranges that `draw` takes it from (the same for every seed on every machine):

    interval_s    between samples: 0.1 to 1 s, more often short                (log-uniform)
    epoch_s       30 to 1500 samples long                                      (log-uniform)
    epochs        4 to 40, as many as 40000 samples hold
    jitter        standard deviation of the epochs' lengths: 0 to 3 % of them
    warmup        the first epoch takes 1 to 2 times as long; in a third of the runs the second half of that, too
    startup_s     idle before training: 0 to 2 epochs
    tail_s        idle behind it: none, or up to one epoch
    evaluation    share of an epoch at its end at another level: none in 3 of 10, else 3 to 25 %
    evaluation_change  10 to 50 points, mostly down
    dip_s         pause behind each epoch: none in 2 of 10, else 1 % to 5 % of an epoch, and 1 sample at least;
                  an epoch has an evaluation or a dip
    dip_depth     40 to 95 % of the level
    level         of training: 50 to 98 points of 100
    noise         standard deviation of a sample: 0.5 to 10 points; correlated between samples by 0 to 0.6
    step_s        nested: 0.02 s to an eighth of an epoch, depth 0 to 20 points, on 50 to 80 % of the time
    dropped       samples that are missing, one by one: 0 to 5 %; and a gap of up to half an epoch in 1 of 5
    sampling_jitter  of each sample's time: 0 to 5 % of the interval
    sampling_drift   change of the interval from the first sample to the last: -3 to 3 %
    gpus          1 to 4, each with its own noise, up to 1 % of an epoch behind one another

By --set alone: throttled (clock of the second half of the epochs over that of the first; they take longer by as much), which the
format `watch` tells beside the load, and level_scale (of all levels: what waits is not at work).

A sample is the mean over the interval before it, as DCGM's profiling metrics are; values are whole points, as
utilisation is. `hard` names what lies outside: see HARD.
"""
import argparse
import json
import math
import random
import sys
import time

LIMIT = 40000  # samples of a GPU

HARD = {
    "few": "2 or 3 epochs",
    "jitter": "lengths vary by 5 to 15 %",
    "noise": "noise of 15 to 35 points",
    "every": "only every 2nd to 4th epoch is evaluated, pauses are short",
    "short": "epochs of 12 to 30 samples",
    "dropped": "20 to 40 % of the samples are missing",
    "sleep": "one epoch in four takes 1.3 to 2 times as long",
    "drift": "the interval changes by 20 to 50 %, and the trace has no times",
    "slowing": "epochs become longer all the time, by 20 to 60 % in all",
    "steps": "steps of an eighth to a third of an epoch, deeper than what marks epochs",
    "faint": "the only mark of an epoch is a pause of one sample, of 20 to 40 % of the level",
}


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def draw(rng):
    """Settings from the ranges above."""
    s = {"interval_s": 0.1 * 10 ** (rng.random() ** 2)}
    s["epoch_s"] = s["interval_s"] * log_uniform(rng, 30, 1500)
    most = int(LIMIT * s["interval_s"] / s["epoch_s"]) - 4
    s["epochs"] = rng.randint(4, max(4, min(40, most)))
    s["jitter"] = rng.uniform(0, 0.03)
    s["warmup"] = [rng.uniform(1, 2)]
    if rng.random() < 1 / 3:
        s["warmup"].append(1 + (s["warmup"][0] - 1) / 2)
    s["startup_s"] = rng.uniform(0, 2) * s["epoch_s"]
    s["tail_s"] = rng.uniform(0, 1) * s["epoch_s"] if rng.random() < 0.5 else 0
    s["level"] = rng.uniform(50, 98)
    s["evaluation"] = 0 if rng.random() < 0.3 else rng.uniform(0.03, 0.25)
    s["evaluation_change"] = rng.uniform(10, 50) * (1 if rng.random() < 0.2 and s["level"] < 60 else -1)
    s["dip_s"] = 0 if rng.random() < 0.2 and s["evaluation"] else max(rng.uniform(0.01, 0.05) * s["epoch_s"], s["interval_s"])
    s["dip_depth"] = rng.uniform(0.4, 0.95)
    s["noise"] = rng.uniform(0.5, 10)
    s["correlation"] = rng.uniform(0, 0.6)
    s["step_s"] = log_uniform(rng, 0.02, s["epoch_s"] / 8)
    s["step_depth"] = rng.uniform(0, 20)
    s["step_on"] = rng.uniform(0.5, 0.8)
    s["dropped"] = rng.uniform(0, 0.05)
    s["gap_s"] = rng.uniform(0, 0.5) * s["epoch_s"] if rng.random() < 0.2 else 0
    s["sampling_jitter"] = rng.uniform(0, 0.05)
    s["sampling_drift"] = rng.uniform(-0.03, 0.03)
    s["gpus"] = rng.choice([1, 1, 1, 2, 4])
    s["lag_s"] = rng.uniform(0, 0.01) * s["epoch_s"]
    return s


def harden(rng, s, kind):
    """Settings of draw() taken outside of its ranges."""
    if kind == "few":
        s["epochs"] = rng.randint(2, 3)
    elif kind == "jitter":
        s["jitter"] = rng.uniform(0.05, 0.15)
    elif kind == "noise":
        s["noise"] = rng.uniform(15, 35)
    elif kind == "every":
        s.update(evaluate_every=rng.randint(2, 4), evaluation=rng.uniform(0.1, 0.25), epochs=max(12, s["epochs"]),
                 dip_s=max(0.01 * s["epoch_s"], s["interval_s"]))
    elif kind == "short":
        s["epoch_s"] = s["interval_s"] * rng.uniform(12, 30)
        s.update(step_s=s["interval_s"] * rng.uniform(0.2, 2), dip_s=min(s["dip_s"], s["epoch_s"] / 8) or 2 * s["interval_s"])
    elif kind == "dropped":
        s["dropped"] = rng.uniform(0.2, 0.4)
    elif kind == "sleep":
        s["stalls"] = 0.25
    elif kind == "drift":
        s.update(sampling_drift=rng.choice([-1, 1]) * rng.uniform(0.2, 0.5), untimed=True)
    elif kind == "slowing":
        s["slowing"] = rng.uniform(0.2, 0.6)
    elif kind == "steps":
        s.update(step_s=s["epoch_s"] * rng.uniform(1 / 8, 1 / 3), step_depth=rng.uniform(30, 50))
    elif kind == "faint":
        s.update(evaluation=0, dip_s=s["interval_s"], dip_depth=rng.uniform(0.2, 0.4))
    return s


def clock_of(s, k):
    """Clock in epoch k over that of the first."""
    return s.get("throttled", 1) if 2 * k >= s["epochs"] else 1


def run_of(rng, s):
    """The run: of each epoch its start, its length, the length that an epoch like it has on average, its evaluation and its pause;
    and where the run ends."""
    epochs, at = [], s["startup_s"]
    for k in range(s["epochs"]):
        slower = 1 + s.get("slowing", 0) * k / max(1, s["epochs"] - 1)
        usual = s["epoch_s"] * math.exp(s["jitter"] ** 2 / 2) * slower / clock_of(s, k)  # mean of a log-normal length
        length = s["epoch_s"] * math.exp(rng.gauss(0, s["jitter"]))
        length *= s["warmup"][k] if k < len(s["warmup"]) else 1
        length *= slower
        if rng.random() < s.get("stalls", 0):
            length *= rng.uniform(1.3, 2)
        length /= clock_of(s, k)
        evaluated = s["evaluation"] * length if k % s.get("evaluate_every", 1) == s.get("evaluate_every", 1) - 1 else 0
        epochs.append({"start_s": at, "length_s": length, "usual_s": usual, "evaluation_s": evaluated, "dip_s": min(s["dip_s"], length / 4)})
        at += length
    return epochs, at


def level_at(s, epochs, k, t):
    """Of the metric at a time within epoch k (-1: before all of them, len: behind)."""
    if not 0 <= k < len(epochs):
        return 0.0
    e = epochs[k]
    left = e["start_s"] + e["length_s"] - t
    if left < e["dip_s"]:
        return s["level"] * (1 - s["dip_depth"])
    if left < e["dip_s"] + e["evaluation_s"]:
        return s["level"] + s["evaluation_change"]
    step = s["step_s"]
    phase = ((t - e["start_s"]) / step) % 1.0
    if step > 2 * s["interval_s"]:
        return s["level"] - (s["step_depth"] if phase > s["step_on"] else 0)
    x = math.pi * s["interval_s"] / step  # what is left of its first harmonic in a mean over the interval
    left_over = abs(math.sin(x) / x) if x > 0 else 1
    return s["level"] - s["step_depth"] * (1 - s["step_on"]) + s["step_depth"] * 0.5 * left_over * math.cos(2 * math.pi * phase)


def samples_of(rng, s, epochs, end, lag):
    """(time, value or None) of one GPU."""
    out, k, n, error = [], -1, 0, 0.0
    end += s["tail_s"]
    expected = end / s["interval_s"]
    gap = (rng.uniform(0.3, 0.8) * end, s["gap_s"])
    rho = s["correlation"]
    fresh = s["noise"] * math.sqrt(1 - rho * rho)
    t = 0.0
    while t < end:
        width = s["interval_s"] * (1 + s["sampling_drift"] * n / expected)
        n += 1
        t += width
        total = 0.0
        for part in (5 / 6, 1 / 2, 1 / 6):  # the mean over the interval before
            at = t - lag - part * width
            while k < len(epochs) and (k < 0 and at >= epochs[0]["start_s"] or
                                       k >= 0 and at >= epochs[k]["start_s"] + epochs[k]["length_s"]):
                k += 1
            total += level_at(s, epochs, k, at)
        error = rho * error + fresh * rng.gauss(0, 1)
        idle = not 0 <= k < len(epochs)
        value = total / 3 * s.get("level_scale", 1) + (0.2 * error if idle else error)
        if rng.random() < s["dropped"] or gap[0] < t < gap[0] + gap[1]:
            continue
        out.append((t + rng.uniform(-1, 1) * s["sampling_jitter"] * width, min(100, max(0, round(value)))))
    return out


def make(seed, hard=None, fixed=None):
    """A run as a dict: settings, truth, samples by GPU."""
    rng = random.Random(f"{hard or 'drawn'}-{seed}")
    s = draw(rng)
    if hard:
        s = harden(rng, s, hard)
    s.update(fixed or {})
    epochs, end = run_of(rng, s)
    steady = [e["length_s"] for e in epochs[len(s["warmup"]):]] or [e["length_s"] for e in epochs]
    if s.get("stalls"):  # what is steady is without the stalls
        steady = [e for e in steady if e < 1.15 * s["epoch_s"]] or steady
    usual = [e["usual_s"] for e in epochs[len(s["warmup"]):]] or [e["usual_s"] for e in epochs]
    return {"seed": seed, "settings": s, "epochs": epochs, "epoch_s": sum(steady) / len(steady), "usual_s": sum(usual) / len(usual),
            "gpus": [samples_of(rng, s, epochs, end, g * s["lag_s"]) for g in range(s["gpus"])]}


# ---- formats ---------------------------------------------------------------------------------------------------------


def merged(run):
    return sorted((t, g, v) for g, samples in enumerate(run["gpus"]) for t, v in samples)


def stamp(t):
    seconds = 1708753700.0 + t  # some day
    whole = int(seconds)
    return time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1000):03d}"


def write_csv(run, out):
    out.write("time_s,gpu,utilization\n")
    out.writelines(f"{t:.3f},{g},{v}\n" for t, g, v in merged(run))


def write_smi(run, out):
    out.write("timestamp, index, utilization.gpu [%], power.draw [W]\n")
    out.writelines(f"{stamp(t)}, {g}, {v} %, {40 + 2.1 * v:.2f} W\n" for t, g, v in merged(run))


def write_watch(run, out):
    """As `layermeter watch` does: clocks, and the power limit as what holds them down."""
    out.write("timestamp,index,utilization.gpu [%],power.draw [W],clocks.current.sm [MHz],clocks_event_reasons.active\n")
    starts = [e["start_s"] for e in run["epochs"]]
    for t, g, v in merged(run):
        k = sum(t >= start for start in starts) - 1
        clock = clock_of(run["settings"], k)
        out.write(f"{1708753700 + t:.3f},{g},{v},{40 + 2.1 * v:.2f},{1410 * clock:.0f},0x{4 if clock < 1 else 0:016x}\n")


def write_dcgm(run, out):
    """Without times: samples that were dropped are N/A."""
    interval, rows = run["settings"]["interval_s"], []
    for g, samples in enumerate(run["gpus"]):
        rows += [(round(t / interval), g, v) for t, v in samples]
    there = {(n, g): v for n, g, v in rows}
    first, last = min(n for n, _, _ in rows), max(n for n, _, _ in rows)
    for n in range(first, last + 1):
        if (n - first) % 14 == 0:
            out.write("#Entity   SMACT        DRAMA        \nID                                  \n")
        for g in range(len(run["gpus"])):
            v = there.get((n, g))
            out.write(f"GPU {g}     {'N/A' if v is None else format(v / 100, '.3f'):<13}{'0.100':<13}\n")


def write_untimed(run, out):
    """CSV without a column of times, sample after sample."""
    out.write("utilization\n")
    out.writelines(f"{v}\n" for _, v in run["gpus"][0])


def write_prometheus(run, out):
    for t, g, v in merged(run):
        out.write(f'DCGM_FI_DEV_GPU_UTIL{{gpu="{g}",UUID="GPU-{g}"}} {v} {int(1000 * (1708753700 + t))}\n')


WRITERS = {"csv": write_csv, "smi": write_smi, "watch": write_watch, "dcgm": write_dcgm, "prometheus": write_prometheus, "untimed": write_untimed}


def main():
    p = argparse.ArgumentParser(description="A trace of GPU metrics with known epochs", epilog=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--hard", choices=HARD, help="outside of the ranges: " + "; ".join(f"{k}: {v}" for k, v in HARD.items()).replace("%", "%%"))
    p.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="fix a setting")
    p.add_argument("--format", choices=WRITERS, default="csv")
    p.add_argument("-o", "--output", metavar="FILE", help="default: stdout")
    p.add_argument("--truth", metavar="FILE", help="write the settings and the epochs there, as JSON")
    o = p.parse_args()
    fixed = {}
    for item in o.set:
        name, _, value = item.partition("=")
        fixed[name] = [float(x) for x in value.split(",") if x] if name == "warmup" else \
            int(value) if name in ("epochs", "gpus") else float(value)
    run = make(o.seed, o.hard, fixed)
    out = open(o.output, "w") if o.output else sys.stdout
    WRITERS[o.format](run, out)
    if o.output:
        out.close()
    if o.truth:
        with open(o.truth, "w") as file:
            json.dump({k: run[k] for k in ("seed", "epoch_s", "usual_s", "settings", "epochs")}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
