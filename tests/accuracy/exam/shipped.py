"""Machine files as they ship, made of half of the networks behind each and asked about the other half; and devices that are carried
over by datasheets alone, asked about all that was measured on them. Nodes of many devices, of which no time was fitted, too."""
import os
import statistics

from recipes import RECIPES, Carried
from results import COVERAGE, SCORE
from sources import Data, Missing, Profet, observation

NAME = "shipped"
TARGETS = {"inference": 12.0, "step": 15.0}
UNSEEN = {"inference": 20.0, "step": None}  # devices by datasheets alone
PHASES = {"inference": "inference", "step": "training step"}


DRAWS = 4  # of halves, each half fitted in turn: a draw of five networks covers 64 to 100 %


def halves(exam, rows, draw):
    """Rows of a half of the networks at random, and of the other half; of an odd draw the other way round."""
    of = [r.get("group") or r["name"] for r in rows]
    names = sorted(set(of))
    exam.draw(1 + draw // 2).shuffle(names)
    middle = (len(names) + 1 - draw % 2) // 2
    first = set(names[middle:] if draw % 2 else names[:middle])
    return [r for r, name in zip(rows, of) if name in first], [r for r, name in zip(rows, of) if name not in first]


OF_NETWORKS = "coverage_percent", "score_percent"


def pooled(draws):
    """Errors of several draws as those of one: means over their rows. Of intervals over networks, each with the same weight, as
    intervals weigh them (core/fit/interval.h): runs of a network are off alike."""
    rows, single = {}, {}
    for found in draws:
        for (group, *what), row in found.items():
            if row["mape_percent"]:
                (rows if group == "(all)" else single).setdefault(tuple(what), []).append(row)

    def mean(of, column, weigh):
        told = [(int(r["points"]) if weigh else 1, float(r[column])) for r in of if r.get(column)]
        return sum(n * x for n, x in told) / sum(n for n, _ in told) if told else ""

    return {("(all)", *what): {"points": sum(int(r["points"]) for r in of), "mape_percent": mean(of, "mape_percent", True),
                               **{c: mean(single.get(what, of), c, False) for c in OF_NETWORKS}} for what, of in rows.items()}


def asked(exam, name, rows, machine):
    own = os.path.join(exam.source, "configs", "machines", "build", "networks", "")
    rows = [dict(r, name=r["name"].replace("networks/", own, 1)) for r in rows]
    return exam.program.validate(exam.write(f"{NAME}-{name}.csv", rows), machine, models=("layermeter",))


def say(exam, question, found, targets):
    for phase, what in PHASES.items():
        by = {name: e for name, e in found.items() if any(k[1] == phase for k in e)}
        if by:
            exam.over_settings(NAME, f"{what}, {question}", by, phase, targets[phase], targets[phase])


# ---- interconnects by name ----------------------------------------------------------------------------------------------------

MEDIAN = 35.0
LINKED = {"nvlink2": "v100-sxm2-16gb-amp", "nvlink3": "a100-sxm4-80gb-amp", "nvlink4": "h100-sxm-amp", "nvlink5": "b200-amp"}
CARD = "rtx-3090-amp"  # of PCIe


def by_rate(exam, name, times):
    """Errors in percent on a cluster of which its nominal rate is told, and how many are inside the bounds. A device is asked that has
    the link within a node: others are refused."""
    machine = os.path.join(exam.source, "configs", "machines", LINKED.get(name.split("+")[0], CARD) + ".ini")
    errors, inside = [], []
    for nodes, devices in sorted({key[1:] for key in times}):
        sizes = sorted(size for size, n, g in times if (n, g) == (nodes, devices))
        for r in exam.program.table("allreduce", machine, "--interconnect", name, "--nodes", str(nodes), "--devices-per-node",
                                    str(devices), "--bytes", ",".join(map(str, sizes))):
            true = 1e3 * times[int(r["bytes"]), nodes, devices]
            errors.append(100 * abs(float(r["ms"]) - true) / true)
            inside.append(float(r["low_ms"]) <= true <= float(r["high_ms"]))
    return errors, inside


def interconnects(exam):
    from links import RATES, times
    rows = exam.read(exam.heldout or exam.data, "allreduce_public", "allreduce.csv") or []
    # the constants of nominal rates (core/fabric/collective.h) are of these clusters together
    measured = {c: found for c, name in RATES.items() if not name.startswith("+") and (found := times(rows, c))}
    found = exam.each(NAME, lambda c: by_rate(exam, RATES[c], measured[c]), list(measured))
    question = "all-reduces between nodes by a nominal rate"
    for cluster, (errors, _) in found.items():
        exam.results.add(NAME, question, cluster, len(errors), "layermeter", "median %", statistics.median(errors))
    if found:
        n = sum(len(e) for e, _ in found.values())
        exam.results.add(NAME, f"{question}: median over {len(found)} clusters", "all", n, "layermeter", "median %",
                         statistics.median(statistics.median(e) for e, _ in found.values()), MEDIAN)
        exam.results.add(NAME, f"{question}: {len(found)} clusters, each with the same weight", "all", n, "layermeter", COVERAGE,
                         abs(100 * statistics.mean(statistics.mean(i) for _, i in found.values()) - 90), 5.0)


# ---- one node of devices that were never fitted ------------------------------------------------------------------------------

def node_steps(exam):
    """Seconds of ResNet-50's step on a node, as submitters to MLPerf Training tune it, by device, number of devices and batch."""
    found = {}
    for r in exam.read(exam.heldout or exam.data, "mlperf_training", "groups.csv") or []:
        if r["benchmark"] == "resnet" and r["nodes"] == "1" and r["gpu"] and r["micro_batch"] and float(r["grad_accum"] or 1) == 1:
            found.setdefault((r["gpu"], r["gpus"], r["micro_batch"]), []).append(float(r["step_s"]))
    return {key: statistics.median(times) for key, times in found.items()}


def nodes(exam):
    """By what ships, with the network within a node that is its device's; each device has the same weight. These files are of PyTorch,
    and submitters' tuned MXNet takes about 0.7 of that time on each device. Why is not known: the logs have no times of kernels. With
    the share that the other devices show, what is left is of devices."""
    ratios, inside = {}, {}

    def ask(key, seconds):
        r = exam.program.table("predict", "resnet50", "--device", key[0], "--devices-per-node", key[1], "--batch", key[2])[0]
        ratios.setdefault(key[0], []).append(float(r["step_ms"]) / 1e3 / seconds)
        inside.setdefault(key[0], []).append(float(r["step_low_ms"]) <= seconds * 1e3 <= float(r["step_high_ms"]))

    def error(of, share):
        return statistics.mean(statistics.median(100 * abs(share(device) * r - 1) for r in found) for device, found in of.items())

    def others(device):
        return 1 / statistics.median(statistics.median(found) for name, found in ratios.items() if name != device)

    for key, seconds in node_steps(exam).items():
        exam.attempt(f"{NAME}: {key[0]}", ask, key, seconds)
    if len(ratios) > 1:
        question, n = f"a node as MLPerf's submitters tune it, ResNet-50: {len(ratios)} devices", sum(map(len, ratios.values()))
        exam.results.add(NAME, question, "all", n, "layermeter", "median %", error(ratios, lambda device: 1))
        exam.results.add(NAME, question, "all", n, "layermeter", COVERAGE,
                         abs(100 * statistics.mean(statistics.mean(found) for found in inside.values()) - 90))
        exam.results.add(NAME, f"{question}, with the share of PyTorch's time of the others", "all", n, "layermeter", "median %",
                         error(ratios, others))


def learned(exam, names, other, draw):
    """Errors by file, of a half of its networks that it does not see, or of what is held out."""
    half = exam.builder(f"{NAME}-half{draw}", without=(lambda rows, name: rows) if other else lambda rows, name: halves(exam, rows, draw)[0])

    def scored(name):
        try:
            if not other:
                return halves(exam, half.rows(name), draw)[1]
            return [row for source in RECIPES[name].sources for row in source.rows(other)]
        except Missing:
            return []

    def one(name):
        rows = scored(name)
        return asked(exam, f"{name}-{draw}", rows, half.make(name)) if rows else None

    # one after the other: files are made of files
    return {n: e for n in names if (e := exam.attempt(f"{NAME}: {n}", one, n))}


# ---- devices that were never measured ---------------------------------------------------------------------------------------

FILES = {"v100-sxm2-16gb-f32": "v100", "t4-f32": "t4"}  # of PROFET's GPUs
NEUSIGHT = {"A100 80GB PCIe": "a100_pcie_80gb", "H100 80GB HBM3": "h100_sxm5_80gb", "Tesla V100-PCIE-32GB": "v100_pcie_32gb", "MI210": "mi210"}
CAMPAIGN = {"resnet50": "resnet50", "resnet152": "resnet152", "vgg16": "vgg16", "alexnet": "alexnet", "inception3": "inception_v3"}


def campaign(exam, *clusters):
    """Training steps on one GPU in f32, of networks that ship."""
    for r in exam.read(exam.data, "allreduce_public", "scaling.csv") or []:
        if r["cluster_id"] in clusters and (r["gpus"], r["precision"]) == ("1", "fp32") and r["model"] in CAMPAIGN and r["batch_per_gpu"]:
            px = 299 if r["model"] == "inception3" else 224
            yield observation(CAMPAIGN[r["model"]], "step", f"3x{px}x{px}", r["batch_per_gpu"], float(r["step_time_s"]), "layout=nhwc")


def nicolai(exam, gpu):
    """Training steps in f32, without TF32."""
    for r in exam.read(exam.data, "nicolai2025", "networks.csv") or []:
        if (r["gpu"], r["phase"], r["method"], r["tensor_cores"]) == (gpu, "training", "timer", "0"):
            batch, shape = r["in_shape"].split("x", 1)
            yield {**observation(r["model"], "step", shape, batch, float(r["time_s"]), "layout=nchw"), "optimizer": "sgd"}


def neusight(exam, gpu):
    """Forward and backward passes in f32, without TF32 and without an update."""
    for r in exam.read(exam.data, "neusight2025", "network_e2e.csv") or []:
        if (r["gpu"], r["phase"], r["option"], r["suspect"]) == (gpu, "training", "", "") and r["network"] in ("bert_large", "gpt2_large"):
            yield {**observation(r["network"], "step", r["seq_len"], r["batch"], float(r["e2e_ms"]) * 1e-3, "layout=nchw"), "optimizer": "sgd"}


def never_measured(exam, data):
    """Training steps in f32 by device, source by source; no file is of them, or that of the device is left out."""
    return {"Tesla K80": [Profet("k80").rows(data), campaign(exam, "gavel_k80"), campaign(exam, "tf_ec2_p2_8xlarge")],
            "Tesla M60": [Profet("m60").rows(data)], "Tesla T4": [Profet("t4").rows(data)], "Tesla V100-SXM2-16GB": [Profet("v100").rows(data)],
            "Tesla P100-PCIE-16GB": [campaign(exam, "gavel_p100")], "Tesla P100-SXM2-16GB": [campaign(exam, "tf_dgx1_p100")],
            "A30": [nicolai(exam, "a30")], "GeForce RTX 2080 Ti": [nicolai(exam, "rtx2080ti")],
            **{device: [neusight(exam, gpu)] for device, gpu in NEUSIGHT.items()}}


def by_datasheet(exam, builder, device, sources):
    """Errors of a file carried over from all measured ones but the device's own."""
    of = [n for n in FILES if RECIPES[n].device != device]
    word = device.replace(" ", "-")
    machine = exam.path(f"{NAME}-{word}.ini")
    builder.run(exam.work, "transfer", *map(builder.path, of), "--from", ",".join(RECIPES[n].device for n in of), "--to", device, "-o", machine)
    return pooled([asked(exam, f"{word}-{i}", rows, machine) for i, rows in enumerate(map(list, sources)) if rows])


def tell_devices(exam, found):
    """All steps on a device are off alike: a device is one draw, and all have the same weight."""
    question = f"training step, {len(found)} devices by datasheets alone"
    rows = {device: e["(all)", "step", "layermeter"] for device, e in found.items()}
    for device, r in rows.items():
        exam.results.add(NAME, question, device, int(r["points"]), "layermeter", "MAPE %", float(r["mape_percent"]))
    n = sum(int(r["points"]) for r in rows.values())
    for metric, column in ("MAPE %", "mape_percent"), (SCORE, "score_percent"):
        exam.results.add(NAME, question, "all", n, "layermeter", metric, statistics.mean(float(r[column]) for r in rows.values()))
    exam.results.add(NAME, question, "all", n, "layermeter", COVERAGE,
                     abs(statistics.mean(float(r["coverage_percent"]) for r in rows.values()) - 90), 5.0)


def unseen(exam, names):
    """Inference and training on devices by datasheets alone."""
    alone = exam.builder(f"{NAME}-alone", corrected=False)
    carried = [n for n in names if isinstance(RECIPES[n], Carried)]
    errors = {n: e for n in carried if (e := exam.attempt(f"{NAME}: {n}", lambda n: asked(exam, n + "-alone", alone.rows(n), alone.make(n)), n))}
    say(exam, "device by datasheets alone", {n: {k: v for k, v in e.items() if k[1] == "inference"} for n, e in errors.items()}, UNSEEN)
    steps = {RECIPES[n].device + ", 16 bit": e for n, e in errors.items() if ("(all)", "step", "layermeter") in e}
    for n in FILES:
        alone.make(n)
    for device, sources in never_measured(exam, alone.data).items():
        e = exam.attempt(f"{NAME}: {device}", by_datasheet, exam, alone, device, sources)
        if e and ("(all)", "step", "layermeter") in e:
            steps[device] = e
    if steps:
        tell_devices(exam, steps)


def run(exam):
    other = Data(exam.heldout, exam.program.path) if exam.heldout else None
    try:
        names = [n for n, r in RECIPES.items() if r.sources and exam.builder(f"{NAME}-all").rows(n)]
    except Missing as e:
        return exam.skip(f"{NAME}: {e}")
    how = "held out" if other else f"half of its networks left out, {2 * DRAWS} times"
    draws = exam.map(lambda draw: learned(exam, names, other, draw), range(1 if other or exam.quick else 2 * DRAWS))
    say(exam, how, {n: pooled([d[n] for d in draws if n in d]) for n in names if any(n in d for d in draws)}, TARGETS)
    if exam.quick:
        return None
    unseen(exam, names)
    interconnects(exam)
    nodes(exam)
    return None
