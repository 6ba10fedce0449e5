"""What another clock makes of power and energy: an A30 measured at its usual clock, asked about 900 MHz (Nicolai 2025).

Given are what the board draws at rest, its limit (the datasheet's) and the knee of its voltage. The knee is found on the points at
900 MHz themselves, each by the others alone. The figure behind these points names only a layer's kind and input: of the operations
of that kind and input the one that takes most nearly as long stands for it. One was never measured at the usual clock; what it
draws is told by the model alone.

And which operations take longer at a lower clock: those of an RTX 2080 Ti that were measured at its usual clock and at one that
nobody noted, which is found on nine parts of ten, by inputs, and asked of the tenth.
"""
import collections
import math
import statistics
import zlib

import nicolai2025
from nicolai2025 import LAYERS, operation

NAME = "nicolai_clock"
SOURCE = "nicolai2025"
IDLE = "30W"
CLOCKS = (210, 300, 600, 900, 1200, 1440)  # of the thesis's grid
KNEES = range(900, 1441, 60)
TARGET = 15.0
ALL = "A30 TF32"
RUN = "94f8ef7"  # the second pass of February 2025
# what the other device draws at rest, and its knee, matter to its times by its limit alone
OTHER, OTHER_IDLE, OTHER_KNEE, OTHER_CLOCKS, PARTS = "RTX 2080 Ti", "20W", "1000MHz", range(900, 1546, 15), 10
USUAL_RUN, LOWER_RUN = "RTX2080TI_operations_bench_run@29cc4b7", "finalbench_all_operations_RTX2080TI@63b2061"


def training(exam, folder):
    """Operations with tensor cores at the usual clock: forward and backward."""
    rows = exam.read(folder, SOURCE, "operations.csv.gz") or []
    return [r for r in rows if r["gpu"] == "a30" and r["tensor_cores"] == "1" and r["run"].endswith(RUN) and r["op"] in LAYERS
            and r["phase"] == "training"]


def stand_in(point, like):
    """A convolution that was not measured: of its input, 1x1, keeping the channels."""
    channels = point["in_shape"].split("x")[1]
    return dict(like, op="Conv2d", in_shape=point["in_shape"], out_channels=channels, kernel_h="1", kernel_w="1", stride_h="1",
                stride_w="1", padding_h="0", padding_w="0", groups="1", bias="1", op_params="")


def candidates(point, rows):
    same = {r["op_params"]: r for r in rows if r["op"] == point["op"] and r["in_shape"] == point["in_shape"]}
    return list(same.values())


def questions(points, rows):
    """Rows at 900 MHz as each candidate has them, and the candidates at the usual clock."""
    asked, known = [], []
    for point in points:
        at = dict(time_s=point["time_s"], power_w=point["power_w"], clock_mhz=point["clock_mhz"])
        those = candidates(point, rows)
        for r in those or [stand_in(point, rows[0])]:
            o = operation(dict(r, **at))
            asked.append((point, dict(o, settings=f"{o['settings']} clock={point['clock_mhz']}")))
        known += [operation(r) for r in those]
    return asked, known


def answers(exam, machine, asked, known):
    """Of each point the candidate that takes most nearly as long: errors by quantity, in percent."""
    path = exam.write("clock-900.csv", [o for _, o in asked] + known)
    found = exam.program.table("validate", path, "--machine", machine, "--phase", "clocks", "--points")
    best = collections.OrderedDict()
    for (point, _), row in zip(asked, found):
        by = "carried" if row["carried_power_w"] else "layermeter"
        errors = {q: float(row[f"{by}_{q}_error_percent"]) for q in ("power", "energy", "time")}
        key = point["op"], point["in_shape"]
        if key not in best or abs(errors["time"]) < abs(best[key]["time"]):
            best[key] = errors
    return list(best.values())


def fit(exam, rows, knee, *models):
    machine = exam.path(f"clock-{knee}.ini")
    observations = exam.write("clock-fit.csv", rows, [("device", "A30")])
    exam.program.fit(observations, machine, ["--idle-power", IDLE, "--voltage-knee", f"{knee}MHz", *models])
    return machine


def best_knee(by_knee, without):
    """The knee that leaves least of all points but one."""
    def loss(knee):
        return statistics.mean(e["power"] ** 2 for i, e in enumerate(by_knee[knee]) if i != without)
    return min(by_knee, key=loss)


def points_at_900(exam, rows, folder):
    points = exam.read(folder, SOURCE, "clock900_figure.csv")
    # what stands for a point may have been learned from: its clock was not
    asked, known = questions(points, [r for f in dict.fromkeys((exam.data, folder)) for r in training(exam, f)])
    by_knee = {knee: answers(exam, fit(exam, rows, knee), asked, known) for knee in KNEES}
    n = len(next(iter(by_knee.values())))
    chosen = [best_knee(by_knee, i) for i in range(n)]
    for what, target in ("power", TARGET), ("energy", TARGET), ("time", None):
        errors = [abs(by_knee[chosen[i]][i][what]) for i in range(n)]
        exam.results.add(NAME, f"operations at 900 MHz, {what}", "all", n, "layermeter", "MAPE %", statistics.mean(errors), target)
        exam.results.add(NAME, f"operations at 900 MHz, {what}", "worst", n, "layermeter", "MAPE %", max(errors), target)
    return best_knee(by_knee, None), chosen


