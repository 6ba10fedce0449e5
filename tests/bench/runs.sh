#!/bin/sh
# How much real runs improve a calibration: this CPU is calibrated with oneDNN, PyTorch trains networks of torchvision on one core,
# 'watch' finds the epochs in each run's own load and keeps it, and 'fit --correct' learns from them. Printed are each run beside its
# plan, and errors of all runs so far, by the fit alone and with each network left out of the correction. All times are of the processor
# (runs.py), so that it can be busy. No test: it measures times, and prints figures of this machine. Some 3 min on an idle core.
#
#   tests/bench/runs.sh [FOLDER]     files stay there, and what is there is not measured again
#
# LAYERMETER_BIN  folder of the program; default: build/bin
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bin=${LAYERMETER_BIN:-$here/../../build/bin}
export LAYERMETER_PLUGIN_PATH="${LAYERMETER_PLUGIN_PATH:-$bin/../lib/layermeter/plugins}" OPENBLAS_NUM_THREADS=1
export LAYERMETER_MODEL_PATH="${LAYERMETER_MODEL_PATH:-$here/../../models}"
python=${PYTHON:-python3}
"$python" -c 'import torchvision' 2>/dev/null || {
    echo "skipped: no torchvision"
    exit 77
}
if [ $# -gt 0 ]; then
    mkdir -p "$1"
    cd "$1"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
fi

cat >sweep.ini <<'END'
[sweep]
backend     = onednn
threads     = 1
warmup      = 1
min_repeats = 3
max_repeats = 8
max_seconds = 0.4

[networks]
networks  = squeezenet1_1, mobilenet_v2, resnet18, alexnet, vgg11, shufflenet_v2_x1_0
batch     = 1..16*4
image     = 64, 128
max_flops = 2e10
END
[ -s measured.csv ] || "$bin/layermeter-calibrate" sweep.ini -o measured.csv --quiet
# parts of steps, by the time the processor gave them
awk -F, -v OFS=, '/^#/ { print; next } !n++ { for (k = 1; k <= NF; k++) at[$k] = k; print; next } $at["phase"] == "step" { next }
    { $at["seconds"] = $at["cpu_seconds"]; $at["min_seconds"] = $at["p95_seconds"] = $at["flags"] = ""; print }' measured.csv >observations.csv
"$bin/layermeter" fit observations.csv -o machine.ini >/dev/null 2>&1

rm -f runs.csv
cp machine.ini now.ini
# NETWORK BATCH IMAGE STEPS: six epochs, the first warms up. Each is planned by what the runs before it have taught
while read -r network batch image steps; do
    "$bin/layermeter" plan "$network" --machine now.ini --nodes 1 --batch "$batch" --image "$image" --dataset $((batch * steps)) \
        --epochs 6 --price 1USD/h --format json >plan.json 2>words
    [ -s "$network.csv" ] || "$python" "$here/runs.py" "$network" "$batch" "$image" "$steps" 6 >"$network.csv" </dev/null
    "$bin/layermeter" watch --plan plan.json --trace "$network.csv" --observations runs.csv >words 2>&1 || true
    echo "$network: $(grep -e '^epoch: ' -e 'neither\|nothing' words)"
    [ ! -e runs.csv ] || "$bin/layermeter" fit observations.csv --correct runs.csv -o now.ini 2>&1 | grep '^layermeter: runs.csv'
done <<'END'
resnet18 8 64 20
resnet34 4 64 20
alexnet 8 128 10
squeezenet1_1 8 128 20
mobilenet_v3_large 8 128 20
END
