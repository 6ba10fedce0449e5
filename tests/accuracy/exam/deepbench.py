"""Convolutions of nine systems (DeepBench): three products of each, some eighty rows of a system."""
import statistics

import kernels
from exam import NEW
from program import MODELS

NAME = "deepbench"
DTYPES = {"fp32": "f32", "fp16_storage_fp32_math": "f16", "fp16_mixed": "f16"}
PASSES = {"forward": ("forward_ms", 15.0), "grad_input": ("backward_data_ms", 25.0),
          "grad_weight": ("backward_weights_ms", 19.0)}
WORDS = {"forward": "forward", "grad_input": "backward to data", "grad_weight": "backward to weights"}
PARTS = 10
# by vendors' datasheets; of the Xeon Phi its cores
MULTIPROCESSORS = {"gtx1080ti": 28, "knl7250": 68, "m40": 24, "mi25": 64, "p100": 56, "titanx_maxwell": 24, "titanxp": 30,
                   "v100": 80, "vega_fe": 64}


def convolutions(exam, folder):
    """By system and element type."""
    out = {}
    for r in exam.read(folder, NAME, "conv.csv") or []:
        def pair(a, b):
            return r[a], r[b]

        kernel = kernels.conv(r["batch"], r["in_channels"], r["out_channels"], pair("in_height", "in_width"),
                              pair("out_height", "out_width"), pair("kernel_h", "kernel_w"), pair("stride_h", "stride_w"),
                              pair("pad_h", "pad_w"))
        for phase, (column, _) in PASSES.items():
            if r[column]:
                out.setdefault((r["system"], r["precision"]), []).append(
                    {"kind": "kernel", "phase": phase, "dtype": DTYPES[r["precision"]], **kernel,
                     "seconds": f"{float(r[column]) * 1e-3:.9g}"})
    return out


def run(exam):
    rows, other = convolutions(exam, exam.data), convolutions(exam, exam.heldout)
    asked = other if exam.heldout else rows
    if not asked:
        return exam.skip(f"{NAME}: no conv.csv")

    def one(key):
        name = f"{NAME}-{'-'.join(key)}"
        known = [("multiprocessors", MULTIPROCESSORS[key[0]])] if key[0] in MULTIPROCESSORS else []
        return exam.answer(f"{NAME}: {' '.join(key)}", rows.get(key), other.get(key), lambda a, b: exam.unseen(name, a, b, known),
                           lambda r: exam.program.validate(exam.write(name + ".csv", r, known), leave_out=f"kfold={PARTS}",
                                                                   options=("--seed", str(1 + exam.seed))))

    found = dict(zip(asked, exam.map(one, asked)))
    for what, (_, target) in PASSES.items():
        by_split = {}
        for key, (how, errors) in found.items():
            if errors:
                split = {"": "ten parts", NEW: "new system, ten parts"}.get(how, how)
                by_split.setdefault(split, {})[" ".join(key)] = errors
        for split, group in by_split.items():
            question = f"convolutions, {WORDS[what]}, {split}"
            for system, errors in group.items():
                exam.errors(NAME, question, errors, what, group=system)
            for model in MODELS:
                rows_of = [e["(all)", what, model] for e in group.values() if ("(all)", what, model) in e]
                if rows_of:
                    exam.results.add(NAME, f"{question}: mean over {len(rows_of)} systems", "all",
                                     sum(int(r["points"]) for r in rows_of), model, "MAPE %",
                                     statistics.mean(float(r["mape_percent"]) for r in rows_of), target)
