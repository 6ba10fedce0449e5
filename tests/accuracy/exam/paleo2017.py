"""PALEO's own step times, by its model in the program: a baseline has to be the one that was published."""
import os
import re
import subprocess

from program import Failed

NAME = "paleo2017"
MOST = 0.7  # % that a step may be off: PALEO's page was computed before its code was changed once more


def run(exam):
    """paleo_steps.sh has the comparison; here are its figures."""
    folder = exam.heldout or exam.data
    script = os.path.join(exam.source, "tests", "accuracy", "paleo_steps.sh")
    environ = dict(exam.program.environ, LAYERMETER_DATA=folder, LAYERMETER_SOURCE=exam.source,
                   LAYERMETER_BIN=os.path.dirname(exam.program.path))
    done = subprocess.run(["sh", script, "steps"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 77 or done.stdout.strip() == "no steps":
        return exam.skip(f"{NAME}: {done.stdout.strip().removeprefix('skipped: ')}")
    found = re.search(r"^(\d+) steps, ([\d.]+) % off on average, at most ([\d.]+) %", done.stdout, re.MULTILINE)
    if not found:
        raise Failed(f"{script}: {done.stdout.strip()}")
    rows, mean, most = int(found[1]), float(found[2]), float(found[3])
    exam.results.add(NAME, "its published steps", "all", rows, "paleo", "MAPE %", mean)
    exam.results.add(NAME, "its published steps", "all", rows, "paleo", "largest error %", most, MOST, judged="paleo")
