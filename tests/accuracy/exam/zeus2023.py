"""Steps of jobs at several power limits on a V100 and an A40 (Zeus, NSDI 2023): time and watts at a limit that was left out, and the
limit of least energy by half of the limits. Beside rules that anybody has: as at the highest limit, a line between the limits beside
it, the curve of the other jobs.

The form of the curve (core/device/limits.h), what it tries, and that a job's own residuals are interpolated were chosen by half of
the jobs, drawn by the name of each; the other half is scored. The curve counts nothing of a network: each job stands under a copy of one.
"""
import collections
import os
import shutil
import statistics
import zlib

NAME = "zeus2023"
LEAST = 4  # limits of a job
TIME, WATTS, ENERGY = 3.0, 2.5, 1.0
NETWORK = "resnet50"
SAMPLE = 1e-3  # s of a sample of the largest batch at the highest limit: epochs have no samples here, and errors are relative


def is_scored(key):
    return zlib.crc32(repr(key).encode()) % 2 == 1


def read(exam, folder):
    """By GPU: jobs by data set, network, optimizer and batch, as (limit, seconds, watts), ascending."""
    jobs = collections.defaultdict(list)
    for r in exam.read(folder, NAME, "power.csv") or ():
        if not r["suspect"]:
            key = tuple(r[k] for k in ("gpu_source", "dataset", "network", "optimizer", "global_batch"))
            jobs[key].append((int(r["power_limit_w"]), float(r["epoch_s"]), float(r["power_w"])))
    samples = {}
    for key in sorted(jobs, key=lambda k: int(k[4])):
        samples[key[:3]] = max(jobs[key])[1] / SAMPLE
    by = collections.defaultdict(dict)
    for key, rows in jobs.items():
        if len(rows) >= LEAST:
            by[key[0]][key] = [(w, s * int(key[4]) / samples[key[:3]], p) for w, s, p in sorted(rows)]
    return by


# ---- rules that anybody has -----------------------------------------------------------------------------------------------

def top(rows, limit):
    return rows[-1][1], min(limit, rows[-1][2])


def line(rows, limit):
    """Between the limits beside it; beyond the last as there."""
    if limit <= rows[0][0] or limit >= rows[-1][0]:
        end = rows[0] if limit <= rows[0][0] else rows[-1]
        return end[1], min(limit, end[2])
    for a, b in zip(rows, rows[1:]):
        if a[0] <= limit <= b[0]:
            share = (limit - a[0]) / (b[0] - a[0])
            return tuple(a[i] + share * (b[i] - a[i]) for i in (1, 2))
    raise AssertionError(limit)


def curve_of_others(jobs):
    """Median of the other jobs' time, and watts, over those at the highest limit."""
    def rule(key, rows, limit):
        ratios = [(r[1] / other[-1][1], r[2] / other[-1][2]) for name, other in jobs.items() if name != key for r in other if r[0] == limit]
        if not ratios:
            return top(rows, limit)
        return tuple(rows[-1][i + 1] * statistics.median(x[i] for x in ratios) for i in (0, 1))
    return rule


# ---- by the program -------------------------------------------------------------------------------------------------------

def model_of(exam, key):
    path = exam.path(f"{NAME}-{'-'.join(key[1:3])}.ini")
    if not os.path.exists(path):  # of rows that are fitted, one after the other
        shutil.copyfile(os.path.join(exam.models, f"{NETWORK}.ini"), path)
    return path


def observe(exam, key, rows):
    for limit, seconds, watts in rows:
        yield {"kind": "network", "name": model_of(exam, key), "phase": "step", "batch": key[4], "optimizer": key[3], "seconds": f"{seconds:.9g}",
               "power_w": f"{watts:.9g}", "power_limit_w": limit}


def asked(exam, name, jobs, known, limits):
    """Rows of `energy` by job and limit; `known` picks what is measured of a job's rows, and `limits` what is asked."""
    machine = exam.path(f"{NAME}-{name}.ini")
    rows = [o for key, measured in jobs.items() for o in observe(exam, key, known(measured))]
    exam.program.fit(exam.write(f"{NAME}-{name}.csv", rows), machine)

    def ask(key):
        found = exam.program.table("energy", model_of(exam, key), "--machine", machine, "--batch", key[4], "--optimizer", key[3],
                                   "--power-limit", ",".join(str(w) for w in limits(jobs[key])))
        return {float(r["limit_w"]): r for r in found if r["limit_w"]}

    keys = [k for k in jobs if limits(jobs[k])]
    return dict(zip(keys, exam.map(ask, keys)))


