"""Logs of whole steps on one device: how such a step is divided into forward, backward and update, beside the parts that were
measured (torch_cpu), as on several devices it is."""
import os
import statistics

import torch_cpu

NAME = "whole_steps"
QUESTION = "of a step, by its terms"
PARTS = ("forward", "backward", "update")
FLOPS = {"forward": 1 / 3, "backward": 2 / 3, "update": 0.0}  # what anybody takes: two products backward for each forward


def measured(rows):
    """Seconds of the parts by network, input and batch; of several rows the last."""
    out = {}
    for r in rows:
        if r["phase"] in PARTS:
            out.setdefault((r["name"], r["input"], r["batch"]), {})[r["phase"]] = float(r["seconds"])
    return out


def divided(exam, machine, key):
    """Shares of the step on two devices, between which a link is told whose all-reduce counts apart."""
    name, shape, batch = key
    row = exam.program.table("predict", name, "--machine", machine, "--input", shape, "--batch", batch, "--nodes", "2",
                             "--bandwidth", "100Gbit/s")[0]
    seconds = {"forward": float(row["forward_ms"]), "backward": float(row["backward_ms"]),
               "update": float(row["grad_ms"]) - float(row["sync_ms"])}
    return {part: s / sum(seconds.values()) for part, s in seconds.items()}


def run(exam):
    rows = torch_cpu.observations(exam, exam.heldout or exam.data)
    if not rows:
        return exam.skip(f"{NAME}: no torch_cpu/observations.csv")
    machine = exam.path(f"{NAME}.ini")
    exam.program.fit(exam.write(f"{NAME}.csv", [r for r in rows if r["phase"] == "step"]), machine)
    asked = [k for k in measured(rows) if not os.path.isabs(k[0])][:: 8 if exam.quick else 2]
    found = exam.each(NAME, lambda key: divided(exam, machine, key), asked)
    true = measured(rows)
    for part in PARTS:
        shares = {k: true[k][part] / sum(true[k].values()) for k in found}
        for model, told in (("layermeter", {k: found[k][part] for k in found}), ("flops", dict.fromkeys(found, FLOPS[part]))):
            exam.results.add(NAME, f"{part} {QUESTION}", "all", len(found), model, "mean error, % of the step",
                             100 * statistics.mean(abs(told[k] - shares[k]) for k in found), 10.0)
    return None
