"""Single PyTorch operations and whole networks on an A30 and an RTX 2080 Ti, with power (Nicolai 2025)."""
import re

NAME = "nicolai2025"


def keys(**given):
    """A layer's keys as geometry has them."""
    return " ".join(f"{k}={v}" for k, v in given.items())


def parameters(r):
    """What a module printed of itself: `a, b, key=value, key=(1, 2)`, as positional values and a dict."""
    parts = re.findall(r"(?:(\w+)=)?(\([^)]*\)|[^,()\s]+)", r["op_params"])
    return ([v for k, v in parts if not k], {k: v.strip("()").replace(" ", "").rstrip(",") for k, v in parts if k})


def conv2d(r):
    given = parameters(r)[1]
    return "conv2d", keys(filters=r["out_channels"], kernel=f"{r['kernel_h']},{r['kernel_w']}", stride=f"{r['stride_h']},{r['stride_w']}",
                          padding=f"{r['padding_h']},{r['padding_w']}", groups=r["groups"], dilation=given.get("dilation", "1,1"),
                          bias="yes" if r["bias"] == "1" else "no")


def linear(r):
    return "linear", keys(features=r["out_channels"], bias="yes" if r["bias"] == "1" else "no")


def pool(kind):
    def of(r):
        given = parameters(r)[1]
        names = ("kernel_size", "stride", "padding") + (("dilation",) if kind == "max_pool2d" else ())
        return kind, keys(**{n.replace("_size", ""): given[n] for n in names if n in given},
                          ceil_mode="yes" if given.get("ceil_mode") == "True" else "no")
    return of


def adaptive(r):
    return "adaptive_avg_pool2d", keys(size=",".join(r["out_shape"].split("x")[2:]))


def stochastic_depth(r):
    return "stochastic_depth", keys(p=parameters(r)[1]["p"])


def plain(kind):
    return lambda r: (kind, "")


LAYERS = {"Conv2d": conv2d, "Linear": linear, "BatchNorm2d": plain("batch_norm"), "LayerNorm": plain("layer_norm"),
          "ReLU": plain("relu"), "SiLU": plain("silu"), "Sigmoid": plain("sigmoid"), "GELU": plain("gelu"),
          "MaxPool2d": pool("max_pool2d"), "AvgPool2d": pool("avg_pool2d"), "AdaptiveAvgPool2d": adaptive,
          "StochasticDepth": stochastic_depth}


def phase(r):
    """Forward passes of modules in training mode are those of a step."""
    if r["phase"] == "training":
        return "step"
    return "inference" if r.get("module_mode", "eval") == "eval" else "forward"


def operation(r):
    """A row of our own; training is forward and backward, and each gradient added to what is there: of weights as much traffic as
    a step of SGD, of inputs what `trains=inputs` says."""
    kind, geometry = LAYERS[r["op"]](r)
    batch, *shape = r["in_shape"].split("x")
    return {"kind": "layer", "name": kind, "geometry": geometry, "phase": phase(r), "input": "x".join(shape), "batch": batch,
            "optimizer": "sgd" if r["phase"] == "training" else "",
            "settings": f"math={'tf32' if r['tensor_cores'] == '1' else 'ieee'} trains=inputs",
            "seconds": r["time_s"], "power_w": r["power_w"], "clock_mhz": r["clock_mhz"]}


# ---- what is asked -------------------------------------------------------------------------------

