"""Training runs under layouts: published steps as observations, fits to some of them, predictions of others."""
import dataclasses
import math
import statistics

from program import Failed
from results import COVERAGE, SCORE


@dataclasses.dataclass
class Step:
    """A run: what a command line says of it, and what was measured."""
    network: str
    layout: str
    nodes: int
    devices: int  # of each node
    batch: int  # the micro-batch
    accumulate: int
    seconds: float
    bucket: str = ""  # bytes
    optimizer: str = "adam"
    told: tuple = ()  # more options of its framework
    row: dict = None
    mixed: str = ""  # autocast to this type

    @property
    def ranks(self):
        return self.nodes * self.devices

    def observation(self, group=""):
        return {"kind": "network", "name": self.network, "phase": "step", "batch": self.batch, "dtype": "bf16", "ranks": self.ranks,
                "hosts": self.nodes, "optimizer": self.optimizer, "bucket_bytes": self.bucket,
                "layout": f"{self.layout} ga{self.accumulate}", "settings": f"mixed={self.mixed}" if self.mixed else "", "seconds": f"{self.seconds:.9g}", "group": group}


def step(of, r):
    """A row of a set (configs/machines/build/laid_sets.py)."""
    nodes, devices = of.placed(r)
    return Step(of.network(r), " ".join(of.words(r)), nodes, devices, int(r["micro_batch"]), int(r["grad_accum"]), float(r["step_s"]), of.bucket(r), row=r)


def without(exam, machine, name):
    """What ships as `machine`, made without the set of that name."""
    return ("--from", exam.builder(f"without-{name}", unlaid=(name,)).make(machine))


def predicted(exam, machine, step):
    """Step, low and high in seconds; what is unknown is NAN."""
    sync = ("--sync", f"ddp:{step.bucket}B") if step.bucket else ()
    mixed = ("--mixed", step.mixed) if step.mixed else ()
    found = exam.program.table("predict", step.network, *machine, "--nodes", str(step.nodes), "--devices-per-node", str(step.devices),
                               "--batch", str(step.batch), "--accumulate", str(step.accumulate), "--layout", step.layout,
                               "--optimizer", step.optimizer, *sync, *mixed, *step.told)[0]
    return [float(found[c]) / 1e3 if found[c] else math.nan for c in ("step_ms", "step_low_ms", "step_high_ms")]


def predict_all(exam, name, machine, steps):
    """Pairs of a step and its prediction; layouts that nothing prices are passed over by name."""
    def ask(step):
        try:
            return predicted(exam, machine, step)
        except Failed as e:
            exam.skip(f"{name}: {step.layout}: {str(e).rsplit('layermeter:', 1)[-1]}")
            return None

    return [(s, p) for s, p in zip(steps, exam.map(ask, steps)) if p]


def fit(exam, name, steps, device, options=(), groups=None):
    """A machine file from steps, beginning with what ships for the device."""
    machine = exam.path(name + ".ini")
    rows = [s.observation(groups(s) if groups else "") for s in steps]
    exam.program.fit(exam.write(name + ".csv", rows, [("device", device)]), machine, options)
    return ("--machine", machine)


def error(found, true):
    return 100 * abs(found - true) / true


def errors(pairs):
    return [error(p[0], s.seconds) for s, p in pairs]


def score(low, high, true):
    """As interval_score() (core/fit/interval.h)."""
    return math.log(high / low) + 20 * max(0, math.log(low / true), math.log(true / high)) if low > 0 else math.inf


def say(exam, name, question, pairs, rules=None, metric="median %", target=None, published=None, mean=statistics.median, coverage=True,
        group="all"):
    """Errors of predictions, of naive rules beside them (by name: seconds by step), and how many lie in their intervals."""
    if not pairs:
        return
    exam.results.add(name, question, group, len(pairs), "layermeter", metric, mean(errors(pairs)), target, published)
    for rule, seconds in (rules or {}).items():
        exam.results.add(name, question, group, len(pairs), rule, metric, mean([error(seconds(s), s.seconds) for s, _ in pairs]), None, published)
    known = [(s, p) for s, p in pairs if not math.isnan(p[1])]
    if coverage and known:
        inside = statistics.mean(p[1] <= s.seconds <= p[2] for s, p in known)
        exam.results.add(name, f"{question}: intervals", group, len(known), "layermeter", COVERAGE, abs(100 * inside - 90), 5.0)
        exam.results.add(name, f"{question}: intervals", group, len(known), "layermeter", SCORE, 100 * statistics.mean(score(*p[1:], s.seconds) for s, p in known))


def spearman(a, b):
    def ranks(x):
        order = sorted(range(len(x)), key=x.__getitem__)
        return [order.index(i) for i in range(len(x))]
    ra, rb = ranks(a), ranks(b)
    n = len(a)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(ra, rb)) / (n * (n * n - 1))