def what(r):
    """Of a layer that observations can tell from others."""
    o = operation(r)
    return tuple(o[k] for k in ("name", "geometry", "input", "batch", "phase"))


def at_both_clocks(exam, folder):
    """All operations at the usual clock, and those that were measured at the other, with what they take there."""
    rows = [r for r in exam.read(folder, SOURCE, "operations.csv.gz") or [] if r["op"] in LAYERS]
    usual, lower = {}, collections.defaultdict(list)
    for r in rows:
        if r["run"] == USUAL_RUN:
            usual.setdefault(what(r), r)
        elif r["run"] == LOWER_RUN:
            lower[what(r)].append(float(r["time_s"]))
    return [r for r in rows if r["run"] == USUAL_RUN], [(r, statistics.median(lower[key])) for key, r in usual.items() if lower[key]]


def times_at(exam, machine, pairs, clock):
    """Relative errors of the times at the other clock, if it were this one, each beside the part that its input is of."""
    known = [operation(r) for r, _ in pairs]
    asked = [dict(o, settings=f"{o['settings']} clock={clock}", clock_mhz=str(clock), seconds=f"{seconds:.9g}")
             for o, (_, seconds) in zip(known, pairs)]
    found = exam.program.table("validate", exam.write(f"clock-lower-{clock}.csv", asked + known), "--machine", machine, "--phase",
                               "clocks", "--points")
    return [(zlib.crc32(row["input"].encode()) % PARTS, abs(float(row["carried_time_error_percent"]))) for row in found
            if row["carried_time_error_percent"]]


def lower_clock(exam, folder):
    rows, pairs = at_both_clocks(exam, folder)
    if not pairs:
        return
    machine = exam.path("clock-lower.ini")
    exam.program.fit(exam.write("clock-lower-fit.csv", [operation(r) for r in rows], [("device", OTHER)]), machine,
                     ["--idle-power", OTHER_IDLE, "--voltage-knee", OTHER_KNEE])
    by_clock = dict(zip(OTHER_CLOCKS, exam.map(lambda c: times_at(exam, machine, pairs, c), OTHER_CLOCKS)))
    errors = []
    for k in range(PARTS):
        clock = min(by_clock, key=lambda c: sum(e for part, e in by_clock[c] if part != k))
        errors += [e for part, e in by_clock[clock] if part == k]
    same = statistics.mean(abs(float(r["time_s"]) / seconds - 1) for r, seconds in pairs)
    exam.results.add(NAME, "operations at a lower clock, time", OTHER, len(errors), "layermeter", "MAPE %", statistics.mean(errors),
                     100 * same)


def held(o, clock):
    return dict(o, settings=f"{o['settings'].split(' clock=')[0]} clock={clock}", clock_mhz="")


def say_forest(exam, points, found):
    """Errors of a forest that learned nothing at 900 MHz. The author's, which his figure has, learned other operations at this clock."""
    for what in "time", "power", "energy":
        column = f"{what}_{'s' if what == 'time' else 'w' if what == 'power' else 'j'}"
        theirs = [abs(float(p[f"thesis_forest_{column}"]) / float(p[column]) - 1) for p in points]
        exam.results.add(NAME, f"operations at 900 MHz, {what}", "all", len(found), "nicolai", "MAPE %",
                         statistics.mean(e[what] for e in found), None, 100 * statistics.mean(theirs))


def by_group(table):
    """Errors of each group of one model in percent, by quantity."""
    found = collections.defaultdict(dict)
    for r in table:
        if r["mape_percent"]:
            found[r["group"]][r["phase"].replace("step", "").strip() or "time"] = float(r["mape_percent"])
    return found


def forests(exam, rows, folder, chosen):
    """Forests asked about the points at 900 MHz: one that learned the usual clock alone, whose answer the power model carries over, by
    the knee of the other points; and one over both clocks, the usual one taken as held at 1440 MHz, each point a part at random."""
    points = exam.read(folder, SOURCE, "clock900_figure.csv")
    asked, _ = questions(points, [r for f in dict.fromkeys((exam.data, folder)) for r in training(exam, f)])
    usual = [dict(held(o, CLOCKS[-1]), group="usual") for o in rows]
    those = [dict(held(o, 900), group=str(i)) for i, (_, o) in enumerate(asked)]
    path = exam.write("clock-forest.csv", those)
    learn = ("--model", "nicolai", *nicolai2025.FORESTS)
    by_knee = {knee: by_group(exam.program.table("validate", path, "--machine", fit(exam, rows, knee, *learn), "--model", "nicolai",
                                                 "--power")) for knee in set(chosen)}
    place = {(p["op"], p["in_shape"]): i for i, p in enumerate(points)}
    best = {}
    for i, (point, _) in enumerate(asked):
        key = point["op"], point["in_shape"]
        found = by_knee[chosen[place[key]]]
        if str(i) in found and (key not in best or found[str(i)]["time"] < found[str(best[key])]["time"]):
            best[key] = i
    say_forest(exam, points, [by_knee[chosen[place[key]]][str(i)] for key, i in best.items()])
    both = usual + [dict(those[i], group="900") for i in best.values()]
    found = by_group(exam.program.table("validate", exam.write("clock-both.csv", both), "--leave-out", "kfold=10", "--seed",
                                        str(1 + exam.seed), "--power", *learn))
    exam.results.add(NAME, "operations at both clocks, random rows: time", "900 MHz", len(best), "nicolai", "MAPE %", found["900"]["time"])
    for what in "time", "power", "energy":
        exam.results.add(NAME, f"operations at both clocks, random rows: {what}", "all", len(both), "nicolai", "MAPE %",
                         found["(all)"][what])


