"""Operators of PyTorch on twelve GPUs (NeuSight 2025), and whole transformers from a device's own operators."""
import os
import statistics

import kernels
import transformer_kernels
from exam import NEW
from program import MODELS, RESIDUAL, write_observations
from results import OURS

NAME = "neusight2025"
# devices whose clocks hold, and all
STEADY, TARGET, TARGET_ALL, PROTOCOL = ("a100", "v100", "h100"), 5.0, 7.0, 8.0
# rows of an operator and device: more change no prices, and residuals little (linear on an A100: all 7,500 4.7 %, 1,500 5.1 %)
MOST, SEED, PARTS = 1500, 1, 5

TWO_TENSORS = ("add", "mul", "div", "pow")
# of the H100; of operators that it has no rows of, of the mean over devices
TARGETS = {"linear": 7.0, "batched products": 10.0, "elementwise": 4.0, "layer norm": 9.0, "softmax": 9.0}
ONE = "h100_sxm5_80gb"
# with what prices leave over, of the H100 and all A100
RESIDUAL_TARGETS, RESIDUAL_ON = {"linear": 3.0, "batched products": 5.0}, ("h100", "a100")


def topic(op):
    return {"linear": "linear", "bmm": "batched products", "ln": "layer norm", "softmax": "softmax"}.get(op, "elementwise")


def kernel(r):
    if r["op"] == "linear":
        return kernels.gemm(1, r["rows_m"], r["cols_n"], r["inner_k"], bias=1)
    if r["op"] == "bmm":
        return kernels.gemm(r["batch"], r["rows_m"], r["cols_n"], r["inner_k"], activations=1)
    if r["op"] == "ln":
        return kernels.layer_norm(r["rows"], r["cols"])
    if r["op"] == "softmax":
        return kernels.softmax(r["rows"], r["cols"])
    return {**kernels.map_(int(r["rows"]) * int(r["cols"]), 2 if r["op"] in TWO_TENSORS else 1), "algorithm": r["op"]}


def operators(exam, folder, split=None):
    """Rows of each device and operator, not more than enough."""
    out = {}
    for file in "op_matmul.csv.gz", "op_vector.csv.gz":
        for r in exam.read(folder, NAME, file) or []:
            if r.get("suspect") != "1" and split in (None, r["split"]):
                out.setdefault((r["gpu"], r["op"]), []).append(r)
    return {key: [{"kind": "kernel", "phase": "forward", "dtype": "f32", "group": key[1], **kernel(r),
                   "seconds": f"{float(r['time_ms']) * 1e-3:.9g}"}
                  for r in exam.draw(SEED).sample(rows, min(MOST, len(rows)))] for key, rows in out.items()}


def sheets(exam):
    """What a device's datasheet says, as provenance."""
    return {r["gpu"]: [("device", r["source_name"]), ("multiprocessors", r["n_sm"])]
            for folder in (exam.data, exam.heldout) for r in exam.read(folder, NAME, "devices.csv") or []}


def vendors(exam):
    return {r["gpu"]: r["vendor"] for folder in (exam.data, exam.heldout) for r in exam.read(folder, NAME, "devices.csv") or []}


def labels(exam, folder):
    """Whole networks on one device, eager, whose labels agree with the sum of their operators: lists of their kernels."""
    graphs, out = {}, {}

    def key(r):
        return tuple(r[k] for k in ("network", "phase", "seq_len", "batch", "option"))

    for r in exam.read(folder, NAME, "network_graphs.csv.gz") or []:
        graphs.setdefault(key(r), []).append(r)
    for r in exam.read(folder, NAME, "network_e2e.csv") or []:
        if r["option"] or r["suspect"] or key(r) not in graphs:
            continue
        path = os.path.join(exam.work, "-".join((NAME, "kernels", *key(r)[:4])) + ".csv")
        if not os.path.exists(path):
            write_observations(path, transformer_kernels.network(graphs[key(r)], r["phase"] == "training"))
        training = r["phase"] == "training"
        times = {"step": r["e2e_ms"], "forward": r["forward_ms"], "backward": r["backward_ms"]} if training else \
            {"inference": r["e2e_ms"]}
        out.setdefault(r["gpu"], []).extend(
            {"kind": "stream", "name": path, "group": r["network"], "phase": phase, "seconds": f"{float(ms) * 1e-3:.9g}"}
            for phase, ms in times.items() if ms)
    return out


