"""A job's own curve: steps of one network on few devices, continued to more (allreduce_public/scaling.csv,
mlperf_training/groups.csv). Beside rules that anybody has: the last step again, a line through the last two sizes, Amdahl's law.

The form of the curve, its ridge and the widths of its bounds were chosen by half of the jobs, drawn by the name of each; the
other half is scored. A curve counts nothing of its network, so all of them stand under one name.
"""
import collections
import statistics
import zlib

NAME = "jobs"
NETWORK = "resnet50"
HOSTS = {"pollux_aws_t4": 4}  # that are measured; of others those of MOST_HOSTS or fewer
MOST_HOSTS, MOST_DEVICES = 2, 64  # of MLPerf's systems those of so many devices
BENCHMARKS = ("resnet", "bert", "ssd")
QUESTION = "step on more devices than measured"
LARGEST = "largest system of a submitter and benchmark, by its smaller ones"  # mlperf_training: one size is asked, others are fitted
LARGEST_TARGETS = 4.0, 12.0


def is_scored(key):
    return zlib.crc32(repr(key).encode()) % 2 == 1


def scaling_rows(exam, folder):
    for r in exam.read(folder, "allreduce_public", "scaling.csv") or ():
        if ("arameter" in r["sync_method"] or not r["step_time_s"] or not r["nodes"] or not r["batch_per_gpu"]
                or r["cluster_id"].startswith("gavel")):
            continue
        yield (("sc", r["cluster_id"], r["framework"], r["sync_method"], r["model"], r["precision"]),
               int(float(r["nodes"])), int(float(r["gpus_per_node"])), float(r["batch_per_gpu"]), int(float(r["grad_accum_steps"] or 1)),
               float(r["step_time_s"]))


def mlperf_rows(exam, folder, benchmarks=BENCHMARKS):
    for r in exam.read(folder, "mlperf_training", "groups.csv") or ():
        if r["benchmark"] in (benchmarks or (r["benchmark"],)) and r["step_s"]:
            micro = int(r["grad_accum"] or 1) if r["dp"] == r["gpus"] else 1  # else ranks share a replica
            yield (("ml", r["round"], r["org"], r["benchmark"], r["gpu_source"], r["software"], r["intra_interconnect"]),
                   int(r["nodes"]), int(r["gpus_per_node"]), float(r["global_batch"]) / float(r["gpus"]) / micro, micro, float(r["step_s"]))


def read(exam, folder):
    """Steps by job, (hosts, devices of each, batch of each, micro-steps, seconds): of whole batches."""
    by = collections.defaultdict(list)
    for source in (scaling_rows, mlperf_rows):
        for key, hosts, devices, batch, micro, seconds in source(exam, folder):
            if batch == int(batch):
                by[key].append((hosts, devices, int(batch), micro, seconds))
    return by


def parted(key, rows):
    """Rows that are measured, and those that are asked."""
    most = max(r[0] for r in rows)
    if key[0] == "ml":
        small = [r for r in rows if r[0] * r[1] <= MOST_DEVICES]
    elif most > 1:
        small = [r for r in rows if r[0] <= HOSTS.get(key[1], MOST_HOSTS)]
    else:
        largest = max(r[1] for r in rows)
        small = [r for r in rows if r[1] < largest]
    return small, [r for r in rows if r not in small]


def largest(exam, folder):
    """Jobs of three sizes or more: all but the largest are measured. Samples of each device are whole numbers, as where each has
    a replica."""
    by = collections.defaultdict(list)
    for key, hosts, devices, batch, micro, seconds in mlperf_rows(exam, folder, None):
        if batch == int(batch):
            by[key].append((hosts, devices, int(batch), micro, seconds))
    for key, rows in by.items():
        most = max(r[0] * r[1] for r in rows)
        small = [r for r in rows if r[0] * r[1] < most]
        if len({r[0] * r[1] for r in small}) > 1 and (exam.heldout or is_scored(key)):
            yield key, small, [r for r in rows if r[0] * r[1] == most]


def source(key):
    return "mlperf" if key[0] == "ml" else key[1].split("_")[0]


# ---- rules that anybody has -----------------------------------------------------------------------------------------------

def at_batch(rows, batch):
    """Steps by devices, at that batch of a step or the one nearest to it that was measured, in proportion to samples."""
    near = min({r[2] * r[3] for r in rows}, key=lambda b: max(b / batch, batch / b))
    return {r[0] * r[1]: r[4] * batch / near for r in rows if r[2] * r[3] == near}


def last(rows, asked):
    steps = at_batch(rows, asked[2] * asked[3])
    return steps[max(steps)]