def networks(exam):
    """Networks whose training the thesis measured, as they are found here, and their batches."""
    rows = exam.read(exam.data, SOURCE, "networks.csv") or exam.read(exam.heldout, SOURCE, "networks.csv") or []
    found = {}
    for r in rows:
        if r["gpu"] == "a30" and r["tensor_cores"] == "1" and r["phase"] == "training":
            batch, shape = r["in_shape"].split("x", 1)
            name = exam.network(SOURCE, r["model"], shape)
            if name:
                found[name, shape] = batch
    return [(name, shape, batch) for (name, shape), batch in found.items()]


def best_clocks(exam, machine, group):
    """The clocks of the grid at which all networks together need least energy, and least energy times time."""
    costs = {"energy": collections.defaultdict(list), "EDP": collections.defaultdict(list)}
    nets = networks(exam)
    if not nets:
        exam.skip(f"{NAME}: no networks whose best clocks were measured")
        return
    for name, shape, batch in nets:
        rows = exam.program.table("energy", name, "--machine", machine, "--input", shape, "--batch", batch, "--optimizer", "sgd",
                                  "--clocks", ",".join(map(str, CLOCKS)))
        for row in rows[1:]:  # behind that of the usual clock
            costs["energy"][float(row["held_mhz"])].append(float(row["energy_j"]))
            costs["EDP"][float(row["held_mhz"])].append(float(row["edp_js"]))
    for what, measured in ("energy", 900), ("EDP", 1200):
        total = {clock: sum(map(math.log, costs[what][clock])) for clock in costs[what]}
        exam.results.add(NAME, f"clock of least {what}, {len(nets)} networks", group, len(nets), "layermeter", "MHz off",
                         abs(min(total, key=total.get) - measured), 0.0)


def never_measured(exam, knee):
    """Energy of networks of which nothing was measured but such operations, by the command a user has."""
    rows = nicolai2025.operations(exam, exam.data, ALL)
    machine = exam.path("clock-operations.ini")
    exam.program.fit(exam.write("clock-operations.csv", rows, [("device", "A30")]), machine,
                     ["--idle-power", IDLE, "--voltage-knee", f"{knee}MHz"])
    errors = collections.defaultdict(list)
    for r in nicolai2025.networks(exam, exam.heldout or exam.data, ALL):
        step = r["phase"] == "step"
        how = ("--optimizer", "sgd") if step else ("--phase", "inference")
        row = exam.program.table("energy", r["name"], "--machine", machine, "--input", r["input"], "--batch", r["batch"], *how,
                                 "--clocks", str(CLOCKS[-1]))[0]
        errors[r["phase"]].append(float(row["energy_j"]) / (float(r["seconds"]) * float(r["power_w"])) - 1)
    for phase in errors:
        exam.results.add(NAME, f"networks never measured, {phase} energy", ALL, len(errors[phase]), "layermeter", "MAPE %",
                         100 * statistics.mean(map(abs, errors[phase])), None, nicolai2025.THESIS_WHOLE.get(f"{phase} energy"))


def run(exam):
    scored = exam.heldout if exam.read(exam.heldout, SOURCE, "clock900_figure.csv") else exam.data
    exam.attempt(f"{NAME}: a lower clock", lower_clock, exam, scored)
    operations = [operation(r) for r in training(exam, exam.data)]
    if not operations:
        return exam.skip(f"{NAME}: no {SOURCE}")
    if not exam.read(scored, SOURCE, "clock900_figure.csv"):
        return exam.skip(f"{NAME}: no clock900_figure.csv")
    found = exam.attempt(f"{NAME}: 900 MHz", points_at_900, exam, operations, scored)
    if found:
        knee, chosen = found
        exam.attempt(f"{NAME}: networks never measured", never_measured, exam, knee)
        exam.attempt(f"{NAME}: forests", forests, exam, operations, scored, chosen)
        exam.attempt(f"{NAME}: the best clocks", lambda: best_clocks(exam, fit(exam, operations, knee), "all"))
    return None
