#!/usr/bin/env python3
"""Fits what core/fabric/collective.h says of a link by its nominal rate: the share of it that messages reach, the latency of a
message, and bounds.

  configs/machines/build/links.py [--data FOLDER] [--program FILE]

Between nodes an all-reduce of S bytes takes 2 log2(N) latency + 2 (N - 1) / N S / (share rate), beside that within a node by the
shipped file. All clusters weigh the same; bounds are of clusters left out."""
import argparse
import csv
import io
import itertools
import math
import os
import statistics
import subprocess
import sys

# Clusters whose rate between nodes is stated, and the file within a node: "": one device a node.
RATES = {"aws_p5_h100": "nvlink4+8xib400", "stas00_b200_efa": "nvlink5+8xib400", "gcp_a3mega_h100": "nvlink4+8xib200",
         "alps_gh200": "nvlink4+4xib200", "perlmutter_a100": "nvlink3+4xib200", "aws_p4d_issue527": "nvlink3+efa400",
         "aws_p3dn_issue235": "nvlink2+efa100", "deepbench_m40": "pcie3+ib56", "deepbench_titanx_maxwell": "pcie3+ib56",
         "deepbench_titanx_pascal": "pcie3+ib56", "deepbench_knl7250": "+ib100"}
INTERCONNECTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "interconnects")
LEAST, MOST = 1 << 20, 1 << 30  # bytes: buckets of gradients
ALGORITHMS = ("auto", "default", "NCCL 2.0 MPI", "Intel MLSL")  # a library as it comes


def bytes_per_second(name):
    links, _, rate = name.split("+")[1].rpartition("x")
    return float(links or 1) * float(rate.lstrip("abcdefghijklmnopqrstuvwxyz")) * 1e9 / 8


def times(rows, cluster):
    """Seconds between nodes by size, nodes and devices of a node: medians."""
    found = {}
    for r in rows:
        size = int(r["message_bytes"])
        if r["cluster_id"] == cluster and r["nodes"] and int(float(r["nodes"])) > 1 and LEAST <= size <= MOST and \
                not float(r["n_wrong"] or 0) > 0 and (cluster != "alps_gh200" or "default-env" in r["config"]):
            found.setdefault((size, int(float(r["nodes"])), int(float(r["ranks_per_node"]))), []).append(r)
    usual = {key: [r for r in of if r["algorithm"] in ALGORITHMS] or of for key, of in found.items()}
    return {key: statistics.median(float(r["time_us"]) for r in of) * 1e-6 for key, of in usual.items()}


def within(program, preset, devices, sizes):
    """Seconds within a node, by size."""
    if not preset or devices == 1:
        return dict.fromkeys(sizes, 0.0)
    said = subprocess.run([program, "collectives", os.path.join(INTERCONNECTS, preset + ".ini"), "--nodes", "1", "--devices-per-node",
                           str(devices), "--bytes", ",".join(map(str, sizes)), "--format", "csv"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return {int(r["bytes"]): float(r["ms"]) * 1e-3 for r in csv.DictReader(io.StringIO(said))}


def points(program, rows, cluster):
    """(measured, within a node, messages, bytes over the rate)."""
    measured, name = times(rows, cluster), RATES[cluster]
    for devices in sorted({key[2] for key in measured}):
        inside = within(program, name.split("+")[0], devices, sorted({key[0] for key in measured if key[2] == devices}))
        for (size, nodes, g), seconds in measured.items():
            if g == devices:
                yield seconds, inside[size], 2 * math.log2(nodes), 2 * (nodes - 1) / nodes * size / bytes_per_second(name)


def logs(of, share, latency):
    return [math.log(t / (inside + messages * latency + sent / share)) for t, inside, messages, sent in of]


def fit(clusters):
    """Share and latency of least mean absolute log errors, to a percent."""
    def loss(at):
        return statistics.mean(statistics.mean(map(abs, logs(of, *at))) for of in clusters)

    best = 0.5, 30e-6
    for step in 1.5, 1.15, 1.05, 1.01:
        while (near := min((tuple(b * step ** k for b, k in zip(best, ks)) for ks in itertools.product((-1, 0, 1), repeat=2)), key=loss)) != best:
            best = near
    return best


def quantile(values, q):
    """Of pairs (value, weight)."""
    values, sum_ = sorted(values), 0
    for value, weight in values:
        sum_ += weight
        if sum_ >= q * sum(w for _, w in values):
            return value
    return values[-1][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LAYERMETER_DATA"))
    parser.add_argument("--program", default=os.environ.get("LAYERMETER_PROGRAM", "layermeter"))
    a = parser.parse_args()
    path = os.path.join(a.data or "", "allreduce_public", "allreduce.csv")
    if not os.path.exists(path):
        print("links.py: no data: set LAYERMETER_DATA to their folder", file=sys.stderr)
        return 77
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    clusters = [of for c in RATES if (of := list(points(a.program, rows, c)))]
    share, latency = fit(clusters)
    left = [(value, 1 / len(of)) for of in clusters for value in logs(of, *fit([other for other in clusters if other is not of]))]
    print(f"{sum(map(len, clusters))} times of {len(clusters)} clusters: LINK_EFFICIENCY {share:.3g}, LINK_MESSAGE {latency * 1e6:.3g} us, "
          f"LINK_LEAST {math.exp(quantile(left, 0.05)):.3g}, LINK_MOST {math.exp(quantile(left, 0.95)):.3g}; "
          f"clusters left out: mean |log| {sum(abs(v) * w for v, w in left) / len(clusters):.3g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