# Runs by what they are of: those of February 2025, second pass, and on the 2080 Ti all at one clock. Others repeat them, or were at
# an unknown one (README of the data).
OPERATIONS = {
    "A30 TF32": ("operations_A30_train@94f8ef7",),
    "A30 fp32": ("operations_A30_no_tc_train@94f8ef7",),
    "2080 Ti": ("RTX2080TI_operations_bench_run@29cc4b7", "operations_RTX2080TI_train@94f8ef7"),
}
MULTIPROCESSORS = {"A30 TF32": 56, "A30 fp32": 56, "2080 Ti": 68}
NETWORKS = {
    "A30 TF32": ("A30_full_model@b68f0fd", "fullmodel_A30@446e72c", "A30_fullmodel_train@94f8ef7", "operations_A30_train@554d5ea"),
    "A30 fp32": ("A30_no_tc_full_model@b68f0fd", "fullmodel_A30_no_tc@446e72c", "A30_no_tc_fullmodel_train@94f8ef7"),
    "2080 Ti": ("RTX2080TI_full_model@b68f0fd", "RTX2080TI_fullmodel@446e72c", "RTX2080TI_fullmodel_train@94f8ef7"),
}
RESIDUAL, PUBLISHED = "residual", "nicolai"
MODELS = ("layermeter", RESIDUAL, PUBLISHED, "counts", "nnls", "convmeter")
SEED, TRAINED, FOLDS = 0, 0.8, 5
FORESTS = ("--learn", "published,parts=2")  # how well they tell what they did not see is told by validate, not by themselves
SIZES = "nicolai, sizes"  # the same forests on features of our own, with which they are better: the baseline at its strongest
OWN_FORESTS = ("--learn", "encoding=0,parts=2")
TIME_MAPE, TIME_R2 = 8.0, 0.95
# 1 - R2 of the thesis's forests on random rows; 2080 Ti at its usual clock, A30 at six clocks
THESIS_R2 = {("A30", "step"): 0.90, ("A30", "inference"): 0.88, ("2080", "step"): 0.81, ("2080", "inference"): 0.77}
POWER_MAPE = 4.0
WHOLE = {"step": 12.0, "inference": 8.0, "step energy": 15.0, "inference energy": 10.0}
THESIS_WHOLE = {"step": 74.0, "step energy": 50.0}
PHASES = ("inference", "forward", "step")


def operations(exam, folder, name):
    rows = exam.read(folder, NAME, "operations.csv.gz") or []
    return [operation(r) for r in rows if r["run"] in OPERATIONS[name]]


def networks(exam, folder, name):
    """One optimizer for all, as evaluations have none to differ in."""
    found = []
    for r in exam.read(folder, NAME, "networks.csv") or []:
        batch, shape = r["in_shape"].split("x", 1)
        model = r["run"] in NETWORKS[name] and exam.network(NAME, r["model"], shape)
        if model:
            found.append({"kind": "network", "name": model, "phase": "step" if r["phase"] == "training" else "inference",
                          "input": shape, "batch": batch, "optimizer": "sgd",
                          "settings": f"math={'tf32' if r['tensor_cores'] == '1' else 'ieee'}", "seconds": r["time_s"],
                          "power_w": r["power_w"]})
    return found


def provenance(name):
    return [("multiprocessors", str(MULTIPROCESSORS[name]))]


def errors(rows):
    return {(r["phase"], r["model"]): r for r in rows if r["group"] == "(all)" and r["mape_percent"]}


def own(fitted):
    """The machine file of forests on features of our own."""
    return fitted.replace(".ini", "-sizes.ini")


def of_sizes(found):
    return {(what, SIZES): r for (what, _), r in found.items()}


def of_operations(exam, name):
    """A machine file of most rows, drawn at random, and errors by question: on the other rows, or those of another folder; and on
    operations that no fit saw, where all rows of an operation are left out together."""
    rows, other = operations(exam, exam.data, name), operations(exam, exam.heldout, name)
    question = "held out" if exam.heldout and rows else "new rows, at random" if exam.heldout else "random rows"
    rows = rows or other
    order = exam.draw(SEED).sample(rows, len(rows))
    train, test = (rows, other) if question == "held out" else (order[:int(TRAINED * len(rows))], order[int(TRAINED * len(rows)):])
    fitted = exam.path(f"{NAME}-ops-{name}.ini")
    exam.program.fit(exam.write(f"{NAME}-ops-{name}-fit.csv", train, provenance(name)), fitted,
                     ("--residual", "auto", "--model", PUBLISHED, *FORESTS))

    def judged(path, *how, models):
        return errors(exam.program.table("validate", path, *how, "--pooled", "--power", "--model", ",".join(models), *FORESTS))

    found = {}
    exam.program.fit(exam.path(f"{NAME}-ops-{name}-fit.csv"), own(fitted), ("--model", PUBLISHED, *OWN_FORESTS))
    if test:  # without any, networks are asked all the same
        rest = exam.write(f"{NAME}-ops-{name}-rest.csv", test, provenance(name))
        found[question] = judged(rest, "--machine", fitted, models=MODELS)
        found[question].update(of_sizes(judged(rest, "--machine", own(fitted), models=(PUBLISHED,))))
    if not exam.heldout:
        found["not seen"] = judged(exam.write(f"{NAME}-ops-{name}.csv", rows, provenance(name)), "--leave-out", f"kfold={FOLDS}",
                                   "--seed", str(1 + exam.seed), models=MODELS[:2])
    return fitted, found


