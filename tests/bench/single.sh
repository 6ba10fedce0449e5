#!/bin/sh
# What predicting networks by their single layers with a residual costs: 18 networks of torchvision, by convolutions and
# products that were made up here. Processor milliseconds of loading the machine file with its residual, and of predicting
# forward and backward passes of all networks; the goals are 20 and 5. No test: it prints times.
#
#   tests/bench/single.sh [ROWS [ROUNDS]]     default: 20000 21
#
# LAYERMETER_BIN  folder of the program; default: build/bin
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bin=${LAYERMETER_BIN:-$here/../../build/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1

# Convolutions and products, forward and backward: what prices can tell, times what they cannot.
awk -v n="${1:-20000}" 'BEGIN {
    srand(2)
    print "kind,name,geometry,phase,batch,optimizer,seconds,input"
    while (rows++ < n) {
        batch = 1 + int(64 * rand()); a = 1 + int(2048 ^ rand()); c = 1 + int(2048 ^ rand())
        m = 7 * (1 + int(32 * rand() ^ 2)); k = 1 + 2 * int(4 * rand() ^ 2)
        draw = rand(); conv = rand() < 0.7
        phase = draw < 0.1 ? "update,sgd" : draw < 0.5 ? "backward," : "forward,"
        split(phase, part, ",")
        macs = conv ? batch * m * m * k * k * a * c : batch * 4 * a * c
        quirk = (1 + 0.3 * (a % 4 > 0) + 0.2 * (c % 32 > 0) + 0.2 * sin(m)) * (0.98 + 0.04 * rand())
        seconds = draw < 0.1 ? 1e-5 + 1e-11 * a * c * (conv ? k * k : 4) : (1e-5 + (1 + (draw < 0.5)) * 2e-13 * macs) * quirk
        if (conv)
            printf "layer,conv2d,filters=%d kernel=%d padding=%d bias=no,%s,%d,%s,%.6g,%dx%dx%d\n", c, k, int(k / 2), part[1], batch,
                   part[2], seconds, a, m, m
        else
            printf "layer,linear,features=%d bias=no,%s,%d,%s,%.6g,%d\n", 2 * c, part[1], batch, part[2], seconds, 2 * a
    }
}' >"$work/layers.csv"
"$bin/layermeter" fit "$work/layers.csv" -o "$work/machine.ini" --residual on >"$work/out" 2>"$work/err" || {
    cat "$work/err" >&2
    exit 1
}
grep residual "$work/err" >&2
wc -c <"$work/machine.residual" | awk '{ print "residual_bytes", $1 }'
"$bin/bench_single" "$work/machine.ini" 16 "${2:-21}" alexnet vgg11 vgg13 vgg16 resnet18 resnet34 resnet50 resnet101 resnext50_32x4d \
    wide_resnet50_2 densenet121 squeezenet1_0 squeezenet1_1 mobilenet_v2 mnasnet1_0 mnasnet0_5 shufflenet_v2_x1_0 inception_v3
