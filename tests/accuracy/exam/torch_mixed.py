"""PyTorch on one CPU core: steps under autocast to bf16, and small batches that wait for its host (torch_mixed.sh)."""
import csv
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


def value_of(machine, key):
    """Of [host]."""
    with open(machine) as f:
        section = f.read().split("[host]", 1)[1].split("\n[", 1)[0]
    return float(next(line for line in section.splitlines() if line.startswith(key + " =")).split("=")[1].split()[0])


def step_of(exam, machine, row, framework):
    said = exam.program.table("predict", row["name"], "--machine", machine, "--input", row["input"], "--batch", row["batch"],
                              "--framework", framework)
    return float(said[0]["step_ms"]) / 1e3


def host_bound(exam, own, small):
    """Each network's steps by the machine's own loops and the host's time that the other networks tell."""
    rows = timed(rows_of(small))
    networks = sorted({r["name"] for r in rows})
    off, plain, operations = [], [], []
    for left in networks:
        others = exam.write(f"{NAME}-{left}.csv", [r for r in rows if r["name"] != left],
                            [("program", "collect.py, PyTorch")])
        machine = exam.path(f"{NAME}-{left}.ini")
        exam.program.fit(own, machine, ("--host", others))
        operations.append(value_of(machine, "operation"))
        for r in rows:
            if r["name"] == left and r["phase"] == "step":
                off.append(100 * abs(step_of(exam, machine, r, "eager") / float(r["seconds"]) - 1))
                plain.append(100 * abs(step_of(exam, machine, r, "none") / float(r["seconds"]) - 1))
    exam.results.add(NAME, "small batches, network left out: own loops and the host's time", "all", len(off), "layermeter",
                     "MAPE %", statistics.mean(off), SMALL)
    exam.results.add(NAME, "small batches: own loops alone", "all", len(plain), "layermeter", "MAPE %",
                     statistics.mean(plain), None)
    exam.results.add(NAME, "host's time of an operation", "all", len(operations), "layermeter", "us",
                     1e6 * statistics.median(operations), None)


def run(exam):
    paths = {name: os.path.join(exam.data, NAME, name + ".csv") for name in ("mixed", "small", "own")}
    if exam.heldout or not os.path.exists(paths["mixed"]):
        return exam.skip(f"{NAME}: no mixed.csv: tests/accuracy/torch_mixed.sh collects it")
    exam.attempt(f"{NAME}: autocast", under_autocast, exam, paths["mixed"])
    if not os.path.exists(paths["small"]) or not os.path.exists(paths["own"]):
        return exam.skip(f"{NAME}: no small.csv or own.csv")
    exam.attempt(f"{NAME}: host", host_bound, exam, paths["own"], paths["small"])