def say_operations(exam, name, question, found):
    question = f"operations, {question}"
    for phase in PHASES:
        for model in (*MODELS, SIZES):
            r = found.get((phase, model))
            if not r:
                continue
            group = f"{name}, {phase}"
            exam.results.add(NAME, f"{question}: time", group, int(r["points"]), model, "MAPE %", float(r["mape_percent"]), TIME_MAPE,
                             judged=RESIDUAL)
            thesis = THESIS_R2.get((name.split()[0], phase))
            exam.results.add(NAME, f"{question}: time", group, int(r["points"]), model, "1 - R2", 1 - float(r["r2"]), 1 - TIME_R2,
                             None if thesis is None else 1 - thesis, judged=RESIDUAL)
            exam.coverage(NAME, f"{question}: time", group, model, [r])
            for figure, target in (("power", POWER_MAPE), ("energy", None)):
                r = found.get((f"{phase} {figure}", model))
                if r:
                    exam.results.add(NAME, f"{question}: {figure}", group, int(r["points"]), model, "MAPE %", float(r["mape_percent"]),
                                     target, judged=RESIDUAL)


def whole(exam, name, fitted):
    """Networks, each left out in turn, or those of another folder by all of this; and by the published sum of its operations."""
    known, rows = networks(exam, exam.data, name), networks(exam, exam.heldout or exam.data, name)
    if not rows or not fitted:
        return None, {}
    path = exam.write(f"{NAME}-networks-{name}.csv", rows, provenance(name))
    apart = exam.heldout and len({r["name"] for r in known}) > 1
    how = ("--layers", fitted)
    if apart:
        composed = exam.path(f"{NAME}-composed-{name}.ini")
        exam.program.fit(exam.write(f"{NAME}-networks-{name}-fit.csv", known, provenance(name)), composed, ("--layers", fitted))
        how = ("--machine", composed)
    found = errors(exam.program.table("validate", path, *how, "--pooled", "--power", "--model", "layermeter,counts,nnls,convmeter"))
    by_forests = ("--pooled", "--power", "--model", PUBLISHED)
    found.update(errors(exam.program.table("validate", path, "--machine", fitted, *by_forests)))
    found.update(of_sizes(errors(exam.program.table("validate", path, "--machine", own(fitted), *by_forests))))
    return "held out" if apart else "each left out", found


def say_whole(exam, name, split, found):
    for (what, model), r in found.items():
        question = f"networks, {split}: {what if ' ' in what else what + ' time'}"
        target = WHOLE.get(what) if name.startswith("A30") else None
        exam.results.add(NAME, question, name, int(r["points"]), model, "MAPE %", float(r["mape_percent"]), target,
                         THESIS_WHOLE.get(what))
        exam.coverage(NAME, question, name, model, [r])


def run(exam):
    names = [n for n in OPERATIONS if operations(exam, exam.data, n) or operations(exam, exam.heldout, n)]
    if not names:
        return exam.skip(f"{NAME}: no operations")
    for name, (fitted, found) in exam.each(NAME, lambda n: of_operations(exam, n), names).items():
        for question, answers in found.items():
            say_operations(exam, name, question, answers)
        composed = exam.attempt(f"{NAME}: networks, {name}", whole, exam, name, fitted)
        if composed:
            say_whole(exam, name, *composed)