def published(exam, chosen):
    """Mean error of the paper's own predictions of the same labels, by phase."""
    rows = [r for r in exam.read(exam.heldout or exam.data, NAME, "published_predictions.csv.gz") or []
            if r["predictor"] == "neusight" and r["scope"] == "all" and r["pass"] == "e2e" and not r["option"]
            and r["gpu"] in chosen]
    asked = {tuple(r[k] for k in ("gpu", "network", "phase", "seq_len", "batch"))
             for r in exam.read(exam.heldout or exam.data, NAME, "network_e2e.csv") or [] if not r["option"] and not r["suspect"]}
    rows = [r for r in rows if tuple(r[k] for k in ("gpu", "network", "phase", "seq_len", "batch")) in asked]
    return {phase: statistics.mean(float(r["abs_error_pct"]) for r in rows if r["phase"] == phase)
            for phase in ("inference", "training") if any(r["phase"] == phase for r in rows)}


def in_parts(exam, name, rows, sheet):
    """Errors of an operator on a device with each of five parts at random left out."""
    return exam.program.validate(exam.write(name + ".csv", rows, sheet), leave_out=f"kfold={PARTS}", models=(*MODELS, RESIDUAL),
                                 options=("--seed", str(1 + exam.seed)))


def of_transformers(exam, known):
    """Products of the shapes that all devices were measured on, those of transformers: a device that the paper learned from has many
    more, of dimensions at random."""
    shared, random_ = (operators(exam, exam.heldout or exam.data, split) for split in ("test", "train"))
    asked = [(gpu, op) for gpu, op in shared if (gpu, op) in random_ and topic(op) in RESIDUAL_TARGETS and gpu.startswith(RESIDUAL_ON)]
    found = exam.each(NAME, lambda key: in_parts(exam, f"{NAME}-shared-{key[1]}-{key[0]}", shared[key], known.get(key[0], ())), asked)
    for (gpu, op), errors in found.items():
        with_residual(exam, f"{topic(op)}, five parts, shapes of all devices, with residual", gpu, errors, RESIDUAL_TARGETS[topic(op)])


def single(exam, rows, other, known):
    """Each operator on each device: what is held out, or five parts at random."""
    asked = list(dict.fromkeys((gpu, topic(op)) for gpu, op in (other if exam.heldout else rows)))

    def of(source, key):
        return [r for (gpu, op), found in source.items() if (gpu, topic(op)) == key for r in found]

    def one(key):
        name = f"{NAME}-{key[1]}-{key[0]}".replace(" ", "-")
        sheet = known.get(key[0], ())
        return exam.answer(f"{NAME}: {' '.join(key)}", of(rows, key), of(other, key),
                           lambda a, b: exam.unseen(name, a, b, sheet, ("--residual", "auto"), (*MODELS, RESIDUAL)),
                           lambda r: in_parts(exam, name, r, sheet))

    found = dict(zip(asked, exam.map(one, asked)))
    for what, target in TARGETS.items():
        by_split = {}
        for key, (how, errors) in found.items():
            if key[1] == what and errors:
                split = {"": "five parts", NEW: "new device, five parts"}.get(how, how)
                by_split.setdefault(split, {})[key[0]] = errors
        for how, group in by_split.items():
            say_single(exam, f"{what}, {how}", group, target, RESIDUAL_TARGETS.get(what))


def say_single(exam, question, group, target, residual_target):
    """Errors of an operator, by device."""
    for gpu, e in group.items():
        exam.errors(NAME, question, {k: r for k, r in e.items() if k[2] != RESIDUAL}, "forward", target if gpu == ONE else None,
                    group=gpu)
        with_residual(exam, f"{question}, with residual", gpu, e, residual_target if gpu.startswith(RESIDUAL_ON) else None)
    for model in MODELS:
        rows_of = [e["(all)", "forward", model] for e in group.values() if ("(all)", "forward", model) in e]
        if rows_of:
            exam.results.add(NAME, f"{question}: mean over {len(rows_of)} devices", "all", sum(int(r["points"]) for r in rows_of), model,
                             "MAPE %", statistics.mean(float(r["mape_percent"]) for r in rows_of), None if ONE in group else target)


def with_residual(exam, question, gpu, found, target):
    for model in OURS, RESIDUAL:
        row = found.get(("(all)", "forward", model))
        if row:
            exam.results.add(NAME, question, gpu, int(row["points"]), model, "MAPE %", float(row["mape_percent"]), target,
                             judged=RESIDUAL)


