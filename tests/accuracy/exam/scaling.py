"""Steps of five networks on 1 to 16 nodes of up to 4 GPUs, all-reduces in buckets behind the backward pass
(allreduce_public/scaling.csv): predicted at 6 nodes and more from what was measured on 1 to 4."""
import collections
import math

NAME = "scaling"
CLUSTER = "pollux_aws_t4"
BUCKET = 25 << 20  # DistributedDataParallel's
NODES = 4  # are measured; more are asked for
TARGETS = {"yolov3": 12.0, "bert_base": 8.0, "deepspeech2": 9.0}
BASELINES = ("convmeter joint", "ring", "paleo tree")


def convolutions(*layers):
    """Counts of convolutions, (inputs, outputs, kernel, height and width of the output): what kind `counts` takes."""
    return {"macs": sum(i * o * k * k * s * s for i, o, k, s in layers), "outputs": sum(o * s * s for _, o, _, s in layers),
            "params": sum(i * o * k * k + 2 * o for i, o, k, _ in layers)}


def cifar_resnet18():
    """ResNet-18 for 32x32 (He et al. 2016, kernels of 3 from the first layer on)."""
    layers = [(3, 64, 3, 32)]
    for stage, size in enumerate((32, 16, 8, 4)):
        width, before = 64 << stage, 64 << max(0, stage - 1)
        layers += [(before, width, 3, size)] + 3 * [(width, width, 3, size)]
        layers += [(before, width, 1, size)] if stage else []
    return convolutions(*layers, (512, 10, 1, 1))


