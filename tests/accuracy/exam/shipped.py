"""Machine files as they ship, made of half of the networks behind each and asked about the other half; and devices that are carried
over by datasheets alone, asked about all that was measured on them. Nodes of many devices, of which no time was fitted, too."""
import os
import statistics

from recipes import RECIPES, Carried
from results import COVERAGE
from sources import Data, Missing

NAME = "shipped"
TARGETS = {"inference": 12.0, "step": 15.0}
UNSEEN = {"inference": 20.0, "step": None}  # devices by datasheets alone
PHASES = {"inference": "inference", "step": "training step"}


def halves(exam, rows):
    """Rows of a half of the networks at random, and of the other half."""
    of = [r.get("group") or r["name"] for r in rows]
    names = sorted(set(of))
    exam.draw(1).shuffle(names)
    first = set(names[:(len(names) + 1) // 2])
    return [r for r, name in zip(rows, of) if name in first], [r for r, name in zip(rows, of) if name not in first]


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


def by_rate(exam, machine, name, times):
    """Errors in percent on a cluster of which its nominal rate is told, and how many are inside the bounds."""
    errors, inside = [], []
    for nodes, devices in sorted({key[1:] for key in times}):
        sizes = sorted(size for size, n, g in times if (n, g) == (nodes, devices))
        for r in exam.program.table("allreduce", machine, "--interconnect", name, "--nodes", str(nodes), "--devices-per-node",
                                    str(devices), "--bytes", ",".join(map(str, sizes))):
            true = 1e3 * times[int(r["bytes"]), nodes, devices]
            errors.append(100 * abs(float(r["ms"]) - true) / true)
            inside.append(float(r["low_ms"]) <= true <= float(r["high_ms"]))
    return errors, inside


def interconnects(exam, machine):
    from links import RATES, times
    rows = exam.read(exam.heldout or exam.data, "allreduce_public", "allreduce.csv") or []
    # the constants of nominal rates (core/fabric/collective.h) are of these clusters together
    measured = {c: found for c, name in RATES.items() if not name.startswith("+") and (found := times(rows, c))}
    found = exam.each(NAME, lambda c: by_rate(exam, machine, RATES[c], measured[c]), list(measured))
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
    """By what ships, with the network within a node that is its device's; each device has the same weight."""
    errors, inside = {}, {}

    def ask(key, seconds):
        r = exam.program.table("predict", "resnet50", "--device", key[0], "--devices-per-node", key[1], "--batch", key[2])[0]
        errors.setdefault(key[0], []).append(100 * abs(float(r["step_ms"]) / 1e3 - seconds) / seconds)
        inside.setdefault(key[0], []).append(float(r["step_low_ms"]) <= seconds * 1e3 <= float(r["step_high_ms"]))

    for key, seconds in node_steps(exam).items():
        exam.attempt(f"{NAME}: {key[0]}", ask, key, seconds)
    if errors:
        question, n = f"a node as MLPerf's submitters tune it, ResNet-50: {len(errors)} devices", sum(map(len, errors.values()))
        middle, held = (statistics.mean(map(of, found.values())) for of, found in ((statistics.median, errors), (statistics.mean, inside)))
        exam.results.add(NAME, question, "all", n, "layermeter", "median %", middle)
        exam.results.add(NAME, question, "all", n, "layermeter", COVERAGE, abs(100 * held - 90))


def run(exam):
    other = Data(exam.heldout, exam.program.path) if exam.heldout else None
    half = exam.builder(f"{NAME}-half", without=(lambda rows, name: rows) if other else lambda rows, name: halves(exam, rows)[0])

    def scored(name):
        """What a half does not see; what is held out, where anything is."""
        try:
            if not other:
                return halves(exam, half.rows(name))[1]
            return [row for source in RECIPES[name].sources for row in source.rows(other)]
        except Missing:
            return []

    def one(name):
        rows = scored(name)
        return asked(exam, name, rows, half.make(name)) if rows else None

    try:
        names = [n for n, r in RECIPES.items() if r.sources and half.rows(n)]
    except Missing as e:
        return exam.skip(f"{NAME}: {e}")
    how = "held out" if other else "half of its networks left out"
    # one after the other: files are made of files
    say(exam, how, {n: e for n in names if (e := exam.attempt(f"{NAME}: {n}", one, n))}, TARGETS)
    if exam.quick:
        return None
    alone = exam.builder(f"{NAME}-alone", corrected=False)

    def unseen(name):
        return asked(exam, name + "-alone", alone.rows(name), alone.make(name))

    carried = [n for n in names if isinstance(RECIPES[n], Carried)]
    say(exam, "device by datasheets alone", {n: e for n in carried if (e := exam.attempt(f"{NAME}: {n}", unseen, n))}, UNSEEN)
    interconnects(exam, alone.path("rtx-3090-amp"))
    nodes(exam)
    return None
