"""Single TensorFlow layers on five GPUs (Justus et al. 2018), and steps of VGG-16 from them."""
import math
import random

from program import MODELS

NAME = "justus2018"
GPUS = ("v100", "p100", "m60", "k80", "k40", "gtx1080ti")  # the paper's; others have no published figures
# root mean square errors in ms: the paper's, of one network of neurons for each GPU, and what is to be met
PUBLISHED = {"conv": dict(zip(GPUS, (1.73, 3.32, 6.07, 7.84, 11.90, 2.55))), "dense": dict(zip(GPUS, (.048, .033, .031, .145, .167, .034)))}
TARGETS = {"conv": dict(zip(GPUS, (1.9, 3.32, 6.07, 7.84, 11.90))), "dense": dict(zip(GPUS, (.060, .025, .022, .145, .125)))}
CONV_MAPE, VGG_MAPE = 12.0, 15.0
SEED, TRAINED, TESTED = 0, 0.8, 0.1


def chain(*parts):
    """A few layers in a row, each a type with its keys."""
    parts = [p for p in parts if p]
    return {"name": "; ".join(p[0] for p in parts), "geometry": "; ".join(p[1] for p in parts)}


def row(r, *layers):
    """Rows with an optimizer are whole training steps, of a loss over the output; its inputs are variables that it moves, too."""
    training = r["optimizer"] != "none"
    activation = (r["activation"], "") if r["activation"] != "none" else None
    return {"kind": "layer", **chain(*layers, activation, ("mse_loss", "") if training else None),
            "phase": "step" if training else "inference", "batch": r["batch"], "settings": "trains=inputs",
            "optimizer": r["optimizer"] if training else "", "seconds": f"{float(r['time_median_ms']) * 1e-3:.9g}"}


def conv(r):
    m, k, s = int(r["matrix_size"]), int(r["kernel"]), int(r["stride"])
    # 'same' pads as much as ceil(m / s) outputs need, the odd pixel behind
    total = max((math.ceil(m / s) - 1) * s + k - m, 0) if r["padding"] == "same" else 0
    before, after = total // 2, total - total // 2
    pad = ("pad", f"before={before},{before} after={after},{after}") if before != after else None
    keys = (f"filters={r['channels_out']} kernel={k} stride={s} padding={0 if pad else before} "
            f"bias={'yes' if r['use_bias'] == '1' else 'no'}")
    return {**row(r, pad, ("conv2d", keys)), "input": f"{r['channels_in']}x{m}x{m}"}


def dense(r):
    return {**row(r, ("linear", f"features={r['dim_out']}")), "input": r["dim_in"]}


KINDS = {"conv": conv, "dense": dense}


def gpus(exam, kind):
    """Those of both folders, the paper's first."""
    found = {f[len(kind) + 1:-len(".csv.gz")] for folder in (exam.data, exam.heldout) if folder
             for f in exam.files(folder, NAME) if f.startswith(kind + "_") and f.endswith(".csv.gz")}
    return sorted(found, key=lambda g: (GPUS.index(g) if g in GPUS else len(GPUS), g))


def layers(exam, folder, kind, gpu):
    return [KINDS[kind](r) for r in exam.read(folder, NAME, f"{kind}_{gpu}.csv.gz") or []]


def parts(rows):
    """The paper's split: of rows in random order the first 80 % and the last 10 %; the rest is not looked at."""
    order = random.Random(SEED).sample(rows, len(rows))
    return order[:int(TRAINED * len(order))], order[-int(TESTED * len(order)):]


def both(found, model):
    """Forward passes and training steps."""
    return [r for (group, what, m), r in found.items()
            if m == model and group == "(all)" and what in ("inference", "step") and r["mape_percent"]]


def pooled(found, model):
    """Errors over both together: rows, MAPE in %, root mean square in ms."""
    rows = both(found, model)
    n = sum(int(r["points"]) for r in rows)
    if not n:
        return None
    return (n, sum(int(r["points"]) * float(r["mape_percent"]) for r in rows) / n,
            math.sqrt(sum(int(r["points"]) * float(r["rmse_ms"]) ** 2 for r in rows) / n))


def one(exam, kind, gpu):
    rows, other = layers(exam, exam.data, kind, gpu), layers(exam, exam.heldout, kind, gpu)
    if not rows and not other or exam.heldout and not other:
        return None
    if exam.heldout and rows:
        question, train, test = "held out", rows, other
    else:
        question = "new GPU, random rows" if exam.heldout else "random rows"
        train, test = parts(other if exam.heldout else rows)
    return question, exam.unseen(f"{NAME}-{kind}-{gpu}", train, test)


def vgg(exam):
    """Whole steps of a network, by what single convolutions took."""
    steps = exam.read(exam.heldout or exam.data, NAME, "vgg16_steps.csv")
    for gpu in dict.fromkeys(r["gpu"] for r in steps or []):
        rows = layers(exam, exam.data, "conv", gpu) or layers(exam, exam.heldout, "conv", gpu)
        name = exam.network(NAME, "vgg16")
        if not rows or not name:
            exam.skip(f"{NAME}: no layers of {gpu}, or no network, for vgg16_steps")
            continue
        # one optimizer for all, as evaluations have none to differ in
        test = [{"kind": "network", "name": name, "phase": "step" if r["optimizer"] != "none" else "inference",
                 "input": f"3x{r['image_size']}x{r['image_size']}", "batch": r["batch"], "settings": "trains=inputs",
                 "optimizer": "sgd", "seconds": f"{float(r['time_ms']) * 1e-3:.9g}"} for r in steps if r["gpu"] == gpu]
        found = exam.unseen(f"{NAME}-vgg16-{gpu}", parts(rows)[0], test)
        for model in MODELS:
            errors = pooled(found, model)
            if errors:
                exam.results.add(NAME, "steps of vgg16 from convolutions", gpu, errors[0], model, "MAPE %", errors[1], VGG_MAPE)
                exam.coverage(NAME, "steps of vgg16 from convolutions", gpu, model, both(found, model))


def run(exam):
    asked = [(kind, gpu) for kind in KINDS for gpu in gpus(exam, kind)[:1 if exam.quick else None]]
    found = dict(zip(asked, exam.map(lambda a: one(exam, *a), asked)))
    if not any(found.values()):
        return exam.skip(f"{NAME}: no layers")
    for (kind, gpu), answer in found.items():
        if not answer:
            exam.skip(f"{NAME}: no {kind}_{gpu}.csv.gz")
            continue
        question, errors = answer
        for model in MODELS:
            all_rows = pooled(errors, model)
            if all_rows:
                n, mape, rmse = all_rows
                exam.results.add(NAME, f"{kind}, {question}", gpu, n, model, "MAPE %", mape,
                                 CONV_MAPE if kind == "conv" else None)
                exam.results.add(NAME, f"{kind}, {question}", gpu, n, model, "RMSE ms", rmse, TARGETS[kind].get(gpu),
                                 PUBLISHED[kind].get(gpu))
                exam.coverage(NAME, f"{kind}, {question}", gpu, model, both(errors, model))
    if not exam.quick:
        vgg(exam)
