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

# Twenty networks at one to four images and as many batches as it takes; seconds grow with the batch, and scatter.
made_networks() {
    awk -v n="$1" 'BEGIN {
        srand(1)
        of = split("alexnet densenet121 densenet161 inception_v3 mnasnet1_0 mobilenet_v2 resnet18 resnet34 resnet50 resnet101 " \
                   "resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 vgg11 vgg13 vgg16 wide_resnet50_2 " \
                   "mobilenet_v3_small mobilenet_v3_large", name, " ")
        images = split("224 160 192 128", image, " ")
        phases = split("inference forward backward update step", phase, " ")
        print "kind,name,phase,input,batch,seconds"
        for (b = 1; ; b++)
            for (i = 1; i <= images; i++)
                for (k = 1; k <= of; k++)
                    for (p = 1; p <= phases; p++) {
                        if (rows++ == n) exit
                        side = name[k] == "inception_v3" ? image[i] + 75 : image[i]
                        printf "network,%s,%s,3x%dx%d,%d,%.6g\n", name[k], phase[p], side, side, b,
                               (p == 4 ? 0.01 : 0.02 * p * b) * k * (side / 128) ^ 2 * (0.95 + 0.1 * rand())
                    }
    }'
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
