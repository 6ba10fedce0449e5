"""PyTorch on one CPU core: steps under autocast to bf16, and small batches that wait for its host (torch_mixed.sh)."""
import csv
import glob
import os
import statistics


NAME = "torch_mixed"
MIXED, SMALL = 10.0, 15.0  # % of a step on networks left out
MODELS = ("layermeter", "counts", "nnls")


def rows_of(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def timed(rows):
    return [r for r in rows if r["status"] == "ok"]


def under_autocast(exam, path):
    """Networks left out, counted with their casts; beside it counted in the type of their weights, as if there were none."""
    rows = timed(rows_of(path))
    kept = exam.write(f"{NAME}.csv", rows)
    plain = exam.write(f"{NAME}-plain.csv", [dict(r, settings=r["settings"].replace("mixed=", "amp=")) for r in rows])
    found = exam.program.validate(kept, models=MODELS)
    exam.errors(NAME, "step under autocast, network left out", found, "step", MIXED)
    exam.errors(NAME, "forward under autocast, network left out", found, "forward", None)
    exam.errors(NAME, "backward under autocast, network left out", found, "backward", None)
    exam.errors(NAME, "the same step, casts not counted", exam.program.validate(plain, models=MODELS), "step", None)


def fastest(path):
    """Each point's fastest round: whatever else a machine does only lengthens a step."""
    best = {}
    for p in sorted(glob.glob(path)):
        points = {}
        for r in timed(rows_of(p)):
            points.setdefault((r["name"], r["input"], r["batch"]), {})[r["phase"]] = r
        for key, rows in points.items():
            if "step" in rows and (key not in best or float(rows["step"]["seconds"]) < float(best[key]["step"]["seconds"])):
                best[key] = rows
    return [r for rows in best.values() for r in rows.values()]


def host_of(machine):
    """Seconds of an operation of [host]: forward, backward, update."""
    with open(machine) as f:
        section = f.read().split("[host]", 1)[1].split("\n[", 1)[0]
    told = next(line for line in section.splitlines() if line.startswith("operation =")).split("=")[1]
    return [float(x) for x in told.replace("s/operation", "").split(",")]


def step_of(exam, machine, row, framework):
    said = exam.program.table("predict", row["name"], "--machine", machine, "--input", row["input"], "--batch", row["batch"],
                              "--framework", framework)
    return float(said[0]["step_ms"]) / 1e3


def host_bound(exam, own, small):
    """Each network's steps by the machine's own loops and the host's time that the other networks tell."""
    rows = fastest(small)
    networks = sorted({r["name"] for r in rows})
    off, plain, operations = [], [], []
    for left in networks:
        others = exam.write(f"{NAME}-{left}.csv", [r for r in rows if r["name"] != left],
                            [("program", "collect.py, PyTorch")])
        machine = exam.path(f"{NAME}-{left}.ini")
        exam.program.fit(own, machine, ("--host", others))
        operations.append(host_of(machine))
        for r in rows:
            if r["name"] == left and r["phase"] == "step":
                off.append(100 * abs(step_of(exam, machine, r, "eager") / float(r["seconds"]) - 1))
                plain.append(100 * abs(step_of(exam, machine, r, "none") / float(r["seconds"]) - 1))
    exam.results.add(NAME, "small batches, network left out: own loops and the host's time", "all", len(off), "layermeter",
                     "MAPE %", statistics.mean(off), SMALL)
    exam.results.add(NAME, "small batches: own loops alone", "all", len(plain), "layermeter", "MAPE %",
                     statistics.mean(plain), None)
    for part, seconds in zip(("forward", "backward", "update"), zip(*operations)):
        exam.results.add(NAME, f"host's time of an operation: {part}", "all", len(operations), "layermeter", "us",
                         1e6 * statistics.median(seconds), None)


def run(exam):
    paths = {name: os.path.join(exam.data, NAME, name + ".csv") for name in ("mixed", "small-1", "own")}
    if exam.heldout or not os.path.exists(paths["mixed"]):
        return exam.skip(f"{NAME}: no mixed.csv: tests/accuracy/torch_mixed.sh collects it")
    exam.attempt(f"{NAME}: autocast", under_autocast, exam, paths["mixed"])
    if not os.path.exists(paths["small-1"]) or not os.path.exists(paths["own"]):
        return exam.skip(f"{NAME}: no small-1.csv or own.csv")
    exam.attempt(f"{NAME}: host", host_bound, exam, paths["own"], paths["small-1"].replace("-1.", "-*."))
