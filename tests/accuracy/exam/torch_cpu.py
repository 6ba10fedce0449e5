"""PyTorch on one CPU core: evaluation, forward, backward and update of torchvision's ConvNets."""
import statistics

from exam import NEW
from program import MODELS

NAME = "torch_cpu"
# of a step: ConvMeter's own figures are of other machines, so nothing is published on these rows
TARGETS = {"inference": 13.0, "forward": 10.5, "backward": 11.0, "step": 8.0, "grad": 7.5}
WORDS = {"grad": "update"}
WORST_NETWORK = 20.0
TRAINED_ON, FROM_FEW, SEED = 8, 15.0, 1


def observations(exam, folder):
    """The fastest repetition of each phase; a step is the sum of its phases."""
    out = []
    for r in exam.read(folder, NAME, "observations.csv") or []:
        name = exam.network(NAME, r["model"])
        if not name:
            continue
        seconds = {"inference": float(r["inference_min_s"]), "forward": float(r["forward_min_s"]),
                   "backward": float(r["backward_min_s"]), "update": float(r["sgd_momentum_update_min_s"])}
        seconds["step"] = seconds["forward"] + seconds["backward"] + seconds["update"]
        out += [{"kind": "network", "name": name, "phase": phase, "input": f"3x{r['image_px']}x{r['image_px']}",
                 "batch": r["batch"], "seconds": f"{s:.9g}"} for phase, s in seconds.items()]
    return out


def from_few(exam, rows):
    """The step's error on all other networks, by fits to a few: the median over choices of these."""
    networks = sorted({r["name"] for r in rows})
    if len(networks) <= TRAINED_ON:
        return
    choices = [exam.draw(SEED + i).sample(networks, TRAINED_ON) for i in range(4 if exam.quick else 20)]

    def one(numbered):
        i, chosen = numbered
        return exam.unseen(f"{NAME}-few-{i}", [r for r in rows if r["name"] in chosen],
                           [r for r in rows if r["name"] not in chosen])

    found = exam.map(one, enumerate(choices))
    for model in MODELS:
        errors = [f["(all)", "step", model] for f in found]
        exam.results.add(NAME, f"step, fitted to {TRAINED_ON} networks: median of {len(choices)} choices", "all",
                         round(statistics.median(int(e["points"]) for e in errors)), model, "MAPE %",
                         statistics.median(float(e["mape_percent"]) for e in errors), FROM_FEW)


def run(exam):
    rows, other = observations(exam, exam.data), observations(exam, exam.heldout)
    if not (other if exam.heldout else rows):
        return exam.skip(f"{NAME}: {'nothing held out' if rows else 'no observations.csv'}")
    how, found = exam.answer(NAME, rows, other, lambda a, b: exam.unseen(NAME, a, b), lambda r: exam.left_out(NAME, r))
    if not found:
        return
    split = {"": "network left out", NEW: "new rows, network left out"}.get(how, how)
    for quantity, target in TARGETS.items():
        exam.errors(NAME, f"{WORDS.get(quantity, quantity)}, {split}", found, quantity, target)
    exam.worst(NAME, f"step, {split}: worst network", found, "step", WORST_NETWORK)
    if not exam.heldout:
        from_few(exam, rows)
