"""Blocks of ResNet, MobileNet and Inception by themselves on this machine's CPU, each left out in turn, as ConvMeter's Table 2 does.
Nothing is published on these rows: they are our own, of three minutes."""
import os
import subprocess

NAME = "blocks"
TARGET = 10.0
FAMILIES = {"resnet": "ResNet", "mobilenet": "MobileNet", "inception": "Inception"}
PHASES = ("forward", "backward", "step")


def measured(exam):
    """Observations of the shipped sweep `blocks`; None where this build has no backend for it."""
    folder = exam.path(NAME)
    try:
        done = subprocess.run([exam.program.path, "calibrate", "blocks", "-o", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    except OSError as e:
        return exam.skip(f"{NAME}: {e}")
    if done.returncode:
        return exam.skip(f"{NAME}: not measured: {(done.stderr.strip().splitlines() or ['no words'])[-1]}")
    return os.path.join(folder, "observations.csv")


def family(group):
    return next((title for start, title in FAMILIES.items() if os.path.basename(group).startswith(start)), None)


def run(exam):
    path = measured(exam)
    if not path:
        return
    found = exam.program.validate(path)
    for phase in PHASES:
        exam.errors(NAME, f"{phase}, block left out", found, phase, TARGET)
    for title in FAMILIES.values():
        for model in ("layermeter", "convmeter"):
            rows = [r for (group, phase, m), r in found.items() if family(group) == title and phase == "step" and m == model]
            points = sum(int(r["points"]) for r in rows)
            if points:
                exam.results.add(NAME, "step, block left out", title, points, model, "MAPE %",
                                 sum(int(r["points"]) * float(r["mape_percent"]) for r in rows) / points, TARGET)
