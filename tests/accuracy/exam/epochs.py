"""Epochs in traces of GPU metrics: made ones (../../traces/synthetic.py), whose epochs are known, by all methods.

Constants of the methods were chosen on seeds from 10001 on; scored are 1 to 500."""
import json
import os
import random
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "traces"))
import synthetic  # noqa: E402

NAME = "epochs"
METHODS = ("layermeter", "hurlee", "hurlee-code", "changepoints", "ruptures", "jenks")
N, QUICK_N, HARD_N, NOTHING_N = 500, 60, 60, 120
MISSED = 1.0  # error of a trace in which a method finds no epochs
# published: hurlee2024, mean over the authors' own traces, which are not public
PUBLISHED = 9.6


def find(exam, path, method, options=()):
    """What `layermeter epochs` says; None if it finds none."""
    done = subprocess.run([exam.program.path, "epochs", path, "--method", method, "--format", "json", *options],
                          env=exam.program.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def errors_of(exam, seed, hard=None):
    """Of each method on one trace: relative error (with sign), None where it finds nothing; does its interval, if it states one, hold
    the time that epochs take on average, of which those of the trace are a sample?"""
    run = synthetic.make(seed, hard)
    run["gpus"] = run["gpus"][:1]
    untimed = run["settings"].get("untimed")
    path = exam.path(f"{NAME}-{hard or 'drawn'}-{seed}.csv")
    with open(path, "w") as out:
        (synthetic.write_untimed if untimed else synthetic.write_csv)(run, out)
    options = ("--interval", f"{run['settings']['interval_s']}s") if untimed else ()
    errors, inside = {}, {}
    for method in METHODS:
        found = find(exam, path, method, options)
        errors[method] = found["epoch_s"] / run["epoch_s"] - 1 if found and found["epoch_s"] else None
        if found and found["low_s"] is not None:
            inside[method] = found["low_s"] <= run["usual_s"] <= found["high_s"]
    if exam.temporary:
        os.remove(path)
    return errors, inside


def figures(exam, question, results, targets):
    for method in METHODS:
        signed = [errors[method] for errors, _ in results]
        off = [abs(e) if e is not None else MISSED for e in signed]
        n = len(off)
        for metric, value in (("median error %", 100 * statistics.median(off)),
                              ("further off than 5 %, %", 100 * sum(e > 0.05 for e in off) / n),
                              ("off by 2 or more, %", 100 * sum(e is not None and (e >= 1 or e <= -0.5) for e in signed) / n),
                              ("nothing found, %", 100 * sum(e is None for e in signed) / n)):
            exam.results.add(NAME, question, "all", n, method, metric, value, targets.get(metric))
        told = [inside[method] for _, inside in results if method in inside]
        if targets and told:
            exam.coverage(NAME, question, "all", method, [{"points": len(told), "coverage_percent": 100 * sum(told) / len(told)}])
        elif told:
            exam.results.add(NAME, question, "all", len(told), method, "truth outside of the interval, %",
                             100 * sum(not x for x in told) / len(told))


# ---- where there is nothing to find ------------------------------------------------------------------------------------


def nothing(seed):
    """A trace without epochs, and its kind."""
    rng = random.Random(f"nothing-{seed}")
    kind = ("white noise", "correlated noise", "random walk", "random bursts", "random pauses", "one epoch")[seed % 6]
    n, x, a, left, busy = rng.choice([300, 1000, 4000, 12000]), [], 0.0, 0.0, True
    for i in range(n):
        if kind == "white noise":
            v = rng.gauss(50, 10)
        elif kind == "correlated noise":
            a = 0.97 * a + rng.gauss(0, 2)
            v = 50 + a
        elif kind == "random walk":
            a += rng.gauss(0, 1)
            v = 50 + a
        elif kind == "random bursts":
            if left <= 0:
                busy, left = not busy, rng.expovariate(1 / 30)
            left -= 1
            v = rng.gauss(85 if busy else 10, 3)
        elif kind == "random pauses":
            v = rng.gauss(20 if rng.random() < 0.01 else 90, 2)
        else:
            v = rng.gauss(5 if i < 0.1 * n else 90 if i < 0.85 * n else 60, 3)
        x.append(v)
    return kind, x


def invented(exam, seed):
    _, values = nothing(seed)
    path = exam.path(f"{NAME}-nothing-{seed}.csv")
    with open(path, "w") as out:
        out.write("utilization\n")
        out.writelines(f"{v:.2f}\n" for v in values)
    found = {method: find(exam, path, method, ("--interval", "100ms")) is not None for method in METHODS}
    if exam.temporary:
        os.remove(path)
    return found


def published(exam):
    rows = exam.read(exam.data, "hurlee2024", "epoch_detection.csv") or []
    errors = [abs(float(r["detected_epoch_time_s"]) / float(r["epoch_time_s"]) - 1) for r in rows]
    if errors:
        exam.results.add(NAME, "hurlee2024: the authors' own traces, as their notebooks print", "all", len(errors), "hurlee",
                         "MAPE %", 100 * statistics.mean(errors), published=PUBLISHED)


def run(exam):
    n = QUICK_N if exam.quick else N
    figures(exam, "made traces", exam.map(lambda seed: errors_of(exam, seed), range(1, n + 1)),
            {"median error %": 1.0, "further off than 5 %, %": 5.0, "off by 2 or more, %": 1.0})
    seeds = range(1, (24 if exam.quick else NOTHING_N) + 1)
    for method, share in ((m, [f[m] for f in found]) for found in [exam.map(lambda s: invented(exam, s), seeds)] for m in METHODS):
        exam.results.add(NAME, "traces without epochs", "all", len(share), method, "epochs invented, %",
                         100 * sum(share) / len(share))
    if not exam.quick:
        for kind, what in synthetic.HARD.items():
            figures(exam, f"harder: {what}", exam.map(lambda seed: errors_of(exam, seed, kind), range(1, HARD_N + 1)), {})
    published(exam)
