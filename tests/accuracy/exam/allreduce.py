"""All-reduces of public clusters: calibrated on few nodes, asked on many; and single sizes and node counts left out."""
import statistics

NAME = "allreduce"
FOLDER = "allreduce_public"
OURS = "layermeter"
MODELS = (OURS, "convmeter", "hockney", "log2", "paleo_one_to_all", "paleo_tree", "paleo_butterfly", "paleo_butterfly_mixing")
SMALL, LARGE = 64 << 10, 1 << 30  # bytes of gradients: what is asked for
FEW = 8  # nodes that are calibrated where more than twice as many are asked for
# of a cluster, or of the one configuration of it that is everybody's: what extrapolation is to reach
TARGETS = {("alps_gh200", "default-env"): 35.0, ("deepbench_m40", ""): 12.0, ("deepbench_titanx_maxwell", ""): 17.0,
           ("deepbench_titanx_pascal", ""): 17.0}
INNER = 22.0
TIMES_CONVMETER = 0.25
PUBLISHED = 15.0


# ---- observations ------------------------------------------------------------------------------------------------------

def algorithm(row):
    """As observations call it: a library's own choice, and the best of several, are the default."""
    own = row["algorithm"] in ("auto", "MPI default") or row["config"].startswith("best of")
    return "default" if own else row["algorithm"]


def campaigns(exam, folder):
    """Rows by cluster, configuration and algorithm; those of different days together."""
    out = {}
    for r in exam.read(folder, FOLDER, "allreduce.csv") or []:
        ranks, size = int(r["ranks"] or 0), int(r["message_bytes"])
        if float(r["n_wrong"] or 0) > 0 or ranks < 2 or not r["nodes"] or not SMALL <= size <= LARGE:
            continue
        config = "" if r["config"].startswith("best of") else r["library"] + " " + r["config"].rsplit(" 20", 1)[0]
        out.setdefault((r["cluster_id"], config, algorithm(r)), []).append(
            {"kind": "collective", "name": "allreduce", "phase": "sync", "bytes": size, "ranks": ranks, "hosts": r["nodes"],
             "algorithm": algorithm(r), "seconds": f"{float(r['time_us']) * 1e-6:.9g}"})
    return out


def nodes(rows):
    return sorted({int(r["hosts"]) for r in rows} - {1})


def deepbench(exam, folder):
    """By system, without the size that is an odd count in the benchmark."""
    out = {}
    for r in exam.read(folder, "deepbench", "all_reduce.csv") or []:
        if r["odd_count_in_benchmark"] == "0":
            out.setdefault(r["system"], []).append(
                {"kind": "collective", "name": "allreduce", "phase": "sync", "bytes": r["message_bytes"], "ranks": r["n_ranks"],
                 "hosts": r["n_nodes"], "algorithm": "default", "seconds": f"{float(r['time_ms']) * 1e-3:.9g}"})
    return out


# ---- running -----------------------------------------------------------------------------------------------------------

def file_name(key):
    return f"{NAME}-" + "".join(c if c.isalnum() else "_" for c in "-".join(key))[:120]


def errors(exam, name, rows, *how):
    """Absolute errors in percent by model, of what was left out and could be predicted; and how many of the rest lie inside
    the stated interval."""
    out, inside = {}, []
    for r in exam.program.table("validate", exam.write(name + ".csv", rows), *how, "--model", ",".join(MODELS), "--points",
                                "--phase", "sync"):
        for m in MODELS:
            if r[f"{m}_error_percent"]:
                out.setdefault(m, []).append(abs(float(r[f"{m}_error_percent"])))
        if r[f"{OURS}_low_ms"]:
            inside.append(float(r[f"{OURS}_low_ms"]) <= float(r["sync_ms"]) <= float(r[f"{OURS}_high_ms"]))
    return out, inside


def add(exam, question, group, found, target=None, median_target=None):
    """MAPE and median of each model; how often ours is inside its interval."""
    for model, values in found[0].items():
        exam.results.add(NAME, question, group, len(values), model, "MAPE %", statistics.mean(values), target)
        exam.results.add(NAME, question, group, len(values), model, "median %", statistics.median(values), median_target)
    if found[1]:
        exam.results.add(NAME, question, group, len(found[1]), OURS, "coverage off 90 %",
                         abs(100 * statistics.mean(found[1]) - 90))


def pool(found):
    """Of several campaigns."""
    together, inside = {}, []
    for by_model, stated in found:
        inside += stated
        for model, values in by_model.items():
            together.setdefault(model, []).extend(values)
    return together, inside


# ---- questions ---------------------------------------------------------------------------------------------------------

