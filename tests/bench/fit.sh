#!/bin/sh
# How many observations a second `layermeter fit` takes, as a process, and how that compares with only reading the file:
# times of whole networks and of single layers, made up here. No test: it prints times.
#
#   tests/bench/fit.sh [NETWORK_ROWS [LAYER_ROWS]]     default: 5000 175000
#
# LAYERMETER_BIN  folder of the program; default: build/bin
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bin=${LAYERMETER_BIN:-$here/../../build/bin}
networks=${1:-5000} layers=${2:-175000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Twenty networks at four images and as many batches as it takes, on the machine of round figures (machine.ini), each time
# 5 % off at most: as measurements are, which a fit explains but for what they scatter.
made_networks() {
    batches=$((($1 + 399) / 400))
    echo "kind,name,phase,input,batch,seconds"
    for name in alexnet densenet121 densenet161 inception_v3 mnasnet1_0 mobilenet_v2 resnet18 resnet34 resnet50 resnet101 \
        resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 vgg11 vgg13 vgg16 wide_resnet50_2 mobilenet_v3_small \
        mobilenet_v3_large; do
        for side in 224 192 160 128; do
            [ $name = inception_v3 ] && side=$((side + 75))
            "$bin/layermeter" predict $name --model counts --machine "$here/machine.ini" --input 3x${side}x$side \
                --batch 1..$batches --format csv | sed "1d; s/^/$name,3x${side}x$side,/"
        done
    done | awk -F, -v n="$1" 'BEGIN { srand(1) }
        function put(phase, ms) {
            if (rows++ < n)
                printf "network,%s,%s,%s,%s,%.6g\n", $1, phase, $2, $4, ms / 1e3 * (0.95 + 0.1 * rand())
        }
        { put("inference", 0.9 * $5); put("forward", $5); put("backward", $6); put("update", $8); put("step", $9) }'
}

# Convolutions and products of random sizes, forward and in training.
made_layers() {
    awk -v n="$1" 'BEGIN {
        srand(2)
        print "kind,name,geometry,phase,batch,settings,optimizer,seconds,input"
        while (rows++ < n) {
            batch = 1 + int(32 * rand()); trains = rand() < 0.5
            tail = trains ? "; mse_loss" : ""; keys = trains ? "; " : ""
            phase = trains ? "step" : "inference"; how = trains ? "sgd" : ""
            a = 1 + int(256 * rand()); c = 1 + int(256 * rand()); m = 7 + int(50 * rand()); k = 1 + 2 * int(3 * rand())
            scatter = (1 + 2 * trains) * (0.95 + 0.1 * rand())
            if (rand() < 0.5)
                printf "layer,conv2d%s,filters=%d kernel=%d padding=%d%s,%s,%d,,%s,%.6g,%dx%dx%d\n", tail, c, k, int(k / 2), keys,
                       phase, batch, how, (1e-4 + 2e-13 * batch * m * m * k * k * a * c) * scatter, a, m, m
            else
                printf "layer,linear%s,features=%d%s,%s,%d,,%s,%.6g,%d\n", tail, 8 * c, keys, phase, batch, how,
                       (1e-4 + 2e-13 * batch * 64 * a * c) * scatter, 8 * a
        }
    }'
}

# Least of five, in milliseconds, and memory.
timed() {
    least=
    for _ in 1 2 3 4 5; do
        from=$(date +%s%N)
        "$@" >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; exit 1; }
        took=$((($(date +%s%N) - from) / 1000))
        if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
    done
    echo "$least"
}

export OPENBLAS_NUM_THREADS=1
made_networks "$networks" >"$work/networks.csv"
made_layers "$layers" >"$work/layers.csv"
printf '%-9s %8s %9s %9s %14s %8s\n' what rows fit_ms read_ms observations/s fit/read
for what in networks layers; do
    rows=$(($(wc -l <"$work/$what.csv") - 1))
    fit=$(timed "$bin/layermeter" fit "$work/$what.csv" -o "$work/machine.ini")
    read=$(timed "$bin/bench_read" "$work/$what.csv")
    awk -v what=$what -v rows="$rows" -v fit="$fit" -v read="$read" \
        'BEGIN { printf "%-9s %8d %9.1f %9.1f %14.0f %8.2f\n", what, rows, fit / 1000, read / 1000, rows / fit * 1e6, fit / read }'
done
