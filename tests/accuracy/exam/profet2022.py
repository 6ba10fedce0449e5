"""Training steps on four AWS GPUs from the profile, or the time alone, on another (PROFET, Lee et al. 2022)."""
import statistics

import runs

NAME = "profet2022"
TARGETS = {True: (10.0, 8.0), False: (20.0, None)}  # with profile or without; model left out, random rows
PROFILED_STEPS = 2
KEY = ("gpu", "model", "batch", "image")


def devices(exam):
    rows = [r for folder in (exam.data, exam.heldout) for r in exam.read(folder, NAME, "gpus.csv") or []]
    return runs.write_devices(exam.path(f"{NAME}-devices.ini"), {r["gpu"]: {
        "f32": f"{r['fp32_tflops']} TFLOP/s", "bandwidth": f"{r['memory_bandwidth_gb_s']} GB/s", "memory": f"{r['memory_gb']} GiB",
        "multiprocessors": r["multiprocessors"], "clock": f"{r['boost_clock_mhz']} MHz", "power": f"{r['power_limit_w']} W"}
        for r in rows})


def medians(rows, columns):
    """Of each workload's repeats, by gpu, model, batch and image."""
    by = {}
    for r in rows:
        by.setdefault(tuple(r[k] for k in KEY), []).append(r)
    return {key: {c: statistics.median(float(r[c]) for r in found) for c in columns} for key, found in by.items()}


def jobs(exam, folder, profiled):
    """Workloads that were profiled, those of the same kind for both questions."""
    latency, profile = (exam.read(folder, NAME, f) or [] for f in ("latency.csv.gz", "profile.csv.gz"))
    if not latency or not profile:
        return []
    operations = [c for c in profile[0] if c.endswith("_us")]
    seconds, spent = medians(latency, ("batch_time_s",)), medians(profile, operations)
    return [{"workload": "-".join(key[1:]), "group": key[1], "gpu": key[0], "seconds": f"{t['batch_time_s']:.9g}",
             **({c: f"{spent[key][c] / PROFILED_STEPS:.9g}" for c in operations} if profiled else {})}
            for key, t in seconds.items() if key in spent]


def run(exam):
    for profiled in (True, False):
        rows, other = jobs(exam, exam.data, profiled), jobs(exam, exam.heldout, profiled) if exam.heldout else []
        if not (other if exam.heldout else rows):
            return exam.skip(f"{NAME}: no latency.csv.gz, or no profile.csv.gz")
        runs.examine(exam, NAME, "steps from profiles" if profiled else "steps from their time alone", rows, other, devices(exam),
                     TARGETS[profiled], stacked=(runs.GROUP, runs.UNSEEN))
    runs.judge_gpus(exam, NAME)