def more_nodes(exam, key, rows):
    """Errors on more nodes than were calibrated: on 16 and more by 2 to 8, else on the largest number by those below."""
    counts = nodes(rows)
    if len(counts) > 1 and counts[-1] >= 2 * FEW and len([n for n in counts if n <= FEW]) > 1:
        rows, least = [r for r in rows if int(r["hosts"]) > 1], min(n for n in counts if n > FEW)
    elif len(counts) > 1 and counts[-1] <= FEW:
        least = counts[-1]
    else:
        return None
    ranks = min(int(r["ranks"]) for r in rows if int(r["hosts"]) >= least)
    return errors(exam, file_name(key) + "-more", rows, "--leave-out", f"ranks={ranks}..")


def target_of(key):
    return next((v for (cluster, word), v in TARGETS.items() if cluster == key[0] and word in key[1]), None)


def ask_more_nodes(exam, asked):
    found = {k: e for k, e in exam.each(NAME, lambda k: more_nodes(exam, k, asked[k]), asked).items() if e[0]}
    question = "more nodes than calibrated"
    for key, e in found.items():
        add(exam, question, " ".join(key), e, target_of(key))
        if target_of(key) == TARGETS["alps_gh200", "default-env"]:
            ratio = statistics.mean(e[0][OURS]) / statistics.mean(e[0]["convmeter"])
            exam.results.add(NAME, "more nodes than calibrated, error over convmeter's", " ".join(key), len(e[0][OURS]), OURS,
                             "ratio", ratio, TIMES_CONVMETER)
    if found:
        add(exam, f"{question}: {len(found)} campaigns", "all", pool(found.values()))


def inner(exam, key, rows):
    """Errors on each number of nodes that is neither the smallest nor the largest."""
    rows = [r for r in rows if int(r["hosts"]) > 1]
    counts = nodes(rows)
    if len(counts) < 3 or len({int(r["ranks"]) // int(r["hosts"]) for r in rows}) > 1:
        return None
    found = []
    for n in counts[1:-1]:
        ranks = next(int(r["ranks"]) for r in rows if int(r["hosts"]) == n)
        found.append(errors(exam, f"{file_name(key)}-{n}", rows, "--algorithm", rows[0]["algorithm"], "--leave-out",
                            f"ranks={ranks}..{ranks}"))
    return pool(found)


def ask_inner(exam, asked):
    found = {k: e for k, e in exam.each(NAME, lambda k: inner(exam, k, asked[k]), asked).items() if e[0]}
    for key, e in found.items():
        add(exam, "number of nodes left out, neither smallest nor largest", " ".join(key), e)
    for cluster in sorted({k[0] for k in found}):
        add(exam, "number of nodes left out, neither smallest nor largest", cluster,
            pool(e for k, e in found.items() if k[0] == cluster))
    if found:
        add(exam, f"number of nodes left out, neither smallest nor largest: {len(found)} campaigns", "all",
            pool(found.values()), median_target=INNER)


def ask_deepbench(exam, asked):
    for what, rule in ("size", "bytes"), ("number of ranks", "ranks"):
        found = exam.each(NAME, lambda k: errors(exam, f"{NAME}-deepbench-{k}-{rule}", asked[k], "--leave-out", rule), asked)
        for key, e in found.items():
            add(exam, f"deepbench, {what} left out", key, e)
        for model in MODELS:
            means = [statistics.mean(e[0][model]) for e in found.values() if model in e[0]]
            if means:
                exam.results.add(NAME, f"deepbench, {what} left out: mean over {len(means)} systems", "all",
                                 sum(len(e[0].get(model, ())) for e in found.values()), model, "MAPE %",
                                 statistics.mean(means), PUBLISHED)


def ask_held_out(exam, known, asked):
    """Rows of clusters that were seen, on what was not."""
    def one(key):
        machine = exam.path(file_name(key) + ".ini")
        exam.program.fit(exam.write(file_name(key) + "-fit.csv", known[key], ()), machine, ("--algorithm", key[2]))
        return errors(exam, file_name(key), asked[key], "--algorithm", key[2], "--machine", machine)

    question = "held out rows of known clusters"
    found = {k: e for k, e in exam.each(NAME, one, asked).items() if e[0]}
    for key, e in found.items():
        add(exam, question, " ".join(key), e)
    if found:
        add(exam, f"{question}: {len(found)} campaigns", "all", pool(found.values()))


def run(exam):
    known, other = campaigns(exam, exam.data), campaigns(exam, exam.heldout)
    asked = {k: v for k, v in (other if exam.heldout else known).items() if not exam.heldout or k not in known}
    systems = deepbench(exam, exam.heldout or exam.data)
    if not asked and not systems and not other:
        return exam.skip(f"{NAME}: no {FOLDER}/allreduce.csv")
    if exam.heldout:
        ask_held_out(exam, known, {k: v for k, v in other.items() if k in known})
    ask_more_nodes(exam, asked)
    ask_inner(exam, asked)
    ask_deepbench(exam, systems)
