"""Figures: kept, printed as a table, written as CSV, compared with those expected."""
import csv
import math

COLUMNS = "dataset,question,group,rows,model,metric,value,target,published".split(",")
KEY = COLUMNS[:3] + ["model", "metric"]
OURS = "layermeter"
COVERAGE = "coverage off 90 %"
SCORE = "interval score"  # of 90 % intervals, by width and misses: less is better (core/fit/interval.h)
OF_INTERVALS = COVERAGE, SCORE
WORSE = 1.1  # what a figure may become beside the expected one, as a factor


def text(value):
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


class Results:
    def __init__(self):
        self.rows = []
        self.asked = {}  # what a model is to meet, by question

    def add(self, dataset, question, group, rows, model, metric, value, target=None, published=None, judged=OURS):
        """`target` is for one model to meet: baselines beside it have none."""
        if target is not None:
            self.asked.setdefault((dataset, question, group, metric), (judged, target, published))
        self.rows.append(dict(zip(COLUMNS, (dataset, question, group, rows, model, metric, value,
                                            target if model == judged else None, published))))

    def unanswered(self):
        """A model that gives no figure where it is asked for one is infinitely far off: to be called in the end."""
        there = {(r["dataset"], r["question"], r["group"], r["metric"], r["model"]) for r in self.rows}
        for (dataset, question, group, metric), (judged, target, published) in self.asked.items():
            if (dataset, question, group, metric, judged) not in there:
                self.add(dataset, question, group, 0, judged, metric, math.inf, target, published, judged)

    def write(self, path):
        with open(path, "w", newline="") as out:
            writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for row in self.rows:
                writer.writerow({k: text(v) for k, v in row.items()})

    def lines(self, every):
        """One dict a line of the table: a question with its group and metric, figures by model. Single networks and
        settings only if `every`, or if there is something to compare them with; coverages always."""
        lines = {}
        for row in self.rows:
            line = lines.setdefault(tuple(row[k] for k in ("dataset", "question", "group", "metric")),
                                    dict(row, target=None, published=None, by={}, met=""))
            line["rows"] = max(line["rows"], row["rows"])
            line["by"][row["model"]] = row["value"]
            if row["target"] is not None:
                line["met"] = "met" if row["value"] <= row["target"] else "missed"
            for k in "target", "published":
                line[k] = row[k] if row[k] is not None else line[k]
        return [x for x in lines.values()
                if every or x["group"] == "all" or x["target"] is not None or x["published"] is not None or x["metric"] in OF_INTERVALS]

    def table(self, every=False):
        lines = self.lines(every)
        models = sorted(dict.fromkeys(m for x in lines for m in x["by"]), key=lambda m: m != OURS)
        head = ["data set", "question", "group", "rows", "metric", *models, "published", "target", ""]
        cells = [head]
        for x in lines:
            cells.append([x["dataset"], x["question"], x["group"], text(x["rows"]), x["metric"],
                          *(number(x["by"].get(m)) for m in models), number(x["published"]), number(x["target"]), x["met"]])
        width = [max(len(row[c]) for row in cells) for c in range(len(head))]
        for row in cells:
            yield "  ".join(cell.ljust(w) if c in (0, 1, 2, 4) else cell.rjust(w)
                            for c, (cell, w) in enumerate(zip(row, width))).rstrip()

    def targets(self):
        """How many are met, and how many there are."""
        judged = [r["value"] <= r["target"] for r in self.rows if r["target"] is not None]
        return sum(judged), len(judged)

    # ---- expected ------------------------------------------------------------------------------------------------

    def figures(self):
        """Those worth keeping: of all rows of a question together. A tenth of what a coverage is off is nothing."""
        return [r for r in self.rows if (r["group"] == "all" or r["target"] is not None) and r["metric"] not in OF_INTERVALS
                and math.isfinite(r["value"])]

    def write_expected(self, path):
        with open(path, "w", newline="") as out:
            writer = csv.DictWriter(out, COLUMNS[:7], lineterminator="\n", extrasaction="ignore")
            writer.writeheader()
            for row in self.figures():
                writer.writerow({k: text(row[k]) for k in COLUMNS[:7]})

    def compare(self, path):
        """Lines on what is worse than expected, or not there; how many figures agree, and how many are new."""
        with open(path, newline="") as file:
            expected = {tuple(r[k] for k in KEY): r for r in csv.DictReader(file)}
        worse, agree, new = [], 0, 0
        ran = {r["dataset"] for r in self.rows}
        for row in self.figures():
            key = tuple(str(row[k]) for k in KEY)
            was = expected.pop(key, None)
            what = " / ".join(key)
            if was is None:
                new += 1
            elif was["rows"] != text(row["rows"]):
                worse.append(f"{what}: {text(row['rows'])} rows, the expected figure is of {was['rows']}: other data?")
            elif not row["value"] <= WORSE * float(was["value"]):
                worse.append(f"{what}: {text(row['value'])}, expected {was['value']}")
            else:
                agree += 1
        worse += [f"{' / '.join(key)}: expected, and not there" for key in expected if key[0] in ran]
        return worse, agree, new


def number(value):
    """Three digits, as errors deserve."""
    if value is None:
        return ""
    if math.isinf(value):
        return "none"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"
