#!/bin/sh
# Latency of inference on this CPU, each network left out in turn: how far the estimates of the median and of the 95th percentile ('p95')
# are off, and how often the measured ones lie in their intervals. About four minutes; needs a machine without other load.
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
"$LAYERMETER_BIN/layermeter" validate "$keep/observations.csv" --model layermeter --pooled
