#!/bin/sh
# Latency of inference on this CPU: how often the measured 95th percentile lies in the interval of networks that were left out of the fit,
# and how far its estimate is off. Each network is left out in turn. About four minutes; needs a machine without other load.
# usage: LAYERMETER_BIN=build/bin tests/bench/latency.sh [-k FOLDER] [NETWORK...]     -k: keeps what it measured, or takes it from there
set -eu
: "${LAYERMETER_BIN:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keep=$work
if [ "${1:-}" = -k ]; then
    keep=${2:?"-k: which folder?"}
    mkdir -p "$keep"
    shift 2
fi
[ $# -gt 0 ] || set -- alexnet densenet121 efficientnet_b0 googlenet mobilenet_v2 mobilenet_v3_large resnet18 resnet50 shufflenet_v2_x1_0 \
    squeezenet1_0 vgg11

if [ ! -e "$keep/observations.csv" ]; then
    cat >"$work/sweep.ini" <<END
[sweep]
backend     = onednn
threads     = 1
warmup      = 2
min_repeats = 20
max_repeats = 40
max_seconds = 3
precision   = 0.02

[networks]
networks = $(printf '%s, ' "$@" | sed 's/, $//')
phases   = inference
batch    = 1, 2, 4
image    = 96, 160
END
    "$LAYERMETER_BIN/layermeter" calibrate "$work/sweep.ini" --quiet -o "$keep/observations.csv"
fi
exec python3 - "$LAYERMETER_BIN/layermeter" "$keep/observations.csv" "$work" <<'END'
import csv, statistics, subprocess, sys
program, path, work = sys.argv[1:]
head = [line for line in open(path) if line.startswith("#")]
rows = list(csv.DictReader(line for line in open(path) if not line.startswith("#")))
rows = [r for r in rows if r["kind"] == "network" and r["phase"] == "inference" and r["p95_seconds"] and not r["flags"]]
inside = {"p95": 0, "median": 0}
errors, widths, n, unknown = [], [], 0, 0
for name in sorted({r["name"] for r in rows}):
    with open(f"{work}/others.csv", "w") as out:
        out.writelines(head)
        to = csv.DictWriter(out, rows[0])
        to.writeheader()
        to.writerows(r for r in rows if r["name"] != name)
    subprocess.run([program, "fit", f"{work}/others.csv", "-o", f"{work}/machine.ini"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    for r in (r for r in rows if r["name"] == name):
        said = subprocess.run([program, "predict", name, "--phase", "inference", "--machine", f"{work}/machine.ini", "--batch", r["batch"],
                               "--image", r["input"].split("x")[1], "--wide", "--format", "csv"], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        p = next(csv.DictReader(said.splitlines()))
        if not p["latency_p95_low_ms"]:
            unknown += 1
            continue
        p95, low, high = (float(p[f"latency_p95{k}_ms"]) for k in ("", "_low", "_high"))
        is95, median = 1e3 * float(r["p95_seconds"]), 1e3 * float(r["seconds"])
        n += 1
        errors.append(abs(p95 / is95 - 1))
        widths.append(high / low)
        inside["p95"] += low <= is95 <= high
        inside["median"] += float(p["latency_low_ms"]) <= median <= float(p["latency_high_ms"])
        print(f"{name},{r['input']},{r['batch']},{median:.3f},{is95:.3f},{p95:.3f},{low:.3f},{high:.3f}")
if not n:
    sys.exit("no point was undisturbed, of enough networks: is the machine busy?")
print(f"# {n} points of {len({r['name'] for r in rows})} networks left out: p95 off by {statistics.mean(errors):.1%} (median {statistics.median(errors):.1%}); "
      f"in the interval: p95 {inside['p95'] / n:.0%}, median {inside['median'] / n:.0%}; high / low {statistics.median(widths):.2f}; "
      f"{unknown} without an interval")
END
