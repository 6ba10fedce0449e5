"""Single TensorFlow layers on five GPUs (Justus et al. 2018), and steps of VGG-16 from them."""
import math
import random
import statistics

from program import MODELS, RESIDUAL
from results import OURS

NAME = "justus2018"
GPUS = ("v100", "p100", "m60", "k80", "k40", "gtx1080ti")  # the paper's; others have no published figures
# root mean square errors in ms: the paper's, of one network of neurons for each GPU, and what is to be met
PUBLISHED = {"conv": dict(zip(GPUS, (1.73, 3.32, 6.07, 7.84, 11.90, 2.55))), "dense": dict(zip(GPUS, (.048, .033, .031, .145, .167, .034)))}
TARGETS = {"conv": dict(zip(GPUS, (1.9, 3.32, 6.07, 7.84, 11.90))), "dense": dict(zip(GPUS, (.060, .025, .022, .145, .125)))}
CONV_MAPE, VGG_MAPE = 12.0, 15.0
# the same with a residual on the prices
RESIDUAL_TARGETS = {"conv": dict(zip(GPUS, (1.2, 1.6, 3.0, 4.8, 5.6))), "dense": dict(zip(GPUS, (.028, .022, .018, .075, .080)))}
RESIDUAL_MAPE = {"conv": 9.0, "dense": 5.0}
# the paper's own model as it is learned here: within 15 % of its figures
JUSTUS, JUSTUS_WITHIN = "justus", 1.15
# another published model of single layers, which has no public data: its choice of learners is made on fewer rows, for time's sake
PRENET, PRENET_LEARNS = "prenet", ("--learn", "drawn=3000,parts=3,passes=60000")
JUSTUS_FOR_ALL = "layers=6,l2=1e-5,epochs=60,halve=10"  # by rows set apart of those learned from: of all GPUs there are many
FITTED = ("--residual", "auto", "--model", f"{JUSTUS},{PRENET}", *PRENET_LEARNS)
ALL = (*MODELS, RESIDUAL, JUSTUS, PRENET)
PRENET_ROWS = 1500  # of each GPU, where one is told by the others'
# a GPU that was not measured, of batches up to 32: the paper's (one network of neurons for all GPUs), and what is to be met with
# FEW layers measured on it, the mean over DRAWS by seeds 0, 1 ...
UNSEEN_PUBLISHED = {("conv", "v100"): 39.6, ("conv", "gtx1080ti"): 25.6}
UNSEEN_TARGETS = {("conv", "v100"): 14.0, ("conv", "p100"): 14.0}
MOST_BATCH, FEW, DRAWS = 32, 20, 8
# one residual for all GPUs, of batches up to 32: the paper's (one network of neurons for all), and what is to be met
JOINT_PUBLISHED, JOINT_TARGETS = {"conv": {"RMSE ms": 3.88}}, {"conv": {"MAPE %": 8.0, "RMSE ms": 2.9}}
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


def parts(exam, rows):
    """The paper's split: of rows in random order the first 80 % and the last 10 %; the rest is not looked at."""
    order = exam.draw(SEED).sample(rows, len(rows))
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


def merged(each):
    """Errors over several: rows, MAPE in %, root mean square in ms."""
    n = sum(e[0] for e in each)
    return (n, sum(e[0] * e[1] for e in each) / n, math.sqrt(sum(e[0] * e[2] ** 2 for e in each) / n)) if n else None


def one(exam, kind, gpu):
    rows, other = layers(exam, exam.data, kind, gpu), layers(exam, exam.heldout, kind, gpu)
    if not rows and not other or exam.heldout and not other:
        return None
    if exam.heldout and rows:
        question, train, test = "held out", rows, other
    else:
        question = "new GPU, random rows" if exam.heldout else "random rows"
        train, test = parts(exam, other if exam.heldout else rows)
    known = [("multiprocessors", r["sm_count"]) for folder in (exam.data, exam.heldout)
             for r in exam.read(folder, NAME, "gpus.csv") or [] if r["gpu"] == gpu][:1]
    return question, exam.unseen(f"{NAME}-{kind}-{gpu}", train, test, known, FITTED, ALL)


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
        found = exam.unseen(f"{NAME}-vgg16-{gpu}", parts(exam, rows)[0], test, options=FITTED, models=ALL)
        for model in ALL:
            errors = pooled(found, model)
            if errors:
                exam.results.add(NAME, "steps of vgg16 from convolutions", gpu, errors[0], model, "MAPE %", errors[1], VGG_MAPE)
                exam.coverage(NAME, "steps of vgg16 from convolutions", gpu, model, both(found, model))


