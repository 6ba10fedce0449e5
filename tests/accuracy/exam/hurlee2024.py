"""Epoch times on four cloud GPUs from nvidia-smi statistics of another (Hur & Lee 2024, an earlier stage of their data)."""
import runs

NAME = "hurlee2024"
TARGETS = (10.0, 8.0)  # model left out, random rows
PUBLISHED = (11.7, 11.7)  # the paper's mean over sources, on its own data; how its rows were split is not said
KNOWN = {"gpu", "instance", "model", "batch", "image", "training_images", "validation_images", "steps_per_epoch", "epoch_time_s",
         "total_time_s", "samples", "power_capped_samples"}


def devices(exam):
    """As deviceQuery and nvidia-smi tell of them: an f32 multiply-add a core and clock."""
    rows = [r for folder in (exam.data, exam.heldout) for r in exam.read(folder, NAME, "gpus.csv") or []]
    return runs.write_devices(exam.path(f"{NAME}-devices.ini"), {r["gpu"]: {
        "f32": f"{2 * float(r['cores']) * float(r['max_clock_mhz']) * 1e-6:.6g} TFLOP/s",
        "bandwidth": f"{r['memory_bandwidth_gb_s']} GB/s", "memory": f"{r['memory_total_mib']} MiB",
        "multiprocessors": r["multiprocessors"], "clock": f"{r['max_clock_mhz']} MHz", "power": f"{float(r['power_limit_w']):g} W"}
        for r in rows})


def jobs(exam, folder):
    """One run a job; the network, batch and image are not shown to the learner."""
    return [{"workload": f"{r['model']}-{r['batch']}-{r['image']}", "group": r["model"], "gpu": r["gpu"],
             "seconds": r["epoch_time_s"], **{k: v for k, v in r.items() if k not in KNOWN}}
            for r in exam.read(folder, NAME, "training.csv.gz") or []]


def run(exam):
    rows, other = jobs(exam, exam.data), jobs(exam, exam.heldout) if exam.heldout else []
    if not (other if exam.heldout else rows):
        return exam.skip(f"{NAME}: no training.csv.gz")
    runs.examine(exam, NAME, "epochs from metrics", rows, other, devices(exam), TARGETS, PUBLISHED)
