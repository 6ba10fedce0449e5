#!/bin/sh
# A week of samples at 10 Hz, read and searched for epochs: seconds and MiB by method, beside a tenth of it and, of epochs of 10 s, the
# most there can be; and how much more memory following takes for ten times as much, by itself and beside a plan. Not a test: machines
# are shared and noisy.
# usage: tests/bench/epochs.sh [SAMPLES]        (default: 6048000)
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
samples=${1:-6048000}
"$here/examples/setup.sh" build
build=$here/build/bench
mkdir -p "$build"
{ cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_TESTS=OFF &&
  ninja -C "$build" layermeter_program && cc -O2 -o "$build/timer" "$here/tests/bench/timer.c"; } >"$build.log" 2>&1 ||
    { tail -n 20 "$build.log" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# trace NAME SAMPLES EPOCH: what nvidia-smi writes, epochs of so many seconds
trace() {
    awk -v n="$2" -v epoch="$3" 'BEGIN {
        srand(1); print "timestamp, index, utilization.gpu [%], power.draw [W]"
        for (i = 0; i < n; i++) {
            p = (i / 10 / epoch) % 1; s = int(i / 10)
            v = int((p < 0.85 ? 88 : p < 0.97 ? 48 : 10) + 8 * rand())
            printf "2024/02/%02d %02d:%02d:%02d.%d00, 0, %d %%, %d.50 W\n",
                1 + s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, i % 10, v, 2 * v
        } }' >"$work/$1.csv"
}
# row NAME SAMPLES COMMAND...: seconds, MiB, ns a sample
# RUNS of them (3), the median
row() {
    name=$1 n=$2
    shift 2
    "$build/timer" "${RUNS:-3}" "$@" | awk -v name="$name" -v n="$n" '{ printf "%s,%d,%.3f,%.0f,%.0f\n", name, n, $1, $2 / 1048576, 1e9 * $1 / n }'
}
tenth=$((samples / 10))
trace long "$samples" 600
trace short "$samples" 10
trace tenth "$tenth" 600
gzip -k "$work/long.csv"
cat >"$work/plan.json" <<'END'
{"network": "any", "set": null, "input": null, "dtype": "f32", "optimizer": "momentum", "answers": [{"question": "cheapest",
 "plan": {"machine": "any", "nodes": 1, "devices": 1, "batch": 32, "micro_steps": 1, "sync": "once", "bucket_bytes": 0,
 "grad_dtype": null, "steps_per_epoch": 1000, "evaluations_per_epoch": 0, "step_s": 0.6, "step_low_s": null, "step_high_s": null,
 "exposed_s": 0, "epoch_s": 600, "epoch_low_s": null, "epoch_high_s": null}}]}
END
{
    echo "what,samples,seconds,MiB,ns_per_sample"
    for method in layermeter hurlee hurlee-code changepoints ruptures jenks; do
        row "$method" "$samples" "$build/bin/layermeter" epochs "$work/long.csv" --method $method
    done
    row "layermeter (a tenth)" "$tenth" "$build/bin/layermeter" epochs "$work/tenth.csv"
    row "layermeter (epochs of 10 s)" "$samples" "$build/bin/layermeter" epochs "$work/short.csv"
    row "layermeter (gzip)" "$samples" "$build/bin/layermeter" epochs "$work/long.csv.gz"
    RUNS=1
    row "follow (a tenth)" "$tenth" sh -c "cat $work/tenth.csv | $build/bin/layermeter epochs --follow -"
    row "follow" "$samples" sh -c "cat $work/long.csv | $build/bin/layermeter epochs --follow -"
    row "beside a plan (a tenth)" "$tenth" "$build/bin/layermeter" watch --plan "$work/plan.json" --trace "$work/tenth.csv"
    row "beside a plan" "$samples" "$build/bin/layermeter" watch --plan "$work/plan.json" --trace "$work/long.csv"
} | { column -s, -t 2>/dev/null || cat; }