def datasheets(exam, whole=False):
    """The data's own, as a file of devices: its path, and the GPUs in it. `whole`: what only learned models ask for, too."""
    rows = {r["gpu"]: r for folder in (exam.heldout, exam.data) for r in exam.read(folder, NAME, "gpus.csv") or []}
    path = exam.path(f"{NAME}-devices{'-whole' if whole else ''}.ini")
    with open(path, "w") as out:
        for gpu, r in rows.items():
            out.write(f"[{gpu}]\ncapability = {r['compute_capability']}\nf32 = {float(r['fp32_peak_gflops']) / 1e3:g} TFLOP/s\n"
                      f"bandwidth = {r['memory_bandwidth_gb_s']} GB/s\nmultiprocessors = {r['sm_count']}\n")
            if whole:
                out.write(f"cores = {r['fp32_cores']}\nclock = {r['clock_boost_mhz']} MHz\nmemory = {r['memory_gb']} GB\n")
            out.write("\n")
    return path, rows


def transferred(exam, kind, sources, gpu, rows, devices):
    """Errors on a GPU by its datasheet and machine files of others: without a measurement of it, and with FEW layers."""
    name = f"{NAME}-unseen-{kind}-{gpu}"

    def errors(part, test, *options):
        new = exam.path(f"{name}-{part}.ini")
        # without peaks per watt: the data give no limits of power, and of four GPUs, each left out, the errors were less without
        exam.program.run("transfer", *sources.values(), "--from", ",".join(sources), "--to", gpu, "--devices", devices, "--power", "0",
                         "-o", new, *options)
        return exam.program.validate(exam.write(f"{name}-{part}.csv", test), new)

    def corrected(seed):
        few = set(random.Random(seed).sample(range(len(rows)), FEW))
        with_ = exam.write(f"{name}-few{seed}.csv", [rows[i] for i in sorted(few)])
        return errors(seed, [r for i, r in enumerate(rows) if i not in few], "--with", with_)

    return errors("alone", rows), [corrected(seed) for seed in range(DRAWS)]


def unseen(exam):
    """Each GPU as one that was not measured, by the others."""
    devices, known = datasheets(exam)
    inside = {"by datasheet alone": [], f"with {FEW} layers": []}
    for kind in list(KINDS)[:1 if exam.quick else None]:
        def up_to(folder, gpu):
            return [r for r in layers(exam, folder, kind, gpu) if int(r["batch"]) <= MOST_BATCH]

        def fit(gpu):
            machine = exam.path(f"{NAME}-unseen-{kind}-{gpu}-source.ini")
            provenance = [("multiprocessors", known[gpu]["sm_count"])]
            exam.program.fit(exam.write(f"{NAME}-unseen-{kind}-{gpu}-source.csv", up_to(exam.data, gpu), provenance), machine)
            return machine

        measured = [g for g in gpus(exam, kind) if g in known and layers(exam, exam.data, kind, g)]
        machine = exam.each(NAME, fit, measured)
        asked = [g for g in gpus(exam, kind) if g in known and layers(exam, exam.heldout or exam.data, kind, g)]
        asked = asked[:1 if exam.quick else None]
        found = exam.each(NAME, lambda g: transferred(exam, kind, {s: m for s, m in machine.items() if s != g}, g,
                                                      up_to(exam.heldout or exam.data, g), devices), asked)
        for gpu, (alone, corrected) in found.items():
            n, mape, _ = pooled(alone, "layermeter")
            question = f"{kind}, GPU not measured, by datasheet alone"
            exam.results.add(NAME, question, gpu, n, "layermeter", "MAPE %", mape, None, UNSEEN_PUBLISHED.get((kind, gpu)))
            question = f"{kind}, GPU not measured, with {FEW} layers"
            exam.results.add(NAME, question, gpu, n - FEW, "layermeter", "MAPE %",
                             statistics.mean(pooled(c, "layermeter")[1] for c in corrected), UNSEEN_TARGETS.get((kind, gpu)),
                             UNSEEN_PUBLISHED.get((kind, gpu)))
            inside["by datasheet alone"] += both(alone, "layermeter")
            inside[f"with {FEW} layers"] += [r for c in corrected for r in both(c, "layermeter")]
    # a datasheet, and few layers, are off alike for all layers of a GPU: each GPU and kind is one draw, and five draws of one kind can
    # hardly lie at 90 %
    for how, rows in inside.items():
        if not exam.quick:
            exam.coverage(NAME, f"conv and dense, GPU not measured, {how}", "all", "layermeter", rows)


