"""Operators of PyTorch on twelve GPUs (NeuSight 2025), and whole transformers from a device's own operators."""
import os
import random

from program import MODELS

NAME = "neusight2025"
# devices whose clocks hold, and all; the paper's of all its labels
TARGET, TARGET_ALL, PUBLISHED = 5.0, 7.0, {"inference": 9.7, "training": 7.3}
STEADY = ("a100", "v100", "h100")
MOST, SEED = 1500, 1  # rows of an operator and device: more change nothing

# operators as layers, and how many tensors of rows x cols they read
VECTOR = {"ln": ("layer_norm", 1), "softmax": ("softmax", 1), "add": ("add", 2), "mul": ("multiply", 2), "div": ("divide", 2),
          "pow": ("pow", 2), "addu": ("scale", 1), "mulu": ("scale", 1), "divu": ("scale", 1), "powu": ("square", 1),
          "relu": ("relu", 1), "gelu": ("gelu", 1), "tanh": ("tanh", 1)}
CLASSES = {"linear": "linear", "bmm": "batched products", "ln": "norms", "softmax": "softmax"}
# networks of the paper as ours with other sizes
NETWORKS = {"bert_large": ("bert_base", "width = 1024\nlayers = 24\nheads = 16\nintermediate = 4096\npretraining = 1"),
            "gpt2_large": ("gpt2_large", ""),
            "gpt3_xl": ("gpt2", "positions = 2048\nwidth = 3072\nlayers = 24\nheads = 24")}


def layer(**more):
    return {"kind": "layer", "phase": "forward", "dtype": "f32", **more}


def operators(exam, folder):
    """Rows of each device and class of operators, not more than enough."""
    out = {}
    for r in exam.read(folder, NAME, "op_matmul.csv.gz") or []:
        if r["suspect"] == "1" or r["op"] not in CLASSES:
            continue
        m, k, n = r["rows_m"], r["inner_k"], r["cols_n"]
        shape = ({"name": "linear", "geometry": f"features={n}", "input": f"{m}x{k}"} if r["op"] == "linear" else
                 {"name": "matmul", "input": f"{m}x{k}, {k}x{n}"})
        out.setdefault((r["gpu"], r["op"]), []).append(
            layer(batch=r["batch"], seconds=f"{float(r['time_ms']) * 1e-3:.9g}", **shape))
    for r in exam.read(folder, NAME, "op_vector.csv.gz") or []:
        if r["op"] not in VECTOR:
            continue
        name, inputs = VECTOR[r["op"]]
        out.setdefault((r["gpu"], r["op"]), []).append(
            layer(name=name, input=", ".join([r["cols"]] * inputs), batch=r["rows"],
                  seconds=f"{float(r['time_ms']) * 1e-3:.9g}"))
    return {key: random.Random(SEED).sample(rows, min(MOST, len(rows))) for key, rows in out.items()}


def model_file(exam, network, sequence):
    """Our model with the sizes of the paper's, as a file."""
    base, arguments = NETWORKS[network]
    path = os.path.join(exam.work, f"{network}-{sequence}.ini")
    with open(path, "w") as out:
        out.write(f"[network]\nname = {network}\nbase = {base}\n\n[arguments]\nsequence = {sequence}\nattention = plain\n"
                  f"{arguments}\n")
    return path


def labels(exam, folder):
    """Whole networks of one device, eager, whose labels agree with the sum of their operators."""
    out = {}
    for r in exam.read(folder, NAME, "network_e2e.csv") or []:
        if r["option"] or r["suspect"] or r["network"] not in NETWORKS or r["n_gpus"] != "1":
            continue
        row = {"kind": "network", "name": model_file(exam, r["network"], r["seq_len"]), "input": r["seq_len"],
               "batch": r["batch"], "dtype": "f32", "group": r["phase"]}
        for phase in "forward", "backward":
            if r[phase + "_ms"]:
                out.setdefault(r["gpu"], []).append({**row, "phase": phase,
                                                     "seconds": f"{float(r[phase + '_ms']) * 1e-3:.9g}"})
    return out


def single(exam, rows, other):
    """Each class of operators on each device: what is held out, or three parts at random."""
    def of_class(source):
        out = {}
        for (gpu, op), found in source.items():
            out.setdefault((gpu, CLASSES.get(op, "elementwise")), []).extend(found)
        return out

    known, asked = of_class(rows), of_class(other if exam.heldout else rows)

    def one(key):
        group, train = asked[key], known.get(key)
        name = f"{NAME}-{key[1]}-{key[0]}".replace(" ", "-")
        if exam.heldout and train:
            return exam.unseen(name, train, group)
        return exam.program.validate(exam.write(name + ".csv", group), leave_out="kfold=3")

    split = "held out" if exam.heldout else "three parts"
    for (gpu, what), found in zip(asked, exam.map(one, asked)):
        exam.errors(NAME, f"{what}, {split}", found, "forward", group=gpu)


def whole(exam, rows, other):
    """Networks by fits to their device's operators alone."""
    tests = labels(exam, exam.heldout or exam.data)
    trains = {gpu: [r for source in (rows, other) for k, found in source.items() if k[0] == gpu for r in found]
              for gpu in tests}
    for gpu in [g for g in tests if not trains[g]]:
        exam.skip(f"{NAME}: whole networks of {gpu}: no operators of it")
    gpus = [g for g in tests if trains[g]]
    found = dict(zip(gpus, exam.map(lambda g: exam.unseen(f"{NAME}-networks-{g}", trains[g], tests[g]), gpus)))
    for phase, published in PUBLISHED.items():
        for quantity in ("forward", "backward") if phase == "training" else ("forward",):
            for question, chosen, target in (("A100, V100, H100", [g for g in gpus if g.startswith(STEADY)], TARGET),
                                             ("all devices", gpus, TARGET_ALL)):
                for model in MODELS:
                    errors = [e[phase, quantity, model] for e in (found[g] for g in chosen) if (phase, quantity, model) in e]
                    points = sum(int(e["points"]) for e in errors)
                    if points:
                        if question == "all devices":
                            exam.coverage(NAME, f"whole networks from own operators, {phase}, {quantity}: {question}", "all",
                                          model, errors)
                        value = sum(int(e["points"]) * float(e["mape_percent"]) for e in errors) / points
                        exam.results.add(NAME, f"whole networks from own operators, {phase}, {quantity}: {question}", "all",
                                         points, model, "MAPE %", value, target,
                                         published if question == "all devices" else None)


def run(exam):
    rows, other = operators(exam, exam.data), operators(exam, exam.heldout)
    if not rows and not other:
        return exam.skip(f"{NAME}: no operators")
    single(exam, rows, other)
    whole(exam, rows, other)
