#!/usr/bin/env python3
"""Makes scaling.svg: throughput of ResNet-50 on 1 to 16 nodes, predicted from steps on 1 to 4 nodes, beside what was measured.

    examples/guides/pictures/scaling.py [FILE.svg]      (default: scaling.svg beside this script)

The measurements are public: petuum/adaptdl, sched/traces/imagenet/placements.csv, branch osdi21-artifact (Pollux, OSDI 2021), on up to 16
nodes of 4 T4 each, by PyTorch's DistributedDataParallel. They are taken from allreduce_public/scaling.csv below $LAYERMETER_DATA (default
../shared/data beside the project). LAYERMETER_BIN is the folder of the program (default: build/bin).
"""
import csv
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DATA = os.environ.get("LAYERMETER_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
PROGRAM = os.path.join(os.environ.get("LAYERMETER_BIN", os.path.join(ROOT, "build", "bin")), "layermeter")
NETWORK, CLUSTER, BATCH, DEVICES, FITTED = "resnet50", "pollux_aws_t4", 115, 4, 4
BUCKET = 25 << 20  # DistributedDataParallel's


def observations(row):
    """The step, and what was exposed of its all-reduces."""
    ranks, seconds, exposed = int(row["gpus"]), float(row["step_time_s"]), float(row["exposed_sync_time_s"])
    base = ["network", NETWORK, int(float(row["batch_per_gpu"])), ranks, int(float(row["nodes"])), BUCKET if ranks > 1 else ""]
    if ranks > 1:
        yield base + ["sync", exposed]
    yield base + ["step", seconds if ranks > 1 else seconds - exposed]


def write(path, rows):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["kind", "name", "batch", "ranks", "hosts", "bucket_bytes", "phase", "seconds"])
        out.writerows(o for row in rows for o in observations(row))


def main():
    picture = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "scaling.svg")
    table = os.path.join(DATA, "allreduce_public", "scaling.csv")
    if not os.path.exists(table):
        sys.exit(f"{table}: not there: set LAYERMETER_DATA")
    with open(table, newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["cluster_id"] == CLUSTER and r["model"] == NETWORK and r["nodes"]]
    nodes = sorted({int(float(r["nodes"])) for r in rows if float(r["gpus_per_node"]) == DEVICES})
    with tempfile.TemporaryDirectory() as folder:
        fitted, measured, machine = (os.path.join(folder, n) for n in ("few.csv", "all.csv", "t4.ini"))
        write(fitted, [r for r in rows if float(r["nodes"]) <= FITTED])
        write(measured, rows)
        subprocess.run([PROGRAM, "fit", fitted, "-o", machine], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([PROGRAM, "scale", NETWORK, "--machine", machine, "--batch", str(BATCH), "--devices-per-node", str(DEVICES),
                        "--nodes", ",".join(map(str, nodes)), "--plot", os.path.abspath(picture), "--measured", measured], check=True)


main()