def whole(exam, rows, other, known):
    """Networks by prices of their device's operators alone."""
    tests, vendor = labels(exam, exam.heldout or exam.data), vendors(exam)
    trains = {gpu: [r for source in (rows, other) for k, found in source.items() if k[0] == gpu for r in found]
              for gpu in tests}
    for gpu in [g for g in tests if not trains[g]]:
        exam.skip(f"{NAME}: whole networks of {gpu}: no operators of it")
    gpus = [g for g in tests if trains[g]]
    kinds = {gpu: {topic(r["group"]) for r in trains[gpu]} for gpu in gpus}
    complete = [g for g in gpus if kinds[g] == set(TARGETS)]
    # what a device was not measured on, by the others of its vendor and the datasheets
    like = ",".join(os.path.join(exam.work, f"{NAME}-networks-{g}.ini") for g in complete if vendor.get(g) == "nvidia")

    def one(gpu):
        return exam.unseen(f"{NAME}-networks-{gpu}", trains[gpu], tests[gpu], known.get(gpu, ()),
                           ("--residual", "auto", *(() if gpu in complete or not like else ("--like", like))),
                           (*MODELS, RESIDUAL))

    found = exam.each(NAME, one, complete)
    found.update(exam.each(NAME, one, [g for g in gpus if g not in complete]))
    gpus = [g for g in gpus if g in found]
    for question, chosen, target in (("A100, V100, H100", [g for g in gpus if g.startswith(STEADY)], TARGET),
                                     ("all devices", gpus, TARGET_ALL)):
        theirs = published(exam, chosen)
        for what, phases in (("inference and training", ("inference", "step")), ("inference", ("inference",)),
                             ("training", ("step",)), ("training, forward", ("forward",)),
                             ("training, backward", ("backward",))):
            for model in (*MODELS, RESIDUAL):
                e = [found[g]["(all)", phase, model] for g in chosen for phase in phases
                     if ("(all)", phase, model) in found[g]]
                points = sum(int(x["points"]) for x in e)
                if points:
                    exam.results.add(NAME, f"whole networks from own operators, {what}: {question}", "all", points, model,
                                     "MAPE %", sum(int(x["points"]) * float(x["mape_percent"]) for x in e) / points,
                                     target if len(phases) > 1 else None, theirs.get(what))
    for gpu in gpus:
        for phase in "inference", "step":
            exam.errors(NAME, f"whole networks from own operators, {phase}",
                        {k: r for k, r in found[gpu].items() if k[2] != RESIDUAL}, phase, group=gpu)


def protocol(exam, known):
    """The paper's own: operators of its training split, NVIDIA's GPUs only; devices and operators that are not in it by
    datasheets. (The exponent of power in transfer_default was set with devices of the test split in view.)"""
    trains, vendor = {}, vendors(exam)
    for (gpu, _), rows in operators(exam, exam.data, "train").items():
        if vendor.get(gpu) == "nvidia":
            trains.setdefault(gpu, []).extend(rows)
    tests = {g: rows for g, rows in labels(exam, exam.heldout or exam.data).items() if vendor.get(g) == "nvidia"}
    complete = [g for g in trains if {topic(r["group"]) for r in trains[g]} == set(TARGETS)]
    if not complete or not tests:
        return

    def machine(gpu):
        return os.path.join(exam.work, f"{NAME}-protocol-{gpu}.ini")

    def fit(gpu):
        exam.program.fit(exam.write(f"{NAME}-protocol-{gpu}-fit.csv", trains[gpu], known.get(gpu, ())), machine(gpu))
        return True

    complete = list(exam.each(NAME, fit, complete))
    like = ("--like", ",".join(machine(g) for g in complete))

    def one(gpu):
        asked = exam.write(f"{NAME}-protocol-{gpu}.csv", tests[gpu], known.get(gpu, ()))
        if gpu not in complete:
            source = exam.write(f"{NAME}-protocol-{gpu}-fit.csv", trains[gpu], known.get(gpu, ())) if gpu in trains else asked
            exam.program.fit(source, machine(gpu), like)
        return exam.program.validate(asked, machine(gpu))

    found = exam.each(NAME, one, tests)
    theirs = published(exam, list(tests))
    for what, phases in (("inference and training", ("inference", "step")), ("inference", ("inference",)),
                         ("training", ("step",))):
        e = [x["(all)", phase, "layermeter"] for x in found.values() for phase in phases if ("(all)", phase, "layermeter") in x]
        points = sum(int(x["points"]) for x in e)
        if points:
            exam.results.add(NAME, f"whole networks by the paper's training split, {what}", "all", points, "layermeter",
                             "MAPE %", sum(int(x["points"]) * float(x["mape_percent"]) for x in e) / points,
                             PROTOCOL if len(phases) > 1 else None, theirs.get(what))
    for gpu, x in found.items():
        for phase in "inference", "step":
            exam.errors(NAME, f"whole networks by the paper's training split, {phase}", x, phase, group=gpu)


def run(exam):
    rows, other = operators(exam, exam.data), operators(exam, exam.heldout)
    if not rows and not other:
        return exam.skip(f"{NAME}: no operators")
    known = sheets(exam)
    exam.attempt(f"{NAME}: single", single, exam, rows, other, known)
    exam.attempt(f"{NAME}: of transformers", of_transformers, exam, known)
    exam.attempt(f"{NAME}: whole", whole, exam, rows, other, known)
    exam.attempt(f"{NAME}: protocol", protocol, exam, known)
