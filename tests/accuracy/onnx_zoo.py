#!/usr/bin/env python3
"""onnx_zoo.py PROGRAM FOLDER [-v] [NETWORK ...]: see onnx_zoo.sh. Exit status 1: fewer than 98 % load, or a refusal's words are no single line."""
import collections
import csv
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

LEAST = 0.98  # share of networks that load


def refusal(text):
    """Words of a refusal without what is the network's own."""
    text = re.sub(r"^layermeter: \S+: ", "", text.strip())
    text = re.sub(r"^node '[^']*' ", "node ", text)
    text = re.sub(r"'[^']*'", "'...'", text)
    return re.sub(r"\d+", "N", text)[:150]


def show(program, path, batch):
    done = subprocess.run([program, "show", path, "--batch", str(batch), "--totals", "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    return (json.loads(done.stdout)["total"], None) if done.returncode == 0 else (None, done.stderr)


def main():
    program, folder, *rest = sys.argv[1:]
    verbose, wanted = "-v" in rest, [w for w in rest if w != "-v"]
    rows = [r for r in csv.DictReader(open(os.path.join(folder, "networks.csv"))) if not wanted or r["network"] in wanted]
    loads = macs = params = trains = 0
    refused, off = collections.Counter(), []
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(os.path.join(folder, "onnx.tar.xz")) as archive:
            archive.extractall(work, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(work)
        for r in rows:
            name, batch = f"{r['network']}.{r['mode']}", int(r["batch"])
            total, why = show(program, os.path.join(work, "onnx", r["file"]), batch)
            if why:
                refused[refusal(why)] += 1
                print(f"{name}: {why.strip().replace(work + '/onnx/', '')[:300]}")
                continue
            loads += 1
            # counts of the table are of the whole batch
            theirs = sum(int(r[c] or 0) for c in ("macs_conv", "macs_linear_and_mm", "macs_bmm"))
            ours = total["macs_conv"] + total["macs_linear"] + total["macs_matmul"]
            same_macs, same_params = ours == theirs, total["params"] == int(r["params"])
            macs += same_macs
            if r["mode"] == "train":
                trains += 1
                params += same_params
            if not same_macs or (not same_params and r["mode"] == "train"):
                off.append((name, ours / theirs if theirs else float("nan"), total["params"] / int(r["params"])))
            if verbose:
                print(f"{name}: MACs {ours} of {theirs}, parameters {total['params']} of {r['params']}")
    for name, m, p in off:
        print(f"{name}: MACs {m:.4f} of PyTorch's, parameters {p:.4f}")
    for words, n in refused.most_common():
        print(f"refused {n}: {words}")
    print(f"{loads} of {len(rows)} networks load ({loads / len(rows):.1%}); of these {macs} have PyTorch's MACs ({macs / max(loads, 1):.1%}); "
          f"of {trains} training exports {params} its parameters")
    return int(loads < LEAST * len(rows))


if __name__ == "__main__":
    sys.exit(main())
