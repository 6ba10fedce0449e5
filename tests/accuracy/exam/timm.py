"""timm's published step times: ConvNets whose layers we know, and all models by their counts alone."""
import random
import statistics

from exam import NEW

NAME = "timm"
TARGETS = {"inference, GPUs": (8.0, 12.0), "inference, CPU": (15.0, None), "train step": (9.0, None)}
DTYPES = {"fp32": ("f32", ""), "bf16": ("bf16", ""), "amp": ("f32", "amp=f16 "), "amp_bf16": ("f32", "amp=bf16 ")}
DATASHEETS = {"rtx3090": "GeForce RTX 3090", "rtx4090": "GeForce RTX 4090",
              "pro6000maxq": "RTX PRO 6000 Blackwell Max-Q Workstation Edition"}
FEW, DRAWS = 5, 8  # networks that correct a transfer, and how often they are drawn, by seeds 0, 1 ...
FEWEST = 4  # networks of a setting, below which leaving one out says nothing


def setting_of(r):
    return tuple(r[k] for k in ("device", "phase", "dtype", "layout", "torch", "compiled"))


def topic(setting):
    if setting[1] == "train_step":
        return "train step"
    return "inference, CPU" if setting[0].startswith("cpu") else "inference, GPUs"


def common(r):
    """What a row of timm is in any case."""
    dtype, amp = DTYPES[r["dtype"]]
    return {"phase": "inference" if r["phase"] == "inference" else "step", "input": f"3x{r['image_px']}x{r['image_px']}",
            "batch": int(float(r["batch"])), "dtype": dtype, "seconds": f"{float(r['step_time_ms']) * 1e-3:.9g}",
            "settings": f"{amp}compile={'yes' if r['compiled'] == '1' else 'no'} layout={r['layout']}"}


def by_setting(rows, convert):
    out = {}
    for r in rows:
        row = convert(r)
        if row:
            out.setdefault(setting_of(r), []).append(row)
    return out


def known_networks(exam, folder):
    """Rows of networks that torchvision has as well, by setting."""
    names = {r["model"]: r["torchvision_network"] for f in (exam.data, folder)
             for r in exam.read(f, NAME, "torchvision_names.csv") or []}

    def convert(r):
        name = r["model"] in names and exam.network(NAME, names[r["model"]])
        return name and {"kind": "network", "name": name, **common(r)}

    return by_setting(exam.read(folder, NAME, "networks.csv.gz") or [], convert)


def counted(exam, folder):
    """All rows, by setting, as counts of a sample. Rows without counts take those of the same model at the nearest image,
    which grow with its area."""
    rows = exam.read(folder, NAME, "networks.csv.gz") or []
    counts = {}
    for r in rows + (exam.read(exam.data, NAME, "networks.csv.gz") or [] if folder != exam.data else []):
        if r["gmacs_per_image"]:
            counts.setdefault(r["model"], []).append(r)

    def convert(r):
        px = int(r["image_px"])
        c = r if r["gmacs_per_image"] else min(counts.get(r["model"], []), key=lambda c: abs(int(c["image_px"]) - px),
                                               default=None)
        if c is None:
            return None
        area = (px / int(c["image_px"])) ** 2
        # two decimals of 10^9 and 10^6: half a unit of the last is what a zero may be
        macs = max(float(c["gmacs_per_image"]), 0.005) * 1e9 * area
        outputs = max(float(c["mactivations_per_image"]), 0.005) * 1e6 * area
        geometry = f"macs={macs:.9g} outputs={outputs:.9g} params={float(c['params_millions']) * 1e6:.9g}"
        return {"kind": "counts", "name": r["model"], "group": r["family"], "geometry": geometry, **common(r)}

    return by_setting(rows, convert)


def label(setting):
    return " ".join(setting[:1] + setting[2:5]) + (" compiled" if setting[5] == "1" else "")


