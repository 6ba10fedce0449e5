#!/bin/sh
# What a learned model of single layers takes to be taught one type of layer, made up here, and to be read: seconds, seconds of
# processors, memory. The goals for 50,000 rows on two cores are 60 s and 1 GiB. No test: it prints times.
#
#   tests/bench/learn.sh [ROWS [MODEL...]]     default: 50000 justus prenet
#
# LAYERMETER_BIN  folder of bench_learn; default: build/bin
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bin=${LAYERMETER_BIN:-$here/../../build/bin}
rows=${1:-50000}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- justus prenet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LAYERMETER_PLUGIN_PATH="${LAYERMETER_PLUGIN_PATH:-$bin/../lib/layermeter/plugins}"

# Convolutions of random sizes: a call, arithmetic and elements, and 5 % of scatter.
awk -v n="$rows" 'BEGIN {
    srand(1)
    print "kind,name,geometry,phase,batch,optimizer,seconds,input"
    of = split("sgd momentum adam rmsprop", optimizer, " ")
    while (made++ < n) {
        batch = 1 + int(32 * rand()); m = 7 + int(100 * rand()); k = 1 + 2 * int(3 * rand()); s = 1 + int(2 * rand())
        a = 1 + int(256 * rand()); c = 1 + int(256 * rand()); trains = rand() < 0.5
        work = batch * (m / s) ^ 2 * c
        seconds = (1e-4 + 3e-13 * work * k * k * a + 1e-11 * work) * (trains ? 3 : 1) * (0.95 + 0.1 * rand())
        printf "layer,conv2d; relu%s,filters=%d kernel=%d padding=%d stride=%d;%s,%s,%d,%s,%.6g,%dx%dx%d\n",
               trains ? "; mse_loss" : "", c, k, int(k / 2), s, trains ? ";" : "", trains ? "step" : "inference", batch,
               trains ? optimizer[1 + int(of * rand())] : "", seconds, a, m, m
    }
}' >"$work/rows.csv"
for model; do
    "$bin/bench_learn" "$work/rows.csv" "$model"
done