def unseen_learned(exam):
    """Each GPU by what PreNeT's model learned of some layers of each of the others, and its datasheet."""
    devices, known = datasheets(exam, whole=True)

    def some(folder, kind, gpu):
        rows = [r for r in layers(exam, folder, kind, gpu) if int(r["batch"]) <= MOST_BATCH]
        return exam.draw(SEED).sample(rows, min(PRENET_ROWS, len(rows)))

    def told(kind, gpus_of):
        """Errors of each, the others being left in: by GPU."""
        files = [exam.write(f"{NAME}-learned-{kind}-{gpu}-{len(gpus_of)}.csv", some(folder, kind, gpu)) for gpu, folder in gpus_of]
        rows = exam.program.table("validate", *files, "--leave-out", "device", "--device", ",".join(g for g, _ in gpus_of),
                                  "--devices", devices, "--model", PRENET, *PRENET_LEARNS)
        return {g: pooled({("(all)", r["phase"], r["model"]): r for r in rows if r["group"] == g}, PRENET) for g, _ in gpus_of}

    def judge(kind):
        measured = [(g, exam.data) for g in gpus(exam, kind) if g in known and layers(exam, exam.data, kind, g)]
        if not exam.heldout:
            return told(kind, measured) if len(measured) > 2 else {}
        asked = [g for g in gpus(exam, kind) if g in known and layers(exam, exam.heldout, kind, g)]
        return {g: told(kind, [m for m in measured if m[0] != g] + [(g, exam.heldout)])[g] for g in asked if len(measured) > 2}

    for kind, found in zip(KINDS, exam.map(judge, list(KINDS))):
        for gpu, errors in found.items():
            if errors:
                question = f"{kind}, GPU not measured, by datasheet alone"
                exam.results.add(NAME, question, gpu, errors[0], PRENET, "MAPE %", errors[1])


def of_all(exam, kind, known):
    """Rows of all GPUs to learn of, and to be told."""
    train, test = {}, {}
    for gpu in (g for g in gpus(exam, kind) if g in known):
        rows = [[r for r in layers(exam, folder, kind, gpu) if int(r["batch"]) <= MOST_BATCH] for folder in (exam.data, exam.heldout)]
        if not exam.heldout or not rows[0] and rows[1]:
            train[gpu], test[gpu] = parts(exam, rows[0] or rows[1])
        elif rows[0]:
            train[gpu], test[gpu] = rows
    return {g: r for g, r in train.items() if r}, test


def together(exam, name, train, test, models, options, devices):
    """Errors of each GPU by one fit of the files of all; those that are asked for, and theirs."""
    machine = {g: exam.path(f"{name}-{g}.ini") for g in train}
    files = [exam.write(f"{name}-{g}-fit.csv", r) for g, r in train.items()]
    exam.program.fit_together(files, list(machine.values()), (*options, "--device", ",".join(train), "--devices", devices))
    asked = [g for g in train if test[g]]
    return asked, exam.map(lambda g: exam.program.validate(exam.write(f"{name}-{g}.csv", test[g]), machine[g], models=models,
                                                           options=("--device", g, "--devices", devices)), asked)


def joint_justus(exam):
    """The paper's model of all GPUs, convolutions: one network of neurons with figures of datasheets."""
    kind = "conv"
    devices, known = datasheets(exam, whole=True)
    train, test = of_all(exam, kind, known)
    if len(train) < 2:
        return exam.skip(f"{NAME}: {kind}, one model for all GPUs: there are not two")
    _, found = together(exam, f"{NAME}-joint-justus", train, test, (OURS, JUSTUS), ("--model", JUSTUS, "--learn", JUSTUS_FOR_ALL), devices)
    for model in (OURS, JUSTUS):
        figures = merged([e for e in (pooled(e, model) for e in found) if e])
        for metric, value in zip(("MAPE %", "RMSE ms"), figures[1:] if figures else ()):
            exam.results.add(NAME, f"{kind}, {'held out' if exam.heldout else 'random rows'}, the paper's own model for all GPUs", "all",
                             figures[0], model, metric, value, None, JOINT_PUBLISHED[kind].get(metric), judged=JUSTUS)


