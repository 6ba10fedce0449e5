"""What the questions on all data sets share: where data is, what runs, what came out."""
import concurrent.futures
import csv
import gzip
import math
import os
import random
import statistics
import tempfile
import traceback

from program import MODELS, Failed, Refused, write_observations
from results import COVERAGE, SCORE

COVERAGE_OFF = 5.0  # by how much the share inside 90 % intervals may differ from that
COVERAGE_ROWS = 144  # that tell: two standard errors of a share of 90 % are as much, 2 sqrt(0.9 x 0.1 / n) = 0.05
HELD_OUT, NEW = "held out", "new"


def where(error):
    """The innermost line of these files that an error came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(last.filename)}:{last.lineno}"


def label(item):
    return " ".join(map(str, item)) if isinstance(item, tuple) else str(item)


class Exam:
    def __init__(self, program, results, source, data, heldout, quick, keep, seed=0):
        self.program, self.results, self.source = program, results, source
        self.data, self.heldout, self.quick = data, heldout, quick
        self.models = os.environ.get("LAYERMETER_MODEL_PATH") or os.path.join(source, "models")
        self.seed = seed
        self.temporary = None if keep else tempfile.TemporaryDirectory()
        self.work = keep or self.temporary.name
        os.makedirs(self.work, exist_ok=True)
        self.pool = concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1))
        self.missing = {}
        self.skipped = []
        self.failures = []
        self.groups = {}  # rows whose coverage was asked for group by group, by question and model

    def close(self):
        self.pool.shutdown(cancel_futures=True)
        if self.temporary:
            self.temporary.cleanup()

    def skip(self, line):
        line = " ".join(line.split())
        self.skipped.append(line)
        print(f"skipped: {line}", flush=True)

    def attempt(self, what, function, *arguments):
        """What a question's function returns; None where it has no answer, and a line says so: other questions are worth having all
        the same. What the program refuses to learn of a part of the data is no failure of it."""
        try:
            return function(*arguments)
        except Refused as e:
            if not self.heldout:
                self.fail(f"{what}: {e}")
            else:
                self.skip(f"{what}: {e}")
        except Failed as e:
            self.fail(f"{what}: {e}")
        except Exception as e:  # rows of other data than were foreseen
            self.fail(f"{what}: {where(e)}: {type(e).__name__}: {e}")
        return None

    def fail(self, line):
        self.failures.append(" ".join(line.split()))

    # ---- data ----------------------------------------------------------------------------------------------------

    def files(self, folder, dataset):
        """Names of a data set's files."""
        path = os.path.join(folder, dataset)
        return os.listdir(path) if os.path.isdir(path) else []

    def read(self, folder, *path):
        """Rows of a CSV file below a folder, as dicts; None where there is none."""
        path = folder and os.path.join(folder, *path)
        if not path or not os.path.exists(path):
            return None
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
            return list(csv.DictReader(file))

    def network(self, dataset, name, shape=None):
        """What observations call a network: a shipped model, or an ONNX file of the data; None: not to be had, or not of samples of
        this shape."""
        path = self.found(name)
        if not path and (dataset, name) not in self.missing:
            self.missing[dataset, name] = True
            self.skip(f"{dataset}: neither a model nor an ONNX file of '{name}'")
        return path if path and (not shape or self.takes(dataset, path, shape)) else None

    def found(self, name):
        if os.path.exists(os.path.join(self.models, name + ".ini")):
            return name
        paths = [os.path.join(f, "torchvision", "onnx", name + ".onnx") for f in (self.data, self.heldout) if f]
        return next((p for p in paths if os.path.exists(p)), None)

    def takes(self, dataset, path, shape):
        """Some networks are of one size, or of multiples of one."""
        if (path, shape) not in self.missing:
            try:
                self.program.run("show", path, "--input", shape)
                self.missing[path, shape] = False
            except Failed:
                self.missing[path, shape] = True
                self.skip(f"{dataset}: {os.path.basename(path)} is not of {shape}")
        return not self.missing[path, shape]

    def draw(self, seed):
        """A generator of a question's own, and of the seed that was asked for."""
        return random.Random(seed + self.seed)

    def path(self, name):
        """Of a file of the working folder."""
        return os.path.join(self.work, name)

    def write(self, name, rows, provenance=()):
        """Observations as a file of the working folder."""
        return write_observations(os.path.join(self.work, name), rows, provenance)

    def builder(self, folder, **options):
        """Makes machine files as they ship in a working folder, of parts of the data (configs/machines/build/build.py)."""
        from build import Builder
        path = self.path(folder)
        os.makedirs(path, exist_ok=True)
        return Builder(self.program.path, self.data, path, **options)

    # ---- running -------------------------------------------------------------------------------------------------

    def map(self, function, items):
        """As many at a time as there are cores for them; in order."""
        return list(self.pool.map(function, items))

    def each(self, dataset, function, items):
        """The answers of those items that have one, by item: as many at a time as there are cores for them, in order."""
        items = list(items)
        found = self.map(lambda i: self.attempt(f"{dataset}: {label(i)}", function, i), items)
        return {i: f for i, f in zip(items, found) if f is not None}

    def answer(self, what, rows, other, by_fit, within):
        """How, and errors: of `other` by a fit to `rows`, where something is held out; within what is asked about where nothing is, or
        where a fit has no rows or too few. (None, None) where neither can be."""
        if self.heldout and rows and other:
            found = self.attempt(f"{what}, held out", by_fit, rows, other)
            if found:
                return HELD_OUT, found
        asked = other if self.heldout else rows
        found = self.attempt(what, within, asked) if asked else None
        return (NEW if self.heldout else "", found) if found else (None, None)

    def left_out(self, name, rows):
        """Errors with each group left out in turn."""
        return self.program.validate(self.write(name + ".csv", rows))

    def unseen(self, name, rows, other, provenance=(), options=(), models=MODELS):
        """Errors on `other` by a fit to `rows`."""
        machine = os.path.join(self.work, name + ".ini")
        self.program.fit(self.write(name + "-fit.csv", rows, provenance), machine, options)
        return self.program.validate(self.write(name + ".csv", other), machine, models=models)

    # ---- figures -------------------------------------------------------------------------------------------------

    def errors(self, dataset, question, found, quantity, target=None, published=None, group="all", column="mape_percent",
               metric="MAPE %"):
        """Figures of all groups together, as `group`; and of single groups where that is all."""
        for (name, what, model), row in found.items():
            if what != quantity or not row[column]:
                continue
            if name == "(all)":
                if group == "all":
                    self.coverage(dataset, question, group, model, [row])
                self.results.add(dataset, question, group, int(row["points"]), model, metric, float(row[column]), target,
                                 published)
            elif group == "all":
                self.results.add(dataset, question, os.path.basename(name), int(row["points"]), model, metric,
                                 float(row[column]))

    def coverage(self, dataset, question, group, model, rows):
        """How far the share of rows inside their stated 90 % interval is from that: within 5 % it holds. Groups of fewer rows than
        tell that have no target of their own: what counts is all groups of their question together."""
        rows = [r for r in rows if r["coverage_percent"]]
        points = sum(int(r["points"]) for r in rows)
        if not points:
            return
        if group != "all":
            self.groups.setdefault((dataset, question), {}).setdefault(model, []).extend(rows)
        share = sum(int(r["points"]) * float(r["coverage_percent"]) for r in rows) / points
        told = group == "all" or points >= COVERAGE_ROWS
        self.results.add(dataset, question, group, points, model, COVERAGE, abs(share - 90), COVERAGE_OFF if told else None)
        scored = [(int(r["points"]), float(r["score_percent"])) for r in rows if r.get("score_percent")]
        if scored:
            self.results.add(dataset, question, group, points, model, SCORE, sum(n * s for n, s in scored) / sum(n for n, _ in scored))

    def coverage_of_groups(self):
        """Of all groups of each question together."""
        for (dataset, question), models in self.groups.items():
            for model, rows in models.items():
                self.coverage(dataset, question, "all", model, rows)
        self.groups = {}

    def worst(self, dataset, question, found, quantity, target=None):
        """The group with the largest error of each model."""
        for model in MODELS:
            groups = [(float(r["mape_percent"]), int(r["points"])) for (name, what, m), r in found.items()
                      if m == model and what == quantity and name != "(all)" and r["mape_percent"]]
            if groups:
                value, points = max(groups)
                self.results.add(dataset, question, "all", points, model, "MAPE %", value, target)

    def beside(self, dataset, question, found, quantity, baseline):
        """The largest error in a setting as a multiple of a baseline's: 1 is never worse."""
        def error(e, model):
            return float(e["(all)", quantity, model]["mape_percent"]) if ("(all)", quantity, model) in e else math.inf

        ratios = [error(e, "layermeter") / error(e, baseline) for e in found.values()
                  if math.isfinite(error(e, baseline))]
        if ratios:
            points = sum(int(e["(all)", quantity, baseline]["points"]) for e in found.values()
                         if ("(all)", quantity, baseline) in e)
            self.results.add(dataset, question, "all", points, "layermeter", "ratio", max(ratios), 1.0)

    @staticmethod
    def groups_alike(found, quantity, model):
        """Rows of single groups, each with the same weight: what an interval promises (core/fit/interval.h). The sizes of one network
        are off alike, and some networks have five times as many as others."""
        return [dict(r, points=1) for (name, what, m), r in found.items() if what == quantity and m == model and name != "(all)"]

    def over_settings(self, dataset, question, found, quantity, target_mean=None, target_worst=None):
        """`found` by setting: each, the mean over them, and the worst."""
        for setting, errors in found.items():
            self.errors(dataset, question, errors, quantity, group=setting)
        for model in MODELS:
            rows = [e["(all)", quantity, model] for e in found.values() if ("(all)", quantity, model) in e]
            values = [float(r["mape_percent"]) for r in rows]
            if values:
                points = sum(int(r["points"]) for r in rows)
                self.results.add(dataset, f"{question}: mean over {len(values)} settings", "all", points, model, "MAPE %",
                                 statistics.mean(values), target_mean)
                self.coverage(dataset, f"{question}: {len(values)} settings", "all", model,
                              [r for e in found.values() for r in self.groups_alike(e, quantity, model)] or rows)
                self.results.add(dataset, f"{question}: worst setting", "all", points, model, "MAPE %", max(values),
                                 target_worst)
