#!/usr/bin/env python3
"""Our times beside others' of the same points: usage: compare.py OURS.csv THEIRS.csv
                                                   or: compare.py MACHINE.ini THEIRS.csv LAYERMETER [OPTION...]

Rows of networks that both files have (name, phase, input, batch, element type, optimizer); settings must agree in `math` and
`layout` where both tell them, and in autocast (`mixed`). Prints a row a point, and the median ratio of each phase. Of a machine file: the steps and
passes of inference that `LAYERMETER predict NETWORK --machine MACHINE.ini OPTION...` says, and their mean error."""
import csv
import io
import statistics
import subprocess
import sys

KEYS = "name phase input batch dtype optimizer".split()
TOLD = {"step": "step_ms", "inference": "latency_ms"}  # columns of `predict`
DEFAULTS = {"dtype": "f32", "optimizer": "momentum"}


def settings(row):
    words = dict(word.split("=", 1) for word in row.get("settings", "").split() if "=" in word)
    return {key: words[key] for key in ("math", "layout", "mixed") if key in words}


def load(path):
    with open(path, newline="") as f:
        rows = csv.DictReader(line for line in f if not line.startswith("#"))
        return [row for row in rows if row["kind"] == "network" and (row.get("status") or "ok") == "ok" and
                int(row.get("ranks") or 1) == 1]


def key(row):
    return tuple(row.get(k) or DEFAULTS.get(k, "") for k in KEYS)


def agree(a, b):
    mine, other = settings(a), settings(b)
    return mine.pop("mixed", None) == other.pop("mixed", None) and all(mine[k] == other[k] for k in mine.keys() & other.keys())


def main(ours, theirs):
    others = {}
    for row in load(theirs):
        others.setdefault(key(row), []).append(row)
    ratios = {}
    print(f"{'network':20} {'phase':9} {'input':11} {'batch':>5} {'ours/ms':>9} {'theirs/ms':>9} {'ratio':>6}")
    for row in load(ours):
        for other in others.get(key(row), []):
            if not agree(row, other):
                continue
            a, b = float(row["seconds"]), float(other["seconds"])
            ratios.setdefault(row["phase"], []).append(a / b)
            print(f"{row['name']:20} {row['phase']:9} {row['input']:11} {row['batch']:>5} {1e3 * a:9.3f} {1e3 * b:9.3f} {a / b:6.2f}")
    if not ratios:
        print("no point is in both files", file=sys.stderr)
        return 1
    for phase, values in ratios.items():
        print(f"{phase}: {len(values)} points, median ratio {statistics.median(values):.3f}, "
              f"from {min(values):.3f} to {max(values):.3f}")
    return 0


def predicted(machine, theirs, program, *options):
    off = []
    print(f"{'network':20} {'input':11} {'batch':>5} {'predicted/ms':>12} {'theirs/ms':>9} {'off/%':>6}")
    for row in load(theirs):
        if row["phase"] not in TOLD:
            continue
        column = TOLD[row["phase"]]
        how = ["--phase", "inference"] if row["phase"] == "inference" else ["--optimizer", row.get("optimizer") or DEFAULTS["optimizer"]]
        said = subprocess.run([program, "predict", row["name"], "--machine", machine, "--input", row["input"], "--batch", row["batch"],
                               *how, "--format", "csv", *options], stdout=subprocess.PIPE, text=True, check=True).stdout
        step, measured = float(next(csv.DictReader(io.StringIO(said)))[column]), 1e3 * float(row["seconds"])
        off.append(100 * abs(step / measured - 1))
        print(f"{row['name']:20} {row['input']:11} {row['batch']:>5} {step:12.3f} {measured:9.3f} {off[-1]:6.1f}")
    if not off:
        print("no step or pass of inference in", theirs, file=sys.stderr)
        return 1
    print(f"{len(off)} points, off by {statistics.mean(off):.1f} % in the mean, by {max(off):.1f} % at most")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(predicted(*sys.argv[1:]) if len(sys.argv) > 3 else main(*sys.argv[1:]))