def joint(exam):
    """One residual for all GPUs, learned by one fit of all files on the prices of each; random rows of each are left out."""
    devices, known = datasheets(exam)
    for kind in KINDS:
        train, test = of_all(exam, kind, known)
        if len(train) < 2:
            exam.skip(f"{NAME}: {kind}, one residual for all GPUs: there are not two")
            continue
        asked, found = together(exam, f"{NAME}-joint-{kind}", train, test, (OURS, RESIDUAL), ("--residual", "auto"), devices)
        question = f"{kind}, {'held out' if exam.heldout else 'random rows'}, one residual for all GPUs"
        for model in (OURS, RESIDUAL):
            each = [pooled(e, model) for e in found]
            for group, figures in [*zip(asked, each), ("all", merged([e for e in each if e]))]:
                for metric, value in zip(("MAPE %", "RMSE ms"), figures[1:] if figures else ()):
                    all_ = group == "all"
                    exam.results.add(NAME, question, group, figures[0], model, metric, value,
                                     JOINT_TARGETS.get(kind, {}).get(metric) if all_ else None,
                                     JOINT_PUBLISHED.get(kind, {}).get(metric) if all_ else None, judged=RESIDUAL)


def run(exam):
    asked = [(kind, gpu) for kind in KINDS for gpu in gpus(exam, kind)[:1 if exam.quick else None]]
    found = exam.each(NAME, lambda a: one(exam, *a), asked)
    if not found:
        return exam.skip(f"{NAME}: no layers")
    for kind, gpu in asked:
        if (kind, gpu) not in found:
            exam.skip(f"{NAME}: no {kind}_{gpu}.csv.gz, or too little in it")
            continue
        question, errors = found[kind, gpu]
        for model in MODELS:
            all_rows = pooled(errors, model)
            if all_rows:
                n, mape, rmse = all_rows
                exam.results.add(NAME, f"{kind}, {question}", gpu, n, model, "MAPE %", mape,
                                 CONV_MAPE if kind == "conv" else None)
                exam.results.add(NAME, f"{kind}, {question}", gpu, n, model, "RMSE ms", rmse, TARGETS[kind].get(gpu),
                                 PUBLISHED[kind].get(gpu))
                exam.coverage(NAME, f"{kind}, {question}", gpu, model, both(errors, model))
        for model in (OURS, RESIDUAL):
            all_rows = pooled(errors, model)
            if all_rows:
                n, mape, rmse = all_rows
                exam.results.add(NAME, f"{kind}, {question}, with residual", gpu, n, model, "MAPE %", mape, RESIDUAL_MAPE[kind],
                                 judged=RESIDUAL)
                exam.results.add(NAME, f"{kind}, {question}, with residual", gpu, n, model, "RMSE ms", rmse,
                                 RESIDUAL_TARGETS[kind].get(gpu), PUBLISHED[kind].get(gpu), judged=RESIDUAL)
        published = PUBLISHED[kind].get(gpu)
        for model in (OURS, RESIDUAL, JUSTUS):
            all_rows = pooled(errors, model)
            if all_rows:
                n, mape, rmse = all_rows
                asked = f"{kind}, {question}, the paper's own model"
                exam.results.add(NAME, asked, gpu, n, model, "MAPE %", mape, judged=JUSTUS)
                exam.results.add(NAME, asked, gpu, n, model, "RMSE ms", rmse, published and JUSTUS_WITHIN * published, published,
                                 judged=JUSTUS)
        for model in (OURS, RESIDUAL, PRENET):
            all_rows = pooled(errors, model)
            for metric, value in zip(("MAPE %", "RMSE ms"), all_rows[1:] if all_rows else ()):
                exam.results.add(NAME, f"{kind}, {question}, PreNeT's model", gpu, all_rows[0], model, metric, value, judged=PRENET)
    for ask in (unseen,) if exam.quick else (unseen, unseen_learned, joint, joint_justus, vgg):
        exam.attempt(f"{NAME}: {ask.__name__}", ask, exam)