def number(row, column):
    return float(row[column])


def left_out(exam, gpu, jobs):
    """Of each job and limit: the row it was, the answer by the others, and what rules say."""
    others, found = curve_of_others(jobs), []
    for limit in sorted({r[0] for rows in jobs.values() for r in rows}):
        answers = asked(exam, f"{gpu}-{limit}", jobs, lambda rows: [r for r in rows if r[0] != limit],
                        lambda rows: [r[0] for r in rows if r[0] == limit])
        for key, by in answers.items():
            rest = [r for r in jobs[key] if r[0] != limit]
            true = next(r for r in jobs[key] if r[0] == limit)
            rules = {"top limit": top(rest, limit), "line": line(rest, limit), "other jobs": others(key, rest, limit)}
            found.append((key, true, by[limit], rules))
    return found


def least_energy(exam, gpu, jobs):
    """What the limit chosen by every second one costs over the best of all, in percent; beside those that rules choose."""
    half = lambda rows: [r for i, r in enumerate(reversed(rows)) if i % 2 == 0 or i == len(rows) - 1][::-1]
    found = asked(exam, f"{gpu}-half", {k: v for k, v in jobs.items() if len(half(v)) > 2}, half, lambda rows: [r[0] for r in rows])
    lost = collections.defaultdict(list)
    for key, by in found.items():
        rows, known = jobs[key], half(jobs[key])
        energy = {r[0]: r[1] * r[2] for r in rows}
        best = min(energy.values())

        def lose(cost):
            return 100 * (energy[min(energy, key=cost)] / best - 1)
        if is_scored(key) or exam.heldout:
            lost["layermeter"].append(lose(lambda w: number(by[w], "energy_j")))
            lost["line"].append(lose(lambda w: line(known, w)[0] * line(known, w)[1]))
            lost["top limit"].append(100 * (energy[rows[-1][0]] / best - 1))
    return lost


def say(exam, found):
    scored = [f for f in found if exam.heldout or is_scored(f[0])]
    for what, at, column, unit, target in ("time", 1, "step_ms", 1e-3, TIME), ("watts", 2, "power_w", 1, WATTS):
        question = f"{what} at a power limit left out"
        errors = {"layermeter": [100 * abs(unit * number(row, column) / true[at] - 1) for _, true, row, _ in scored]}
        for rule in scored[0][3]:
            errors[rule] = [100 * abs(rules[rule][at - 1] / true[at] - 1) for _, true, _, rules in scored]
        for model, e in errors.items():
            exam.results.add(NAME, question, "all", len(e), model, "median %", statistics.median(e), target)
            exam.results.add(NAME, question, "all", len(e), model, "mean %", statistics.mean(e))
        low, high = ("step_low_ms", "step_high_ms") if at == 1 else ("power_low_w", "power_high_w")
        inside = [unit * number(row, low) <= true[at] <= unit * number(row, high) for _, true, row, _ in scored]
        exam.results.add(NAME, question, "all", len(inside), "layermeter", "coverage off 90 %", abs(100 * statistics.mean(inside) - 90), 5.0)


def run(exam):
    by = read(exam, exam.heldout or exam.data)
    if not by:
        return exam.skip(f"{NAME}: no power.csv")
    found, lost = [], collections.defaultdict(list)
    for gpu, jobs in by.items():
        found += exam.attempt(f"{NAME}: {gpu}", left_out, exam, gpu, jobs) or []
        for model, values in (exam.attempt(f"{NAME}: {gpu}, least energy", least_energy, exam, gpu, jobs) or {}).items():
            lost[model] += values
    if found:
        say(exam, found)
    for model, values in lost.items():
        question = "energy at the limit chosen by every second one, over the best"
        exam.results.add(NAME, question, "all", len(values), model, "median %", statistics.median(values), ENERGY)
        exam.results.add(NAME, question, "all", len(values), model, "mean %", statistics.mean(values))
    return None
