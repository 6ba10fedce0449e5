"""Convolutions of nine systems (DeepBench)."""
import statistics

from program import MODELS

NAME = "deepbench"
DTYPES = {"fp32": ("f32", ""), "fp16_storage_fp32_math": ("f16", "math=f32"), "fp16_mixed": ("f16", "")}
TARGETS = {"forward": 15.0, "grad_input": 25.0, "grad_weight": 19.0}
WORDS = {"forward": "forward", "grad_input": "backward to data", "grad_weight": "backward to weights"}
PARTS = 10


def convolutions(exam, folder):
    """By system and element type."""
    out = {}
    for r in exam.read(folder, NAME, "conv.csv") or []:
        dtype, settings = DTYPES[r["precision"]]
        row = {"kind": "layer", "name": "conv2d", "input": f"{r['in_channels']}x{r['in_height']}x{r['in_width']}",
               "batch": r["batch"], "dtype": dtype, "settings": settings,
               "geometry": f"filters={r['out_channels']} kernel={r['kernel_h']},{r['kernel_w']} "
                           f"stride={r['stride_h']},{r['stride_w']} padding={r['pad_h']},{r['pad_w']} bias=no"}
        times = {"forward": r["forward_ms"], "grad_input": r["backward_data_ms"], "grad_weight": r["backward_weights_ms"]}
        out.setdefault((r["system"], r["precision"]), []).extend(
            {**row, "phase": phase, "seconds": f"{float(ms) * 1e-3:.9g}"} for phase, ms in times.items() if ms)
    return out


def run(exam):
    rows, other = convolutions(exam, exam.data), convolutions(exam, exam.heldout)
    asked = other if exam.heldout else rows
    if not asked:
        return exam.skip(f"{NAME}: no conv.csv")

    def one(key):
        name = f"{NAME}-{'-'.join(key)}"
        if exam.heldout and key in rows:
            return exam.unseen(name, rows[key], other[key])
        return exam.program.validate(exam.write(name + ".csv", asked[key]), leave_out=f"kfold={PARTS}")

    found = dict(zip(asked, exam.map(one, asked)))
    for what, target in TARGETS.items():
        by_split = {}
        for key, errors in found.items():
            split = "ten parts" if not exam.heldout else "held out" if key in rows else "new system, ten parts"
            by_split.setdefault(split, {})[" ".join(key)] = errors
        for split, group in by_split.items():
            for system, errors in group.items():
                exam.errors(NAME, f"convolutions, {WORDS[what]}, {split}", errors, what, group=system)
            for model in MODELS:
                rows_of = [e["(all)", what, model] for e in group.values() if ("(all)", what, model) in e]
                if rows_of:
                    exam.coverage(NAME, f"convolutions, {WORDS[what]}, {split}: {len(rows_of)} systems", "all", model, rows_of)
                    exam.results.add(NAME, f"convolutions, {WORDS[what]}, {split}: mean over {len(rows_of)} systems", "all",
                                     sum(int(r["points"]) for r in rows_of), model, "MAPE %",
                                     statistics.mean(float(r["mape_percent"]) for r in rows_of), target)
