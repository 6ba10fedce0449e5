"""Machine files as they ship, made of half of the networks behind each and asked about the other half; and devices that are carried
over by datasheets alone, asked about all that was measured on them."""
import os
import sys

NAME = "shipped"
TARGETS = {"inference": 12.0, "step": 15.0}
UNSEEN = {"inference": 20.0, "step": None}  # devices by datasheets alone
PHASES = {"inference": "inference", "step": "training step"}


def halves(exam, rows):
    """Rows of a half of the networks at random, and of the other half."""
    names = sorted({r["name"] for r in rows})
    exam.draw(1).shuffle(names)
    first = set(names[:(len(names) + 1) // 2])
    return [r for r in rows if r["name"] in first], [r for r in rows if r["name"] not in first]


def asked(exam, name, rows, machine):
    return exam.program.validate(exam.write(f"{NAME}-{name}.csv", rows), machine, models=("layermeter",))


def say(exam, question, found, targets):
    for phase, what in PHASES.items():
        by = {name: e for name, e in found.items() if any(k[1] == phase for k in e)}
        if by:
            exam.over_settings(NAME, f"{what}, {question}", by, phase, targets[phase], targets[phase])


def run(exam):
    sys.path.insert(0, os.path.join(exam.source, "configs", "machines", "build"))
    from build import Builder
    from recipes import RECIPES, Carried
    from sources import Data, Missing

    def builder(folder, without, **options):
        path = exam.path(f"{NAME}-{folder}")
        os.makedirs(path, exist_ok=True)
        return Builder(exam.program.path, exam.data, path, without, **options)

    other = Data(exam.heldout, exam.program.path) if exam.heldout else None
    half = builder("half", (lambda rows, name: rows) if other else lambda rows, name: halves(exam, rows)[0])

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
    alone = builder("alone", lambda rows, name: rows, corrected=False)

    def unseen(name):
        return asked(exam, name + "-alone", alone.rows(name), alone.make(name))

    carried = [n for n in names if isinstance(RECIPES[n], Carried)]
    say(exam, "device by datasheets alone", {n: e for n in carried if (e := exam.attempt(f"{NAME}: {n}", unseen, n))}, UNSEEN)
    return None
