#!/bin/sh
# PALEO's own network files, imported, against PALEO's own table of their layers: output, parameters and
# forward FLOPs of every convolution, and backward FLOPs where PALEO counts no zeros (nin alone). The two that
# are shipped as INI count as the JSON does. Reads $LAYERMETER_DATA/paleo2017; skips where it is absent.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/paleo2017
lm=$LAYERMETER_BIN/layermeter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -r "$data/nets/nin.json" ]; then
    echo "skipped: no $data/nets (set LAYERMETER_DATA)"
    exit 77
fi
if ! "$lm" show "$data/nets/nin.json" >"$work/out" 2>&1 && grep -q 'this build' "$work/out"; then
    echo "skipped: $(cat "$work/out")"
    exit 77
fi
for network in alex_v2 nin overfeat vgg16; do
    awk -F, -v nin=$([ $network = nin ] && echo 1 || echo 0) '$2 == "conv2d" {
        split($3, d, "x"); print $1, d[1] "x" d[4] "x" d[2] "x" d[3], $4, $5, nin ? $7 : "-" }' \
        "$data/layers_${network}_TITAN_X_ppp1.csv" >"$work/theirs"
    batch=$(awk -F'[,x]' '$1 == "data" { print $3 }' "$data/layers_${network}_TITAN_X_ppp1.csv")
    "$lm" show "$data/nets/$network.json" --batch "$batch" --format json |
        jq -r --arg network $network '.layers[] | select(.type == "conv2d") |
            "\(.layer) \(.output) \(.params) \(.flops_forward) \(
                if $network == "nin" then .flops_backward else "-" end)"' >"$work/ours"
    diff "$work/theirs" "$work/ours"
    echo "$network: $(wc -l <"$work/ours") convolutions equal"
done
for network in alex_v2 nin; do
    for source in "$data/nets/$network.json" $network; do
        "$lm" show "$source" --batch 128 --totals --format json | jq -S .total >"$work/${source##*/}"
    done
    diff "$work/$network.json" "$work/$network"
    "$lm" import "$data/nets/$network.json" -o "$work/again.ini"
    "$lm" show "$work/again.ini" --batch 128 --totals --format json | jq -S .total | diff "$work/$network" -
    echo "$network: the shipped file and the imported one count as the JSON"
done
