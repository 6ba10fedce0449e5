#!/usr/bin/env python3
"""Makes the shipped machine files and interconnects from published measurements: ours are the program's own 'fit' and 'transfer', nothing by hand.

  configs/machines/build/build.py [--check] [--data FOLDER] [--program FILE] [-o FOLDER] [NAME...]

--check makes them elsewhere and compares.

FOLDER of --data (default $LAYERMETER_DATA) has the data sets, which are not part of this repository. Exit status 0: all were made;
1: some could not be; 77: the data are not there."""
import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile

from recipes import INTERCONNECTS, LINKS, RECIPES, Carried, Linked
from sources import Data, Missing

ALL = {**RECIPES, **INTERCONNECTS}
HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    pass


def write(path, rows, told):
    """Observations with what they say of themselves."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="") as out:
        out.writelines(f"# {key}: {value}\n" for key, value in told)
        writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def origins(sources):
    """What a file says of what it is made of."""
    return [(key, s.framework() if key == "framework" else s.TEXT[key]) for s in sources for key in ("source", "licence", "flaws", "framework")]


def roots(name):
    """The measured files that a file is carried over from in the end."""
    return [name] if not isinstance(RECIPES[name], Carried) else list(dict.fromkeys(n for of in RECIPES[name].of for n in roots(of)))


class Builder:
    def __init__(self, program, data, out, without=lambda rows, name: rows, corrected=True, unlaid=()):
        """An exam leaves rows out, or all that would correct what is carried over, or sets of steps under layouts."""
        self.corrected, self.unlaid = corrected, unlaid
        self.program, self.out, self.without = os.path.abspath(program), os.path.abspath(out), without
        for folder in "machines", "interconnects":
            os.makedirs(os.path.join(self.out, folder), exist_ok=True)
        self.data = Data(os.path.abspath(data), self.program)
        self.environ = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

    def run(self, work, *arguments):
        """In the folder of the observations, whose paths the files do not keep."""
        done = subprocess.run([self.program, *arguments], cwd=work, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode:
            raise Failed(f"layermeter {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def path(self, name):
        folder = "machines" if name in RECIPES else "interconnects"
        return os.path.join(self.out, folder, name + ".ini")

    def rows(self, name):
        """All rows behind a file, before any are left out."""
        return [row for source in ALL[name].sources for row in source.rows(self.data)]

    def observed(self, name, work):
        """The file's observations; None: nothing of the device is used."""
        recipe = ALL[name]
        told = [] if isinstance(recipe, (Carried, Linked)) else [("device", recipe.device)]
        rows = self.without(self.rows(name), name)
        if not rows:
            return None
        write(os.path.join(work, name + ".csv"), rows, told + origins(recipe.sources))
        return name + ".csv"

    def laid(self, name):
        """Sets of steps under layouts behind a file, without those that an exam leaves out."""
        return [s for s in getattr(ALL[name], "laid", ()) if self.corrected and s.NAME not in self.unlaid]

    def carry(self, name, work, measured, sets):
        recipe = RECIPES[name]
        of = [n for n in (recipe.of if self.corrected else roots(name)) if os.path.exists(self.path(n)) or self.make(n)]
        carried = os.path.join(work, "carried.ini") if sets else self.path(name)
        self.run(work, "transfer", *map(self.path, of), "--from", ",".join(RECIPES[n].device for n in of), "--to", recipe.device,
                 *(("--with", measured) if measured else ()), *self.hosted(recipe, work), "-o", carried)
        if sets:
            write(os.path.join(work, "laid.csv"), [row for s in sets for row in s.rows(self.data)], origins(sets))
            self.run(work, "fit", "laid.csv", "--from", "carried.ini", "--kernels", "--interconnect", LINKS[recipe.device], "-o", self.path(name))

    def hosted(self, recipe, work):
        """PyTorch's times in one file, which says of itself what the first says."""
        if not (self.corrected and getattr(recipe, "host", ())):
            return ()
        lines = [list(open(os.path.join(HERE, "measured", host))) for host in recipe.host]
        with open(os.path.join(work, "host.csv"), "w") as out:
            out.writelines(lines[0])
            out.writelines(line for more in lines[1:] for line in more if not line.startswith(("#", "kind,")))
        return "--host", "host.csv"

    def make(self, name):
        recipe = ALL[name]
        with tempfile.TemporaryDirectory() as work:
            os.symlink(os.path.join(HERE, "networks"), os.path.join(work, "networks"))
            measured = self.observed(name, work) if self.corrected or not isinstance(recipe, Carried) else None
            if isinstance(recipe, Carried):
                self.carry(name, work, measured, self.laid(name))
            else:
                self.run(work, "fit", measured, *self.hosted(recipe, work), "-o", self.path(name))
        return self.path(name)


NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
TOLERANCE, NOTHING = 1e-4, 1e-25  # of other libraries of linear algebra and other compilers


def differs(old, new):
    """The first line of two machine files that is not the same, but for the last digits of numbers; None: there is none."""
    old, new = ([line for line in open(path) if not line.startswith("checksum = ")] for path in (old, new))
    for at, (a, b) in enumerate(zip(old, new), 1):
        x, y = NUMBER.findall(a), NUMBER.findall(b)
        if NUMBER.sub("", a) != NUMBER.sub("", b) or len(x) != len(y) or any(
                abs(float(p) - float(q)) > TOLERANCE * max(abs(float(p)), abs(float(q))) + NOTHING for p, q in zip(x, y)):
            return f"line {at}: {a.strip()} | {b.strip()}"
    return None if len(old) == len(new) else "length"


def check(builder, names, folder):
    """Are the files of a folder what the data make of them?"""
    fine = True
    for name in names:
        made = builder.make(name)
        there = os.path.join(folder, os.path.relpath(made, builder.out))
        why = differs(there, made) if os.path.exists(there) else "is not there"
        print(f"{name}: {why or 'the same'}")
        fine = fine and not why
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LAYERMETER_DATA"))
    parser.add_argument("--program", default=os.environ.get("LAYERMETER_PROGRAM", "layermeter"))
    parser.add_argument("-o", "--output", default=os.path.dirname(os.path.dirname(HERE)))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    a = parser.parse_args()
    if not a.data or not os.path.isdir(a.data):
        print("build.py: no data: set LAYERMETER_DATA to their folder", file=sys.stderr)
        return 77
    names = a.names or list(ALL)
    if a.check:
        with tempfile.TemporaryDirectory() as elsewhere:
            return 0 if check(Builder(a.program, a.data, elsewhere), names, a.output) else 1
    builder, failed = Builder(a.program, a.data, a.output), False
    for name in names:
        try:
            print(builder.make(name))
        except (Failed, Missing, KeyError) as e:
            print(f"build.py: {name}: {e}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