def line(rows, asked):
    steps = at_batch(rows, asked[2] * asked[3])
    if len(steps) < 2:
        return last(rows, asked)
    a, b = sorted(steps)[-2:]
    return steps[b] + (steps[b] - steps[a]) / (b - a) * (asked[0] * asked[1] - b)


def amdahl(rows, asked):
    """n devices take t (1 + s (n - 1)) of a step: a share s of the work is not divided (Amdahl 1967)."""
    steps = at_batch(rows, asked[2] * asked[3])
    n = min(steps)
    s = statistics.mean((steps[k] / steps[n] - 1) / (k - n) for k in steps if k > n) if len(steps) > 1 else 0
    return steps[n] * (1 + max(0, s) * (asked[0] * asked[1] - n))


RULES = {"last step": last, "linear": line, "amdahl": amdahl}


# ---- the exam -------------------------------------------------------------------------------------------------------------

def observe(rows):
    for hosts, devices, batch, micro, seconds in rows:
        yield {"kind": "network", "name": NETWORK, "phase": "step", "batch": batch, "ranks": hosts * devices, "hosts": hosts,
               "layout": f"ga{micro}" if micro > 1 else "", "seconds": seconds}


def predicted(exam, name, rows, asked):
    """By size, batch and micro-steps: step, low and high."""
    machine = exam.path(f"{NAME}-{name}.ini")
    exam.program.fit(exam.write(f"{NAME}-{name}.csv", list(observe(rows))), machine)
    found = {}
    for hosts, devices, micro in sorted({(a[0], a[1], a[3]) for a in asked}):
        batches = ",".join(str(b) for b in sorted({a[2] for a in asked if (a[0], a[1], a[3]) == (hosts, devices, micro)}))
        for r in exam.program.table("predict", NETWORK, "--machine", machine, "--nodes", str(hosts), "--devices-per-node",
                                    str(devices), "--batch", batches, "--accumulate", str(micro)):
            found[hosts, devices, int(r["batch"]), micro] = [float(r[c]) / 1e3 for c in ("step_ms", "step_low_ms", "step_high_ms")]
    return found


def ask(exam, item):
    key, rows, asked = item
    found = predicted(exam, f"{zlib.crc32(repr(key).encode()):08x}", rows, asked)
    errors = {rule: [abs(f(rows, a) / a[4] - 1) for a in asked] for rule, f in RULES.items()}
    errors["layermeter"] = [abs(found[a[:4]][0] / a[4] - 1) for a in asked]
    inside = [found[a[:4]][1] <= a[4] <= found[a[:4]][2] for a in asked]
    width = [(found[a[:4]][2] - found[a[:4]][1]) / found[a[:4]][0] for a in asked]
    return {rule: 100 * statistics.median(e) for rule, e in errors.items()}, inside, width


def tell(exam, question, group, jobs, target, targets=(6.0, 20.0)):
    """Of jobs the median and the worst, each job counting once."""
    for rule in ("layermeter", *RULES):
        errors = [j[0][rule] for j in jobs]
        rows = sum(len(j[1]) for j in jobs)
        exam.results.add(NAME, question, group, rows, rule, "median job %", statistics.median(errors), targets[0] if target else None)
        exam.results.add(NAME, question, group, rows, rule, "worst job %", max(errors), targets[1] if target else None)
    share = 100 * statistics.mean(sum(j[1]) / len(j[1]) for j in jobs)
    rows = sum(len(j[1]) for j in jobs)
    exam.results.add(NAME, question, group, rows, "layermeter", "coverage off 90 %", abs(share - 90), 5.0 if target else None)
    exam.results.add(NAME, question, group, rows, "layermeter", "width %", 100 * statistics.median(w for j in jobs for w in j[2]))


def run(exam):
    items = []
    for key, rows in read(exam, exam.heldout or exam.data).items():
        small, asked = parted(key, rows)
        if (exam.heldout or is_scored(key)) and asked and len({r[0] * r[1] for r in small}) > 1:
            items.append((key, small, asked))
    if not items:
        return exam.skip(f"{NAME}: no allreduce_public/scaling.csv, no mlperf_training/groups.csv")
    by = collections.defaultdict(list)
    for (key, _, _), job in zip(items, exam.map(lambda i: exam.attempt(f"{NAME}: {i[0]}", ask, exam, i), items)):
        if job:
            by[source(key)].append(job)
    for group, jobs in by.items():
        tell(exam, QUESTION, group, jobs, False)
    tell(exam, QUESTION, "all", [j for jobs in by.values() for j in jobs], True)
    found = [j for j in exam.map(lambda i: exam.attempt(f"{NAME}: {i[0]}", ask, exam, i), list(largest(exam, exam.heldout or exam.data))) if j]
    if found:
        tell(exam, LARGEST, "all", found, True, LARGEST_TARGETS)
    return None
