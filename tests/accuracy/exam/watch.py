"""Runs beside their plans: made traces (../../traces/synthetic.py) of runs that are on plan, faster, or slower for a reason that is
known. How often `layermeter watch --plan` says so, and how far the observation that it appends is off.

Constants of the verdicts are reasons, not fits; seeds are 1 to 120."""
import json
import os
import random
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "traces"))
import synthetic  # noqa: E402

NAME = "watch"
N, QUICK_N = 120, 24
KINDS = ("on plan", "faster", "clock throttled", "sync-bound", "input-bound", "compute-bound")


def made(seed):
    """A run, its plan, and what is to be said of it."""
    rng = random.Random(f"watch-{seed}")
    kind = KINDS[seed % len(KINDS)]
    ratio = {"on plan": rng.uniform(0.97, 1.03), "faster": rng.uniform(0.7, 0.9), "clock throttled": 1}.get(kind, rng.uniform(1.15, 1.4))
    exposed = rng.uniform(0.1, 0.3) if kind == "sync-bound" else 0
    waiting = (exposed + ratio - 1) / ratio if kind in ("sync-bound", "input-bound") else 0
    run = synthetic.make(seed, None, {"evaluation": 0, "epochs": rng.randint(12, 24), "level": 98, "gap_s": 0, "step_depth": 0,
                                      "gpus": 1, "noise": rng.uniform(0.5, 4), "dip_s": 0, "level_scale": 1 - waiting,
                                      "throttled": rng.uniform(0.7, 0.88) if kind == "clock throttled" else 1})
    if run["settings"]["dip_s"] == 0:  # what marks epochs, whatever was drawn
        s = dict(run["settings"])
        s["dip_s"] = max(0.015 * s["epoch_s"], s["interval_s"])
        run = synthetic.make(seed, None, s)
    epoch = statistics.mean(e["length_s"] for k, e in enumerate(run["epochs"])
                            if k >= len(run["settings"]["warmup"]) and synthetic.clock_of(run["settings"], k) == 1)
    return kind, run, epoch, plan(epoch / ratio, exposed, 8 if exposed else 1)


def plan(epoch, exposed, devices, steps=100):
    of = {"machine": "made.ini", "nodes": 1, "devices": devices, "batch": 32, "micro_steps": 1, "sync": "once", "bucket_bytes": 0,
          "grad_dtype": None, "steps_per_epoch": steps, "evaluations_per_epoch": 0, "exposed_s": exposed * epoch / steps}
    for name, value in (("step", epoch / steps), ("epoch", epoch)):
        of.update({f"{name}_s": value, f"{name}_low_s": 0.94 * value, f"{name}_high_s": 1.06 * value})
    return {"network": "resnet18", "set": None, "input": None, "dtype": "f32", "optimizer": "momentum",
            "answers": [{"question": "cheapest", "plan": of}]}


def watch(exam, seed):
    """(kind, what was said or None, relative error of the observation or None)"""
    kind, run, epoch, planned = made(seed)
    trace, plan_file, rows = (exam.path(f"watch-{seed}.{ending}") for ending in ("csv", "json", "observations.csv"))
    with open(trace, "w") as out:
        synthetic.write_watch(run, out)
    with open(plan_file, "w") as out:
        json.dump(planned, out)
    done = subprocess.run([exam.program.path, "watch", "--plan", plan_file, "--trace", trace, "--format", "json", "--observations", rows],
                          env=exam.program.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, error = None, None
    if done.returncode == 0:
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        judged = [line for line in lines if "verdict" in line]
        said = judged[-2]["verdict"] if kind == "clock throttled" and len(judged) > 1 else judged[-1]["verdict"]
        with open(rows) as file:
            table = [line.rstrip("\n").split(",") for line in file if not line.startswith("#")]
        error = float(table[1][table[0].index("seconds")]) * 100 / epoch - 1
    for path in (trace, plan_file, rows):
        if exam.temporary and os.path.exists(path):
            os.remove(path)
    return kind, said, error


def run(exam):
    n = QUICK_N if exam.quick else N
    results = exam.map(lambda seed: watch(exam, seed), range(1, n + 1))
    for kind in (None, *KINDS):
        of = [r for r in results if kind in (None, r[0])]
        exam.results.add(NAME, "made runs beside their plans", kind or "all", len(of), "layermeter", "verdict wrong or none, %",
                         100 * sum(r[0] != r[1] for r in of) / len(of), 10.0 if kind is None else None)
    errors = [abs(r[2]) for r in results if r[2] is not None]
    exam.results.add(NAME, "step that is appended", "all", len(errors), "layermeter", "median error %", 100 * statistics.median(errors), 1.0)
    exam.results.add(NAME, "step that is appended", "all", len(errors), "layermeter", "further off than 5 %, %",
                     100 * sum(e > 0.05 for e in errors) / len(errors), 5.0)
