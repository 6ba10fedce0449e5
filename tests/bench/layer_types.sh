#!/bin/sh
# How far PreNeT's model is off on layers of its types, beside ours: single layers drawn at random over its ranges are measured on this
# machine's CPU, whole shapes are left out in turn, and errors are told by type. It has no public data, so this stands in for it. No
# test: it measures times, and prints figures of this machine.
#
#   tests/bench/layer_types.sh [TIMES]            layers.ini with so many times the layers, default 3: 900, some 6 min on two idle cores
#   tests/bench/layer_types.sh OBSERVATIONS.csv   what was measured before
#
# LAYERMETER_BIN  folder of the program; default: build/bin
# LEARN           settings of the learned model (layermeter fit --help); default: passes=60000
# PARTS           of shapes; default: 3
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bin=${LAYERMETER_BIN:-$here/../../build/bin}
export LAYERMETER_PLUGIN_PATH="${LAYERMETER_PLUGIN_PATH:-$bin/../lib/layermeter/plugins}" OPENBLAS_NUM_THREADS=1
learn=${LEARN:-passes=60000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case ${1:-3} in
*[!0-9]*) observations=$1 ;;
*)
    observations=$work/layers.csv
    # activations are no type of PreNeT's by themselves
    awk -v times="${1:-3}" '/^\[/ { skip = /relu|tanh|sigmoid/ } skip { next } /^count/ { print "count = " times * $3; next } { print }' \
        "$here/../../configs/sweeps/layers.ini" >"$work/layers.ini"
    "$bin/layermeter" calibrate "$work/layers.ini" -o "$observations" --quiet
    ;;
esac

echo "learned of all, by type of layer; a forward pass and a step are one task (error on shapes left out, %):"
"$bin/layermeter" fit "$observations" -o "$work/m.ini" --model prenet --learn "$learn" --format csv 2>/dev/null |
    awk -F, '$1 == "prenet" { gsub(/"/, ""); printf "  %-20s %6d  %-10s %6.1f\n", $2, $3, $4, $NF }'

echo "shapes left out, ${PARTS:-3} parts (mean and median error, %):"
"$bin/layermeter" validate "$observations" --leave-out "kfold=${PARTS:-3}" --model layermeter,prenet --learn "$learn" --format csv 2>/dev/null |
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $1 == "(all)" || $2 !~ /^(forward|backward|grad|step|inference)$/ { next }
        {
            row = $1 OFS $2; if (!(row in seen)) { seen[row] = $4; order[++n] = row }
            error[row, $3] = sprintf("%7.1f %7.1f", $column["mape_percent"], $column["median_ape_percent"])
        }
        END {
            printf "  %-24s %-10s %6s  %15s  %15s\n", "", "", "times", "layermeter", "prenet"
            for (k = 1; k <= n; k++) {
                split(order[k], what, OFS)
                if ((order[k], "prenet") in error)
                    printf "  %-24s %-10s %6d  %15s  %15s\n", what[1], what[2] == "grad" ? "update" : what[2], seen[order[k]],
                           error[order[k], "layermeter"], error[order[k], "prenet"]
            }
        }'
