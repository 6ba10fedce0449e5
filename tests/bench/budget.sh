#!/bin/sh
# What choosing points is worth: a calibration under a budget beside one that spends the same time on the
# points in the file's order, both judged on two networks that neither has seen. One rank, this CPU.
#
# usage: LAYERMETER_BIN=build/bin tests/bench/budget.sh [SECONDS] [FOLDER]     (default: 300, a temporary one)
#
# Prints the error of steps of ResNet-50 and MobileNet V2, measured afterwards, and how many points each took.
# On a machine that others use at the same time the two do not see the same machine: look at 'contended'.
set -eu
: "${LAYERMETER_BIN:?}"
seconds=${1:-300}
work=${2:-$(mktemp -d)}
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
PATH=$LAYERMETER_BIN:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
mkdir -p "$work" && cd "$work"

# the standard sweep without the two, and without what one rank cannot do
sed -e 's/resnet50, *//g' -e 's/mobilenet_v2, *//g' -e 's/, *mobilenet_v2//g' \
    "$here/../../configs/sweeps/standard.ini" >seen.ini
cat >unseen.ini <<'END'
[sweep]
backend     = onednn
threads     = 1
warmup      = 1
min_repeats = 5
max_repeats = 20
max_seconds = 1

[networks]
networks = resnet50, mobilenet_v2
batch    = 1, 4
image    = 64, 128, 224
END
sed -i 's/^collective .*//' seen.ini

points() {
    grep -c '^network,[^,]*,step,' "$1" || true
}
flagged() {
    grep '^network,[^,]*,step,' "$1" | grep -c contended || true
}

layermeter calibrate seen.ini -o chosen/ --budget "${seconds}s" --for resnet50,mobilenet_v2 --force --quiet 2>chosen.log || cat chosen.log
# the same time on the points as they come
timeout -s INT "$seconds" layermeter calibrate seen.ini -o order.csv --force --quiet 2>order.log || true
layermeter fit order.csv -o order.ini >order.fit 2>&1 || cat order.fit
layermeter calibrate unseen.ini -o unseen.csv --force --quiet 2>unseen.log || cat unseen.log

echo "budget $seconds s; step of networks not seen; load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "points             chosen $(points chosen/observations.csv) ($(flagged chosen/observations.csv) contended), in order $(points order.csv) ($(flagged order.csv) contended), unseen $(points unseen.csv) ($(flagged unseen.csv) contended)"
for kind in chosen/machine.ini order.ini; do
    printf '%-18s ' "$kind"
    layermeter validate unseen.csv --machine "$kind" --model layermeter --pooled --format csv 2>/dev/null |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { printf "%s %.1f %% (median %.1f %%)  ", $at["phase"], $at["mape_percent"], $at["median_ape_percent"] }'
    echo
done
