"""Epoch times on four cloud GPUs from nvidia-smi statistics of another (Hur & Lee 2024, an earlier stage of their data)."""
import runs

NAME = "hurlee2024"
TARGETS = (10.0, 8.0)  # model left out, random rows
PUBLISHED = (11.7, 11.7)  # the paper's mean over sources, on its own data; how its rows were split is not said
FEATURES = {"static": 20.1, "dynamic": 71.6}  # published, of the stack that sees one group of features
KNOWN = {"gpu", "instance", "model", "batch", "image", "training_images", "validation_images", "steps_per_epoch", "epoch_time_s",
         "total_time_s", "samples", "power_capped_samples"}


def devices(exam):
    """As deviceQuery and nvidia-smi tell of them: an f32 multiply-add a core and clock."""
    rows = [r for folder in (exam.data, exam.heldout) for r in exam.read(folder, NAME, "gpus.csv") or []]
    return runs.write_devices(exam.path(f"{NAME}-devices.ini"), {r["gpu"]: {
        "f32": f"{2 * float(r['cores']) * float(r['max_clock_mhz']) * 1e-6:.6g} TFLOP/s",
        "bandwidth": f"{r['memory_bandwidth_gb_s']} GB/s", "memory": f"{r['memory_total_mib']} MiB",
        "multiprocessors": r["multiprocessors"], "cores": r["cores"],
        "l2": f"{r['l2_cache_bytes']} B", "bus": r["memory_bus_bits"], "shared": f"{r['shared_memory_per_mp_bytes']} B",
        "threads": r["max_threads_per_mp"], "clock": f"{r['max_clock_mhz']} MHz", "power": f"{float(r['power_limit_w']):g} W"}
        for r in rows})


def jobs(exam, folder):
    """One run a job; the network, batch and image are not shown to the learner."""
    return [{"workload": f"{r['model']}-{r['batch']}-{r['image']}", "group": r["model"], "gpu": r["gpu"],
             "seconds": r["epoch_time_s"], **{k: v for k, v in r.items() if k not in KNOWN}}
            for r in exam.read(folder, NAME, "training.csv.gz") or []]


def ablations(exam, rows, gpus):
    """Learners of the stack by themselves, and the stack that sees one group of features; random rows left out."""
    path = runs.write_runs(exam.path(f"{NAME}-ablations.csv"), rows)
    asked = [(learner, ()) for learner in ("forest", "xgboost", "boosted")] + \
        [("stacking", ("--features", features)) for features in ("static", "dynamic")]
    for (method, options), table in zip(asked, exam.map(lambda a: exam.attempt(
            f"{NAME}: {' '.join(a[1]) or a[0]}", exam.program.table, "learn", path, "--devices", gpus, "--method", a[0], "--leave-out",
            "row", *a[1]), asked)):
        for r in table or []:
            if r["group"] == "(all)":
                exam.results.add(NAME, "epochs from metrics, random rows" + (f", {options[1]} features alone" if options else ""), "all",
                                 int(r["points"]), method, "MAPE %", float(r["mape_percent"]),
                                 published=FEATURES.get(options[1]) if options else None)


def run(exam):
    rows, other = jobs(exam, exam.data), jobs(exam, exam.heldout) if exam.heldout else []
    if not (other if exam.heldout else rows):
        return exam.skip(f"{NAME}: no training.csv.gz")
    gpus = devices(exam)
    runs.examine(exam, NAME, "epochs from metrics", rows, other, gpus, TARGETS, PUBLISHED)
    if rows and not other and not exam.quick:
        ablations(exam, rows, gpus)
