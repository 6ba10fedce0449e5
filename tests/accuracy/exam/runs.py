"""Runs on several GPUs as `layermeter learn` reads them, and the devices they were on."""
import csv
import math

GROUP, ROW, UNSEEN, GPU = "model left out", "random rows", "held out", "GPU by its datasheet alone"
STACKING = "stacking"
METHODS = ("layermeter", STACKING, "pair-ratio")
LEFT_OUT = []  # each GPU that was left out, of all questions so far


def write_devices(path, gpus):
    """A file of devices: `gpus` maps names to figures by their keys, as text with units."""
    with open(path, "w") as out:
        for name, figures in gpus.items():
            out.write(f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in figures.items()) + "\n")
    return path


def write_runs(path, rows):
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def add(exam, dataset, question, found, method, target, published=None, judged="layermeter"):
    """Figures of one method: each group, all, coverage of all."""
    for r in found:
        if r["method"] != method or not r["mape_percent"]:
            continue
        everything = r["group"] == "(all)"
        exam.results.add(dataset, question, "all" if everything else r["group"], int(r["points"]), method, "MAPE %",
                         float(r["mape_percent"]), target if everything else None, published if everything else None,
                         **({} if judged == "layermeter" else {"judged": judged}))
        # intervals are of a group that nobody saw: where others of its rows were learned from they are too wide
        if everything and method == "layermeter" and not question.endswith((ROW, GPU)):
            exam.coverage(dataset, question, "all", method, [r])


def examine(exam, dataset, name, rows, other, devices, targets, published=(None, None), stacked=(GROUP, ROW, UNSEEN)):
    """Errors with each model left out, then random rows; of held-out runs instead where there are such. Targets and published
    figures stand in the order of the two questions. Stacking takes long: it answers those of `stacked` alone."""
    if other and not rows:
        rows, other = other, []
    path = write_runs(exam.path(f"{dataset}-{name}.csv"), rows)
    if other:
        test = write_runs(exam.path(f"{dataset}-{name}-test.csv"), other)
        asked = [(UNSEEN, ("--test", test), targets[0], published[0])]
    else:
        asked = [(GROUP, ("--leave-out", "group"), targets[0], published[0]), (ROW, ("--leave-out", "row"), targets[1], published[1])]
    jobs = [(q, m) for q in asked for m in METHODS if m != STACKING or q[0] in stacked]
    def learn(method, *options):
        return exam.attempt(f"{dataset}: {name}, {method}", exam.program.table, "learn", path, "--devices", devices, "--method", method,
                            *options)

    found = exam.map(lambda j: learn(j[1], *j[0][1]), jobs)
    for ((question, _, target, paper), method), table in zip(jobs, found):
        add(exam, dataset, f"{name}, {question}", table or [], method, target, paper)
    if other and not any(found):
        return examine(exam, dataset, name, other, [], devices, targets, published, stacked)
    if not other and not exam.quick:
        table = learn("layermeter", "--leave-out", "gpu") or []
        add(exam, dataset, f"{name}, {GPU}", table, "layermeter", None)
        LEFT_OUT.extend(r for r in table if r["group"] != "(all)")
    return None


def judge_gpus(exam, dataset):
    """Coverage of GPUs that nothing was learned from. All runs on one of them are off alike: it is one draw, and four of them can
    show little but 75 or 100 %. So those of all questions are judged together, each with the same weight."""
    if LEFT_OUT:
        exam.coverage(dataset, f"{len(LEFT_OUT)} GPUs by their datasheets alone", "all", "layermeter",
                      [{**r, "points": 1} for r in LEFT_OUT])