def examine(exam, what, rows, other, key):
    """Errors by setting: of all with each group left out in turn; where something is held out, of that, by a fit to the
    rest, or within it where its setting is new."""
    def enough(some):
        # of few networks none can be predicted by the others
        return len({r[key] for r in some}) >= FEWEST

    def one(setting):
        name = f"{NAME}-{what}-{'-'.join(setting)}"
        return exam.answer(f"{NAME}: {label(setting)}", rows.get(setting), other.get(setting), lambda a, b: exam.unseen(name, a, b),
                           lambda r: exam.left_out(name, r) if enough(r) else None)

    source = other if exam.heldout else rows
    settings = [s for s in source if (exam.heldout and s in rows) or enough(source[s])]
    if exam.quick:
        settings = settings[::4]
    return dict(zip(settings, exam.map(one, settings)))


def by_topic(found, left_out):
    """Settings that are asked the same, together."""
    out = {}
    for setting, (how, errors) in found.items():
        if errors:
            split = {"": left_out, NEW: f"new setting, {left_out}"}.get(how, how)
            out.setdefault((topic(setting), split), {})[label(setting)] = errors
    return out


def transferred(exam, source, rows, target, other):
    """MAPE in % on a device that was not measured, by its datasheet alone and with FEW networks measured on it, the mean over
    DRAWS of the error on the others."""
    name = f"{NAME}-transfer-{'-'.join(target)}-from-{source[0]}"
    machine = exam.path(name + "-source.ini")
    exam.program.fit(exam.write(name + "-source.csv", rows), machine)

    def errors(part, test, *options):
        new = exam.path(f"{name}-{part}.ini")
        exam.program.run("transfer", machine, "--from", DATASHEETS[source[0]], "--to", DATASHEETS[target[0]], "-o", new, *options)
        found = exam.program.table("validate", exam.write(f"{name}-{part}.csv", test), "--machine", new, "--model", "layermeter",
                                   "--pooled")
        return float(found[0]["mape_percent"])

    def corrected(seed):
        few = random.Random(seed).sample(sorted({r["name"] for r in other}), FEW)
        with_ = exam.write(f"{name}-few{seed}.csv", [r for r in other if r["name"] in few])
        return errors(seed, [r for r in other if r["name"] not in few], "--with", with_)

    return errors("alone", other), statistics.mean(corrected(seed) for seed in range(DRAWS))


def transfers(exam, rows, other):
    """Inference between GPUs in settings that were measured on both, of `other` on the new one: figures without a target."""
    pairs = [(a, b) for a in rows for b in other if a[0] != b[0] and a[1:] == b[1:] and {a[0], b[0]} <= DATASHEETS.keys()
             and len({r["name"] for r in other[b]}) > FEW]
    found = exam.each(NAME, lambda p: transferred(exam, p[0], rows[p[0]], p[1], other[p[1]]), pairs)
    for at, what in enumerate(("by datasheet alone", f"with {FEW} networks")):
        values = [f[at] for f in found.values()]
        for (a, b), value in zip(found, values):
            exam.results.add(NAME, f"GPU not measured, inference, {what}", f"{label(b)}, from {a[0]}", len(other[b]),
                             "layermeter", "MAPE %", value)
        if values:
            exam.results.add(NAME, f"GPU not measured, inference, {what}: mean over {len(values)} pairs", "all",
                             sum(len(other[b]) for _, b in found), "layermeter", "MAPE %", statistics.mean(values))


def run(exam):
    rows, other = known_networks(exam, exam.data), known_networks(exam, exam.heldout)
    if not (other if exam.heldout else rows):
        exam.skip(f"{NAME}: {'nothing held out' if rows else 'no networks.csv.gz, or none of its networks'}")
    found = examine(exam, "networks", rows, other, "name")
    for (what, how), errors in by_topic(found, "network left out").items():
        exam.over_settings(NAME, f"{what}, {how}", errors, "step" if what == "train step" else "inference", *TARGETS[what])
    if not exam.quick:
        transfers(exam, rows, other if exam.heldout else rows)
    rows, other = counted(exam, exam.data), counted(exam, exam.heldout)
    found = examine(exam, "counts", rows, other, "group")
    for (what, how), errors in by_topic(found, "family left out").items():
        quantity = "step" if what == "train step" else "inference"
        exam.over_settings(NAME, f"counts alone, {what}, {how}", errors, quantity)
        exam.beside(NAME, f"counts alone, {what}, {how}: beside nnls, worst setting", errors, quantity, "nnls")