def yolov3():
    """Darknet-53 and three heads at 416x416 (Redmon & Farhadi 2018)."""
    layers, width = [(3, 32, 3, 416)], 32
    for repeat, size in ((1, 208), (2, 104), (8, 52), (8, 26), (4, 13)):
        layers += [(width, 2 * width, 3, size)] + repeat * [(2 * width, width, 1, size), (width, 2 * width, 3, size)]
        width *= 2
    for width, size, joined in ((512, 13, 1024), (256, 26, 768), (128, 52, 384)):
        layers += [(joined, width, 1, size), (width, 2 * width, 3, size)] + 2 * [(2 * width, width, 1, size),
                                                                                   (width, 2 * width, 3, size)]
        layers += [(2 * width, 255, 1, size)] + ([(width, width // 2, 1, size)] if size < 52 else [])
    return convolutions(*layers)


def deepspeech2():
    """38 million parameters (Amodei et al. 2016), each used once in a time step, 50 a second of speech. How many
    seconds is not published, and is nothing to a fit of this network alone."""
    return {"macs": 38e6 * 50, "outputs": 1e6, "params": 38e6}


COUNTS = {"yolov3": yolov3, "deepspeech2": deepspeech2, "cifar_resnet18": cifar_resnet18}


def observe(model, rows):
    """Steps, and what was exposed of all-reduces on several ranks. On one rank nothing is all-reduced: what the hook of
    the synchronisation takes there is no part of the step that others are compared with."""
    counts = COUNTS[model]() if model in COUNTS else None
    for r in rows:
        ranks = int(r["gpus"])
        base = {"kind": "counts" if counts else "network", "name": model, "batch": int(float(r["batch_per_gpu"])), "ranks": ranks,
                "hosts": int(float(r["nodes"])), "bucket_bytes": BUCKET if ranks > 1 else "",
                "geometry": " ".join(f"{k}={v:g}" for k, v in counts.items()) if counts else ""}
        step, sync = float(r["step_time_s"]), float(r["exposed_sync_time_s"])
        if ranks > 1:
            yield dict(base, phase="sync", seconds=sync)
        yield dict(base, phase="step", seconds=step if ranks > 1 else step - sync)


# ---- baselines, which know no overlap -----------------------------------------------------------------------------

def least_squares(rows, values, weights):
    """Coefficients by normal equations, those below 0 left out; columns are few."""
    use = list(range(len(rows[0])))
    while use:
        a = [[sum(w * w * r[i] * r[j] for r, w in zip(rows, weights)) for j in use]
             + [sum(w * w * r[i] * v for r, v, w in zip(rows, values, weights))] for i in use]
        for i in range(len(use)):
            p = max(range(i, len(use)), key=lambda k: abs(a[k][i]))
            a[i], a[p] = a[p], a[i]
            if abs(a[i][i]) < 1e-30:
                a[i][i] = 1e30
            for k in range(len(use)):
                if k != i:
                    f = a[k][i] / a[i][i]
                    a[k] = [x - f * y for x, y in zip(a[k], a[i])]
        x = [a[i][-1] / a[i][i] for i in range(len(use))]
        if min(x) >= 0:
            return [x[use.index(i)] if i in use else 0.0 for i in range(len(rows[0]))]
        use.pop(x.index(min(x)))
    return [0.0] * len(rows[0])


def alone_at(alone, batch):
    """Seconds of a step on one device: as measured, or linear between the two nearest batches that were, or through them."""
    if batch in alone or len(alone) < 2:
        return alone.get(batch) or next(iter(alone.values())) * batch / next(iter(alone))
    a, b = sorted(sorted(alone, key=lambda other: abs(other - batch))[:2])
    return alone[a] + (alone[b] - alone[a]) * (batch - a) / (b - a)


def baseline(name, point, alone):
    """Columns of a formula, and what is added to it: ConvMeter's joint form in what differs within a network; a ring by
    latency and bandwidth (Hockney), and PALEO's tree, behind the step of one device."""
    batch, ranks = point
    if name == "convmeter joint":
        return [batch, 1, ranks], 0.0
    if name == "ring":
        return [2 * (ranks - 1), 2 * (ranks - 1) / ranks], alone_at(alone, batch)
    return [2 * math.ceil(math.log2(ranks))], alone_at(alone, batch)


def beside(name, fitted, asked, alone):
    """Mean error of a baseline."""
    rows, values, weights = [], [], []
    for point, seconds in fitted:
        columns, added = baseline(name, point, alone)
        rows.append(columns)
        values.append(seconds - added)
        weights.append(1 / seconds)
    x = least_squares(rows, values, weights)
    errors = []
    for point, seconds in asked:
        columns, added = baseline(name, point, alone)
        errors.append(abs(sum(a * b for a, b in zip(x, columns)) + added - seconds) / seconds)
    return 100 * sum(errors) / len(errors)


def points(rows):
    return [((float(r["batch_per_gpu"]), int(r["gpus"])), float(r["step_time_s"])) for r in rows if int(r["gpus"]) > 1]


# ---- the exam ---------------------------------------------------------------------------------------------------------

def read(exam, folder):
    by = collections.defaultdict(list)
    for r in exam.read(folder, "allreduce_public", "scaling.csv") or ():
        if r["cluster_id"] == CLUSTER and r["nodes"] and r["exposed_sync_time_s"]:
            by[r["model"]].append(r)
    return by


def ask(exam, model, rows, other):
    fitted = [r for r in rows if float(r["nodes"]) <= NODES]
    asked = [r for r in other if float(r["nodes"]) > NODES]
    if not asked or not any(r["gpus"] == "1" for r in fitted) or not points(fitted):
        return exam.skip(f"{NAME}: {model}: " + ("no steps on one device, or none on several" if asked else
                                                 f"none on more than {NODES} nodes"))
    if model not in COUNTS and not exam.network(NAME, model):
        return None
    question = "step on 6 to 16 nodes from 1 to 4"
    found = exam.unseen(f"{NAME}-{model}", list(observe(model, fitted)), list(observe(model, asked)))
    alone = {float(r["batch_per_gpu"]): float(r["step_time_s"]) for r in fitted if r["gpus"] == "1"}
    errors = {b: beside(b, points(fitted), points(asked), alone) for b in BASELINES}
    target = TARGETS.get(model, min(errors.values()))
    exam.errors(NAME, question, found, "overlapped", target=target, group=model)
    exam.errors(NAME, question.replace("step", "exposed all-reduce"), found, "exposed", group=model)
    for b, value in errors.items():
        exam.results.add(NAME, question, model, len(asked), b, "MAPE %", value)
    return None


def run(exam):
    data = read(exam, exam.data)
    other = read(exam, exam.heldout) if exam.heldout else data
    if not other:
        return exam.skip(f"{NAME}: no allreduce_public/scaling.csv")
    for model, asked in other.items():  # a network of one folder alone is asked by its own steps on few nodes
        exam.attempt(f"{NAME}: {model}", ask, exam, model, data.get(model) or asked, asked)
