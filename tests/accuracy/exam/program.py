"""The program under examination, and the observations it reads."""
import csv
import io
import os
import subprocess

# What `fit` says of times that cannot be (core/observe/doubts.h): nobody measured a wrong one here. Points that are there
# again, or contradict each other, are left to be said: campaigns of several settings have such.
DOUBTS = ("let expect", "are the times in seconds?", "are they in seconds?", "are both in seconds?", "backward and update are")
MODELS = ("layermeter", "counts", "nnls", "convmeter")
RESIDUAL = "residual"  # the first of them with what its prices leave over, learned


class Failed(Exception):
    """What leaves a question without an answer: the text is for people."""


class Refused(Failed):
    """The program said why it cannot: of too few rows, as a rule."""


class Program:
    def __init__(self, source, environ):
        folder = environ.get("LAYERMETER_BIN") or os.path.join(source, "build", "bin")
        self.path = os.path.join(folder, "layermeter")
        if not os.access(self.path, os.X_OK):
            raise Failed(f"no program {self.path}: build it (cmake -S . -B build && cmake --build build), or set LAYERMETER_BIN")
        # one thread for each run: as many run at a time as there are cores for them
        self.doubts = set()
        self.environ = dict(environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

    def run(self, *arguments):
        """What it prints. Warnings are not for this table; a failure is."""
        done = subprocess.run([self.path, *arguments], env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode:
            kind = Refused if done.returncode == 1 else Failed
            raise kind(f"layermeter {' '.join(arguments)}: exit status {done.returncode}: {done.stderr.strip()}")
        self.doubts.update(line for line in done.stderr.splitlines() if any(words in line for words in DOUBTS))
        return done.stdout

    def table(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.run(*arguments, "--format", "csv"))))

    def fit(self, observations, machine, options=()):
        self.run("fit", observations, "-o", machine, *options)

    def fit_together(self, observations, machines, options=()):
        """Several files, of a machine each."""
        self.run("fit", *observations, "-o", ",".join(machines), *options)

    def validate(self, observations, machine=None, leave_out="network", models=MODELS, options=()):
        """Errors by (group, quantity, model); the group of all is '(all)'."""
        where = ("--machine", machine) if machine else ("--leave-out", leave_out)
        rows = self.table("validate", observations, *where, "--model", ",".join(models), *options)
        return {(r["group"], r["phase"], r["model"]): r for r in rows}


def write_observations(path, rows, provenance=()):
    """Rows are dicts by column; those that lack a column leave it empty. `provenance`: pairs of key and value."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="") as out:
        out.writelines(f"# {key}: {value}\n" for key, value in provenance)
        writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
